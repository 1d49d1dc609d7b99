// Gemm on NVIDIA GPUs: the ordered candidates.
#include "backends/nvidia/gemm/gemm.h"

#include <algorithm>

#include "backends/gpu/gemm/skinny/schedule.h"
#include "contract/candidate.h"

namespace infini::nvidia {
namespace {

bool always(const GemmContext&, const GemmPlan&) { return true; }
std::unique_ptr<GemmKernel> make_generic(const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_generic_gemm(context.device, plan);
}
std::unique_ptr<GemmKernel> make_skinny(const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_skinny_gemm(context.device, plan, "skinny");
}
// cuBLASLt has nothing for few rows of f32 but its kernels for many. Where all comes from the cache they are as fast.
constexpr int64_t least_skinny = 500'000;
bool skinny_pays(const GemmContext&, const GemmPlan& plan) {
  const int64_t rows = std::min(plan.m, plan.n);
  return plan.a.dtype == INFINI_DTYPE_F32 && 1 < rows && rows <= gpu::most_skinny_rows &&
         plan.batch * std::max(plan.m, plan.n) * plan.k >= least_skinny;
}

template <int rank, auto accepts, auto make>
constexpr auto rule = bid_by_rule<rank, accepts, make, GemmKernel, GemmContext, GemmPlan>;

constexpr Candidate<GemmKernel, GemmContext, GemmPlan> candidates[] = {
    {"weights", rule<0, weights_pay, make_weights>},
    {"ring", rule<1, ring_pays, make_ring>},
    {"boxes", rule<2, boxes_pay, make_boxes>},
    {"small", rule<3, small_pays, make_small>},
    {"stream", rule<4, stream_pays, make_stream>},
    {"skinny", rule<5, skinny_pays, make_skinny>},
    {"lt_padded", rule<6, padding_pays, make_padded>},
    {"lt", rule<7, always, make_lt>},
    {"generic", rule<8, always, make_generic>},
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
                                      const GemmOptions& options, const Choice& choice) {
  const GemmContext context{static_cast<gpu::GpuDevice&>(device), options};
  return cheapest(candidates, context, fold_batch(plan), choice,
                  {"INFINI_NVIDIA_GEMM", "INFINI_GEMM"});
}

}  // namespace infini::nvidia
