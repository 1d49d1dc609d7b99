// Gemm on NVIDIA GPUs: the ordered candidates.
#include "gemm.h"

#include "contract/candidate.h"

namespace infini::nvidia {
namespace {

constexpr auto always = [](const GemmContext&, const GemmPlan&) { return true; };

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

void NvidiaGemm::run(void* workspace, void* c, const void* a, const void* b, float alpha,
                     float beta, void* stream) const {
  const gpu::Stream on = device_.live(stream);
  gpu::require_reachable(device_, c, "c");
  if (alpha == 0 || plan_.k == 0) {
    if (beta != 1) launch_finish(plan_, c, nullptr, 0, 0, beta, on);
    return;
  }
  gpu::require_reachable(device_, a, "a");
  gpu::require_reachable(device_, b, "b");
  multiply({static_cast<char*>(workspace), static_cast<char*>(c), static_cast<const char*>(a),
            static_cast<const char*>(b), alpha, beta, on});
}

std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options) {
  const GemmContext context{static_cast<gpu::GpuDevice&>(device), options};
  return first_accepting(candidates, context, fold_batch(plan), "INFINI_GEMM");
}

}  // namespace infini::nvidia
