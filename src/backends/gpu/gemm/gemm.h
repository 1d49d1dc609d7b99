// Gemm on a GPU: what the candidates of all CUDA-like vendors share, and the one that needs no library.
#pragma once

#include <memory>

#include "backends/gpu/runtime/device.h"
#include "contract/backend.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::gpu {

// C = alpha·sums + beta·C, elementwise; sums are f32 with rows sum_row elements apart, or null for
// C = beta·C. With beta == 0 C is written, not read.
void launch_finish(const GemmPlan& plan, void* c, const float* sums, int64_t sum_row, double alpha,
                   double beta, Stream stream);

// The same, prepared and launched early: for sums whose rows begin at multiples of 16 bytes.
struct FinishKernels {
  ReadyKernel vectors, elements;
};
FinishKernels make_finish(const GpuDevice& device, infiniDtype_t c);
void launch_finish(const FinishKernels& kernels, const GemmPlan& plan, void* c, const float* sums,
                   int64_t sum_row, float alpha, float beta, Stream stream);

// Base of all candidates: checks the pointers, answers products of nothing.
class GpuGemm : public GemmKernel {
 public:
  GpuGemm(const GpuDevice& device, const GemmPlan& plan) : device_(device), plan_(plan) {}
  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const final;

 protected:
  struct Call {
    char* workspace;
    char* c;
    const char *a, *b;
    float alpha, beta;
    Stream stream;
    double wide_alpha, wide_beta;  // the same for sums in f64
  };
  // As a kernel's arguments, in the type of the sums.
  const void* alpha_of(const Call& call) const {
    return sums_in_f64() ? static_cast<const void*>(&call.wide_alpha) : &call.alpha;
  }
  const void* beta_of(const Call& call) const {
    return sums_in_f64() ? static_cast<const void*>(&call.wide_beta) : &call.beta;
  }
  bool sums_in_f64() const { return plan_.a.dtype == INFINI_DTYPE_F64; }
  // alpha and k are not 0 here.
  virtual void multiply(const Call& call) const = 0;

  const GpuDevice& device_;
  GemmPlan plan_;
};

// The candidate `generic`: any strides and types, by plain arithmetic; sums in f32 (f64 for f64). The number of
// processors decides how large its tiles are, which the bits do not depend on.
std::unique_ptr<GemmKernel> make_generic_gemm(const GpuDevice& device, const GemmPlan& plan);

// Products with at most most_skinny_rows rows or columns, at the speed at which the other operand is read; null for
// others. `generic` begins with it.
std::unique_ptr<GemmKernel> make_skinny_gemm(const GpuDevice& device, const GemmPlan& plan,
                                             const char* name);

// For the table of a vendor that has nothing better.
std::unique_ptr<GemmKernel> make_gemm(Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice& choice);

}  // namespace infini::gpu
