// Gemm on NVIDIA GPUs: the ordered candidates.
#include "gemm.h"

#include "contract/candidate.h"

namespace infini::nvidia {
namespace {

constexpr auto always = [](const GemmContext&, const GemmPlan&) { return true; };
constexpr auto make_generic = [](const GemmContext& context, const GemmPlan& plan) {
  return gpu::make_generic_gemm(context.device, plan);
};

constexpr Candidate<GemmKernel, GemmContext, GemmPlan> candidates[] = {
    {"ring", ring_pays, make_ring},    {"boxes", boxes_pay, make_boxes},
    {"small", small_pays, make_small}, {"lt_padded", padding_pays, make_padded},
    {"lt", always, make_lt},           {"generic", always, make_generic},
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
