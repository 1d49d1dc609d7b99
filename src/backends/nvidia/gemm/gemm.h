// Gemm on NVIDIA GPUs: what its candidates share.
#pragma once

#include <memory>

#include "backends/gpu/gemm/gemm.h"
#include "backends/nvidia/gemm/estimates.h"
#include "contract/backend.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {

struct GemmContext {
  gpu::GpuDevice& device;
  GemmOptions options;
  GemmMachine machine;  // what the candidates bid by
  // A kernel of our own that adds beta·C before it rounds, where that takes less time than the library and a pass
  // over C; or null.
  std::unique_ptr<GemmKernel> (*make_adding)(const GemmContext&, const GemmPlan&);
};

// The chip's compute capability, 10·major + minor; 0 when it does not say.
int capability(const gpu::GpuDevice& device);

// The candidates' kernels; null where the library or the driver refuses.
std::unique_ptr<GemmKernel> make_ring(const GemmContext&, const GemmPlan& plan);
// `otherwise` runs where base pointers are no multiples of 16 bytes; null: there is no such kernel.
std::unique_ptr<GemmKernel> make_weights(const GemmContext&, const GemmPlan& plan,
                                         std::unique_ptr<GemmKernel> otherwise);
std::unique_ptr<GemmKernel> make_boxes(const GemmContext&, const GemmPlan& plan,
                                       std::unique_ptr<GemmKernel> otherwise);
std::unique_ptr<GemmKernel> make_small(const GemmContext&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_stream(const GemmContext&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_padded(const GemmContext&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_lt(const GemmContext&, const GemmPlan& plan);

// cuBLASLt alone, on padded copies or not, with this much memory for itself.
std::unique_ptr<GemmKernel> make_bare_lt(const GemmContext&, const GemmPlan& plan, bool pad,
                                         size_t most_workspace);
// cuBLASLt rounds alpha·A·B to a 16-bit C before it adds beta·C. This runs `direct` where beta is 0
// and goes through f32 sums in the workspace where it is not, so that C is rounded once.
std::unique_ptr<GemmKernel> round_once(const GemmContext&, const GemmPlan& plan, bool pad,
                                       std::unique_ptr<GemmKernel> direct);

// For the backend's table.
std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice);

}  // namespace infini::nvidia
