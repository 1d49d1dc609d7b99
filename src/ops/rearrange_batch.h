// The prepared batch: many independent rearrangements that run in one call.
#pragma once

#include <vector>

#include "contract/copies.h"
#include "ops/rearrange.h"

namespace infini {

// Immutable; many threads may run it at once.
class RearrangeBatch {
 public:
  // One pair of layouts for all copies, or a pair for each.
  RearrangeBatch(Device& device, const std::vector<Layout>& dst, const std::vector<Layout>& src);

  // Copy i moves src[i] to dst[i]. With several pairs of layouts `count` is their number.
  void run(size_t count, void* const* dst, const void* const* src, void* stream) const {
    if (told_) [[unlikely]]
      return told_->tell([&] { run_untold(count, dst, src, stream); });
    run_untold(count, dst, src, stream);
  }

  Device& device() const { return copies_.front().device(); }

 private:
  void run_untold(size_t count, void* const* dst, const void* const* src, void* stream) const;
  const Rearrange& copy(size_t i) const { return copies_[copies_.size() == 1 ? 0 : i]; }
  void prepare(Device& device);
  bool runs_as_one(size_t count, void* const* dst, const void* const* src) const;

  std::vector<Rearrange> copies_;
  std::vector<const RearrangeKernel*> kernels_;  // of copies_; null where nothing moves
  std::unique_ptr<const BatchKernel> together_;  // null: one after another
  std::unique_ptr<const ToldCalls> told_;        // null: nobody listens
};

}  // namespace infini
