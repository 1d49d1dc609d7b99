// The prepared paged copy: pieces of pages that ids name, in one call.
#pragma once

#include <memory>
#include <vector>

#include "base/export.h"
#include "contract/copies.h"
#include "ops/rearrange.h"

namespace infini {

// Many threads may run it at once.
class RearrangePaged {
 public:
  INFINI_TOOL_EXPORT RearrangePaged(Device& device, const PagedPlan& plan);

  void run(const PagedRun& run) const {
    if (told_) [[unlikely]]
      return told_->tell([&] { run_untold(run); });
    run_untold(run);
  }
  // Waits for the stream; throws when a run since the last question met a bad id on the device.
  INFINI_TOOL_EXPORT void check(void* stream) const;

  Device& device() const { return piece_.device(); }
  const PagedPlan& plan() const { return *plan_; }
  // Null where pieces run one after another, or nothing moves.
  const PagedKernel* kernel() const { return kernel_.get(); }

 private:
  INFINI_TOOL_EXPORT void run_untold(const PagedRun& run) const;
  void run_one_by_one(const PagedRun& run) const;

  std::unique_ptr<const PagedPlan> plan_;
  Rearrange piece_;
  std::shared_ptr<const PagedKernel> kernel_;  // null: pieces run one after another
  std::unique_ptr<const ToldCalls> told_;      // null: nobody listens
};

}  // namespace infini
