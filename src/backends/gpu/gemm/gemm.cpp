// Gemm on a GPU: the checks before every launch, and the table of vendors without a library.
#include "backends/gpu/gemm/gemm.h"

namespace infini::gpu {
void GpuGemm::run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
                  void* stream) const {
  const Stream on = device_.live(stream);
  require_reachable(device_, c, "c");
  if (alpha == 0 || plan_.k == 0) {
    if (beta != 1) launch_finish(plan_, c, nullptr, 0, 0, beta, on);
    return;
  }
  require_reachable(device_, a, "a");
  require_reachable(device_, b, "b");
  multiply({static_cast<char*>(workspace), static_cast<char*>(c), static_cast<const char*>(a),
            static_cast<const char*>(b), static_cast<float>(alpha), static_cast<float>(beta), on,
            alpha, beta});
}

std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan, const GemmOptions&,
                                      const Choice&) {
  return make_generic_gemm(static_cast<const GpuDevice&>(device), fold_batch(plan));
}

}  // namespace infini::gpu
