// Gemm on NVIDIA GPUs: the ordered candidates.
#include "backends/nvidia/gemm/gemm.h"

#include <algorithm>

#include "backends/gpu/gemm/skinny/schedule.h"
#include "contract/candidate.h"

namespace infini::nvidia {
namespace {

constexpr auto always = [](const GemmContext&, const GemmPlan&) { return true; };
constexpr auto make_generic = [](const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_generic_gemm(context.device, plan);
};
constexpr auto make_skinny = [](const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_skinny_gemm(context.device, plan, "skinny");
};
// cuBLASLt has nothing for few rows of f32 but its kernels for many. Where all comes from the cache they are as fast.
constexpr int64_t least_skinny = 500'000;
constexpr auto skinny_pays = [](const GemmContext&, const GemmPlan& plan) {
  const int64_t rows = std::min(plan.m, plan.n);
  return plan.a.dtype == INFINI_DTYPE_F32 && 1 < rows && rows <= gpu::most_skinny_rows &&
         plan.batch * std::max(plan.m, plan.n) * plan.k >= least_skinny;
};

constexpr Candidate<GemmKernel, GemmContext, GemmPlan> candidates[] = {
    {"weights", weights_pay, make_weights},   {"ring", ring_pays, make_ring},
    {"boxes", boxes_pay, make_boxes},         {"small", small_pays, make_small},
    {"stream", stream_pays, make_stream},     {"skinny", skinny_pays, make_skinny},
    {"lt_padded", padding_pays, make_padded}, {"lt", always, make_lt},
    {"generic", always, make_generic},
};

}  // namespace

int capability(const gpu::GpuDevice& device) {
  int major = 0, minor = 0;
  const bool known =
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.id()) ==
          cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.id()) == cudaSuccess;
  return known ? 10 * major + minor : 0;
}

std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options) {
  const GemmContext context{static_cast<gpu::GpuDevice&>(device), options};
  return first_accepting(candidates, context, fold_batch(plan), "INFINI_GEMM");
}

}  // namespace infini::nvidia
