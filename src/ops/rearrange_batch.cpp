// Preparing and running batches of rearrangements.
#include "ops/rearrange_batch.h"

#include "base/threads/thread_slot.h"
#include "plan/problem_text.h"
#include "runtime/registry.h"

namespace infini {

RearrangeBatch::RearrangeBatch(Device& device, const std::vector<Layout>& dst,
                               const std::vector<Layout>& src) {
  require(!dst.empty(), INFINI_STATUS_BAD_PARAM, "layouts is 0; a batch needs at least one pair");
  copies_.reserve(dst.size());
  for (size_t i = 0; i < dst.size(); ++i) {
    try {
      copies_.emplace_back(device, dst[i], src[i]);
    } catch (const Error& error) {
      fail(error.status(), "copy ", i, ": ", error.what());
    }
    kernels_.push_back(copies_.back().kernel());
  }
  prepare(device);
  told_ = ToldCalls::make(device, "batch", [&] {
    return rearrange_text(dst[0], src[0]) +
           (dst.size() == 1 ? "" : " and " + std::to_string(dst.size() - 1) + " more");
  });
}

// All at once, where the backend has a way for these plans.
void RearrangeBatch::prepare(Device& device) {
  const auto make = find_backend(device.kind())->kernels.rearrange_batch;
  if (make == nullptr) return;
  std::vector<RearrangePlan> plans;
  for (const Rearrange& copy : copies_) plans.push_back(copy.plan());
  const Section whole;  // as where kernels are made
  device.make_current();
  together_ = make(device, {plans, kernels_});
}

// False when a copy overlaps itself and must go through temporary memory.
bool RearrangeBatch::runs_as_one(size_t count, void* const* dst, const void* const* src) const {
  bool apart = true;
  for (size_t i = 0; i < count; ++i) {
    if (copy(i).kernel() == nullptr) continue;
    require(dst[i] != nullptr, INFINI_STATUS_NULL_POINTER, "dst[", i, "] is NULL");
    require(src[i] != nullptr, INFINI_STATUS_NULL_POINTER, "src[", i, "] is NULL");
    apart = apart && !copy(i).overlaps(dst[i], src[i]);
  }
  return apart;
}

void RearrangeBatch::run_untold(size_t count, void* const* dst, const void* const* src,
                                void* stream) const {
  require(copies_.size() == 1 || count == copies_.size(), INFINI_STATUS_BAD_PARAM, "count is ",
          count, " but the batch was made of ", copies_.size(), " pairs of layouts");
  if (count == 0) return;
  require_pointer(dst, "dst");
  require_pointer(src, "src");
  if (runs_as_one(count, dst, src) && together_) {
    device().make_current();
    return together_->run(count, dst, src, stream);
  }
  for (size_t i = 0; i < count; ++i) copy(i).run(dst[i], src[i], stream);
}

}  // namespace infini
