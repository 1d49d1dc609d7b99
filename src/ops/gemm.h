// The prepared gemm operator: validated, planned, and bound to one device's kernel.
#pragma once

#include <memory>

#include "base/export.h"
#include "contract/backend.h"
#include "ops/explain/call_log.h"
#include "plan/gemm/gemm_plan.h"

namespace infini {

// The options that hold when a caller names none: INFINI_ALLOW_TF32=1 allows TF32.
INFINI_TOOL_EXPORT GemmOptions default_gemm_options();

// Immutable; many threads may run it at once, each with a workspace of its own.
class Gemm {
 public:
  INFINI_TOOL_EXPORT Gemm(Device& device, const Layout& c, const Layout& a, const Layout& b,
                          const GemmOptions& options = default_gemm_options(),
                          const Choice& choice = {});

  // Bytes that run() needs, 64-byte aligned memory of the device.
  size_t workspace_bytes() const { return kernel_ ? kernel_->workspace_bytes() : 0; }
  // c = alpha·a·b + beta·c. c must not share memory with a or b. alpha and beta are rounded to the
  // sums' type.
  void run(void* workspace, size_t workspace_size, void* c, const void* a, const void* b,
           double alpha, double beta, void* stream) const {
    if (told_) [[unlikely]]
      return told_->tell(
          [&] { run_untold(workspace, workspace_size, c, a, b, alpha, beta, stream); });
    run_untold(workspace, workspace_size, c, a, b, alpha, beta, stream);
  }
  // What run() would say of these pointers: throws when one is null or c meets a or b.
  void require_operands(const void* c, const void* a, const void* b, double alpha) const;

  // Empty when nothing is promised; see GemmKernel::arithmetic().
  std::string arithmetic() const { return kernel_ ? kernel_->arithmetic() : std::string(); }

  Device& device() const { return *device_; }
  const GemmPlan& plan() const { return plan_; }
  // What every candidate says of this product, asked again.
  std::vector<BidLine> bids() const;
  // Null when c has no elements.
  const GemmKernel* kernel() const { return kernel_.get(); }

 private:
  INFINI_TOOL_EXPORT void run_untold(void* workspace, size_t workspace_size, void* c, const void* a,
                                     const void* b, double alpha, double beta, void* stream) const;
  // True when require_operands() would surely have nothing to say.
  bool plainly_fine(const void* c, const void* a, const void* b) const;
  void require_workspace(const void* workspace, size_t size) const;
  void require_apart(const void* c, const void* x, const char* name, const GemmOperand& operand,
                     const ByteRange& range) const;

  Device* device_;
  GemmPlan plan_;
  ByteRange c_range_, a_range_, b_range_;
  uintptr_t c_mask_, ab_mask_;  // the address bits that an element's alignment forbids
  bool sums_in_f64_;
  GemmOptions options_;
  std::shared_ptr<const GemmKernel> kernel_;
  std::unique_ptr<const ToldCalls> told_;  // null: nobody listens
};

}  // namespace infini
