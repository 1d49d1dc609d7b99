// Gemm on the CPU: what its candidates share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "contract/backend.h"

namespace infini::cpu {

constexpr int64_t most_workspace_bytes = int64_t{1} << 46;  // a process has addresses for 2^47

// Base of the CPU's gemm kernels: runs at once, or into the recording of a captured stream; answers
// products of nothing (alpha or k is 0) with C = beta·C.
class CpuGemm : public GemmKernel {
 public:
  explicit CpuGemm(const GemmPlan& plan) : plan_(plan), isa_(isa()), tables_(gemm_tables(isa_)) {}
  size_t workspace_bytes() const final { return static_cast<size_t>(workspace_bytes_); }
  // Its workspace has a size that can exist. What has none is declined.
  bool fits() const { return workspace_bytes_ <= most_workspace_bytes; }
  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const final;

 protected:
  struct Pointers {
    char* workspace;
    char* c;
    const char* a;
    const char* b;
  };
  // alpha and k are not 0 here, and c has elements; alpha and beta are numbers of the sums' type.
  virtual void multiply(const Pointers& p, double alpha, double beta) const = 0;

  // For candidates in which each element of C is one chain of multiply-adds in the order of k, wherever
  // A and B lie. `how`: all that decides where the chain is rounded or begins anew, and the code that
  // runs it.
  std::string chain_arithmetic(const std::string& how) const;

  // The kernels that were chosen when this was made.
  template <class T>
  const GemmKernels<T>& kernels() const {
    if constexpr (sizeof(T) == 8)
      return tables_.f64;
    else
      return tables_.f32;
  }

  GemmPlan plan_;
  Isa isa_;
  const GemmTables& tables_;
  int64_t workspace_bytes_ = 0;  // set by the constructors; saturating

 private:
  void execute(const Pointers& p, double alpha, double beta) const;
  template <class T>
  void scale(char* c, T beta) const;
};

// The index into the kernels' tables of a type in memory.
inline int memory_index(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 ? 1 : dtype == INFINI_DTYPE_BF16 ? 2 : 0;
}
// Few rows, or few columns seen from the other side.
inline GemmPlan with_few_rows(const GemmPlan& plan) {
  return plan.m <= plan.n ? plan : transposed(plan);
}
// What a maker returns: null where no workspace could be large enough.
template <class Kernel>
std::unique_ptr<GemmKernel> where_it_fits(std::unique_ptr<Kernel> kernel) {
  return kernel->fits() ? std::move(kernel) : nullptr;
}
inline bool is_f64(const GemmPlan& plan) { return plan.a.dtype == INFINI_DTYPE_F64; }

// The candidates, see gemm.cpp. What one cannot compute, its maker declines by null.
bool is_small(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_direct(const infini::Device&, const GemmPlan& plan);
// The matrix unit is there, permitted, and computed a trial product rightly; found out once. Only on x86.
bool amx_works();
bool fits_amx(const GemmPlan& plan);  // elsewhere nothing does
std::unique_ptr<GemmKernel> make_amx(const infini::Device&, const GemmPlan& plan);
// The processor multiplies pairs of bf16 (AVX512-BF16), and is not asked for other vectors. Only on x86.
bool dpbf16_works();
bool prefers_dpbf16(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_dpbf16(const infini::Device&, const GemmPlan& plan);
// Few rows against columns that are contiguous along a long k: dot products are faster than tiles.
bool prefers_dots(const GemmPlan& plan);
bool is_skinny(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_skinny(const infini::Device&, const GemmPlan& plan);
// Some rows against a large B whose rows are contiguous.
bool prefers_sweep(const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_sweep(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_onednn(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_openblas(const infini::Device&, const GemmPlan& plan);
std::unique_ptr<GemmKernel> make_blocked(const infini::Device&, const GemmPlan& plan);

}  // namespace infini::cpu
