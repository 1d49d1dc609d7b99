// Gemm on the CPU: what its candidates share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/gemm/target.h"
#include "base/export.h"
#include "contract/backend.h"
#include "contract/candidate.h"

namespace infini::cpu {

// Base of the CPU's gemm kernels: runs at once, or into the recording of a captured stream; answers
// products of nothing (alpha or k is 0) with C = beta·C.
class CpuGemm : public GemmKernel {
 public:
  explicit CpuGemm(const GemmPlan& plan) : plan_(plan), isa_(isa()), tables_(gemm_tables(isa_)) {}
  size_t workspace_bytes() const final { return static_cast<size_t>(workspace_bytes_); }
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
  int64_t workspace_bytes_ = 0;  // set by the constructors

 private:
  void execute(const Pointers& p, double alpha, double beta) const;
  template <class T>
  void scale(char* c, T beta) const;
};

// This process's target for a plan. (The matrix unit is tried when it is first of use.)
GemmTarget gemm_target(const GemmPlan& plan);

// The matrix unit is there, permitted, and computed a trial product rightly; found out once. Only on x86.
INFINI_TOOL_EXPORT bool amx_works();
// The processor multiplies pairs of bf16 (AVX512-BF16). Only on x86.
INFINI_TOOL_EXPORT bool has_dpbf16();

// A bid of what a candidate estimated: its kernel is made of the schedule.
template <class Kernel, class Schedule>
Bid<GemmKernel> bid_of(const GemmEstimate<Schedule>& estimate) {
  if (!estimate.schedule) return {.nanoseconds = estimate.nanoseconds, .why_not = estimate.why_not};
  return would_take<GemmKernel>(estimate.nanoseconds, [schedule = *estimate.schedule] {
    return std::unique_ptr<GemmKernel>(std::make_unique<Kernel>(schedule));
  });
}
// The same of kernels in f32 and f64.
template <template <class> class Kernel, class Schedule>
Bid<GemmKernel> bid_of(const GemmEstimate<Schedule>& estimate, const GemmPlan& plan) {
  return is_f64(plan) ? bid_of<Kernel<double>>(estimate) : bid_of<Kernel<float>>(estimate);
}

// The candidates, each in its folder.
Bid<GemmKernel> bid_direct(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_skinny(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_sweep(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_blocked(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_dots(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_dpbf16(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_amx(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_onednn(const GemmTarget&, const GemmPlan& plan, double limit);
Bid<GemmKernel> bid_openblas(const GemmTarget&, const GemmPlan& plan, double limit);

}  // namespace infini::cpu
