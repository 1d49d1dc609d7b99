// Prepared operators of a backend: all decisions are taken when they are made; run() only runs.
//
// A kernel is immutable: many threads may run it at once on different streams. run() plans nothing,
// looks nothing up, allocates nothing and takes no lock. It throws Error on failure. The device is
// current for the calling thread when run() is called.
//
// ops holds kernels by shared_ptr: a backend that records work for later (a captured stream whose
// graph may outlive the descriptor) keeps its kernel alive through shared_from_this().
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "plan/operators/operator_plan.h"

namespace infini {

class RearrangeKernel : public std::enable_shared_from_this<RearrangeKernel> {
 public:
  virtual ~RearrangeKernel() = default;
  // dst and src are the tensors' base pointers (the plan's offsets are the kernel's business); the
  // bytes they touch do not overlap.
  virtual void run(void* dst, const void* src, void* stream) const = 0;
  // The candidate that was chosen, and for people how it walks the plan (may be empty).
  virtual const char* candidate() const = 0;
  virtual std::string schedule() const { return {}; }
};

class GemmKernel : public std::enable_shared_from_this<GemmKernel> {
 public:
  virtual ~GemmKernel() = default;
  // Bytes of device memory that run() needs, 64-byte aligned (256 on accelerators); 0 for none.
  virtual size_t workspace_bytes() const { return 0; }
  // alpha and beta are numbers of the sums' type: f64 where the operands are, else f32.
  virtual void run(void* workspace, void* c, const void* a, const void* b, double alpha,
                   double beta, void* stream) const = 0;
  virtual const char* candidate() const = 0;
  virtual std::string schedule() const { return {}; }
  // All that the bits of C depend on besides alpha, beta and the elements. Law: two kernels of one
  // device that say the same compute the same bits from the same elements, wherever A's and B's lie.
  // Empty: nothing is promised.
  virtual std::string arithmetic() const { return {}; }
};

// How a row of logits becomes a token, see infiniop/ops/random_sample.h.
struct SampleOptions {
  float random_val = 0, topp = 0, temperature = 0;
  int topk = 1;
};

// One run of an operator: base pointers, the one that is written first; of the rows of random_sample one for each row.
struct OperatorRun {
  void* workspace = nullptr;
  void* operands[max_operands] = {};
  const SampleOptions* samples = nullptr;
  void* stream = nullptr;
};

// Elementwise and row operators: what plan/operators/operator_plan.h describes.
class OperatorKernel : public std::enable_shared_from_this<OperatorKernel> {
 public:
  virtual ~OperatorKernel() = default;
  virtual size_t workspace_bytes() const { return 0; }
  // Operands that share memory with operand 0 are the same elements in the same places.
  virtual void run(const OperatorRun& run) const = 0;
  virtual const char* candidate() const = 0;
  virtual std::string schedule() const { return {}; }
};

}  // namespace infini
