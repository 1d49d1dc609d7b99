// A prepared elementwise or row operator: validated, planned, and bound to one device's kernel.
#pragma once

#include <memory>

#include "base/export.h"
#include "contract/backend.h"
#include "ops/explain/call_log.h"

namespace infini {

// Immutable; many threads may run it at once, each with a workspace of its own.
class Operator {
 public:
  INFINI_TOOL_EXPORT Operator(Device& device, const OperatorPlan& plan, const Choice& choice = {});

  size_t workspace_bytes() const { return kernel_ ? kernel_->workspace_bytes() : 0; }
  // run.workspace has `workspace_size` bytes. Operand 0 may be one of the others, element for element; else it must not
  // share memory with any.
  void run(const OperatorRun& run, size_t workspace_size) const {
    if (told_) [[unlikely]]
      return told_->tell([&] { run_untold(run, workspace_size); });
    run_untold(run, workspace_size);
  }

  Device& device() const { return *device_; }
  const OperatorPlan& plan() const { return *plan_; }
  // Null when there is nothing to compute.
  const OperatorKernel* kernel() const { return kernel_.get(); }
  // Throws when an operand is null, or shares memory with the result without being it, or samples make no sense.
  void require_operands(const OperatorRun& run) const;

 private:
  INFINI_TOOL_EXPORT void run_untold(const OperatorRun& run, size_t workspace_size) const;
  void require_apart(const OperatorRun& run, int operand) const;
  bool same_places(int operand) const;

  Device* device_;
  std::unique_ptr<const OperatorPlan> plan_;
  ByteRange ranges_[max_operands];
  std::shared_ptr<const OperatorKernel> kernel_;  // null: nothing to compute
  std::unique_ptr<const ToldCalls> told_;         // null: nobody listens
};

}  // namespace infini
