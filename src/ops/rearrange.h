// The prepared rearrange operator: validated, planned, and bound to one device's kernel.
#pragma once

#include <memory>

#include "base/export.h"
#include "contract/choice.h"
#include "contract/device.h"
#include "contract/kernels.h"
#include "ops/explain/call_log.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// Immutable; many threads may run it at once.
class Rearrange {
 public:
  INFINI_TOOL_EXPORT Rearrange(Device& device, const Layout& dst, const Layout& src,
                               const Choice& choice = {});
  Rearrange(Device& device, const RearrangePlan& plan, const Choice& choice = {});

  // Copies src to dst. Overlapping sides give the result of reading all of src first (through
  // temporary memory, the one case in which a run allocates); dst == src with equal layouts is free.
  void run(void* dst, const void* src, void* stream) const {
    if (told_) [[unlikely]]
      return told_->tell([&] { run_untold(dst, src, stream); });
    run_untold(dst, src, stream);
  }

  // Do the bytes of the two sides meet at these addresses?
  bool overlaps(const void* dst, const void* src) const;

  Device& device() const { return *device_; }
  INFINI_TOOL_EXPORT RearrangePlan plan() const;
  // Null when there is nothing to move.
  const RearrangeKernel* kernel() const { return kernel_.get(); }

 private:
  INFINI_TOOL_EXPORT void run_untold(void* dst, const void* src, void* stream) const;
  void run_staged(void* dst, const void* src, void* stream) const;

  Device* device_;
  std::shared_ptr<const RearrangeKernel> kernel_;  // null: nothing to move
  ByteRange dst_range_, src_range_;
  bool identity_;
  // The plan without the unused places of its loop array.
  int depth_;
  int64_t atom_bytes_, dst_offset_, src_offset_;
  std::unique_ptr<Loop[]> loops_;
  std::unique_ptr<const ToldCalls> told_;  // null: nobody listens
};

}  // namespace infini
