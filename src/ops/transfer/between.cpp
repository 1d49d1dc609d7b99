// Choosing between the ways.
#include "ops/transfer/between.h"

#include "base/threads/thread_count.h"
#include "base/threads/thread_slot.h"
#include "ops/rearrange.h"
#include "ops/transfer/ways.h"
#include "plan/problem_text.h"
#include "runtime/registry.h"

namespace infini {
namespace {

constexpr Candidate<Way, TransferCase, RearrangePlan> ways[] = {
    {"runs", bid_runs}, {"rows", bid_rows}, {"mapped", bid_mapped},
    {"span", bid_span}, {"pack", bid_pack},
};

// A thread copies some bytes in a nanosecond; many of them no more than the memory does.
double host_speed() {
  const int threads = thread_count();
  return 4.0 * (threads < 12 ? threads : 12);
}

std::unique_ptr<const Way> choose(Device& device, Direction direction, bool pinned,
                                  const RearrangePlan& plan, const Choice& choice,
                                  int64_t extra_bytes) {
  Device& host = open_device(INFINI_DEVICE_CPU, 0);
  const TransferCase transfer{device,       host,       direction, pinned, device.host_link(),
                              host_speed(), extra_bytes};
  const Section whole;  // what backends find out once must not be cut in two by a fork
  device.make_current();
  auto way = cheapest(ways, transfer, plan, choice, {"INFINI_TRANSFER"});
  require(way != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "there is no way for this copy:\n", plan);
  return way;
}

// Not between devices at all.
class Here final : public Way {
 public:
  Here(Device& device, const RearrangePlan& plan) : copy_(device, plan) {}
  void run(void* dst, const void* src, void* stream) const override { copy_.run(dst, src, stream); }
  const char* name() const override { return "here"; }

 private:
  Rearrange copy_;
};

}  // namespace

RearrangeBetween::RearrangeBetween(Device& device, Direction direction, const Layout& dst,
                                   const Layout& src, const Choice& choice, int64_t extra_bytes)
    : device_(&device), direction_(direction) {
  RearrangePlan plan = make_rearrange_plan(dst, src);
  if (plan.atom_bytes == 0) return;
  dst_offset_ = plan.dst_offset;
  src_offset_ = plan.src_offset;
  plan.dst_offset = plan.src_offset = 0;
  if (device.kind() == INFINI_DEVICE_CPU) {
    pageable_ = std::make_unique<Here>(device, plan);
  } else {
    pinned_ = choose(device, direction, true, plan, choice, extra_bytes);
    pageable_ = choose(device, direction, false, plan, {choice.wanted, nullptr}, extra_bytes);
  }
  told_ = ToldCalls::make(device, pageable_->name(), [&] {
    return rearrange_text(dst, src) +
           (direction == Direction::to_device ? " from the host" : " to the host");
  });
}

void RearrangeBetween::run_untold(void* dst, const void* src, void* stream) const {
  if (!pageable_) return;
  require_pointer(dst, "dst");
  require_pointer(src, "src");
  device_->make_current();
  const void* host = direction_ == Direction::to_device ? src : dst;
  const bool pinned = pinned_ && device_->reaches_host(host);
  (pinned ? pinned_ : pageable_)
      ->run(static_cast<char*>(dst) + dst_offset_, static_cast<const char*>(src) + src_offset_,
            stream);
  // Vendors differ in when a copy of pageable memory has read it.
  if (!pinned && pinned_) device_->synchronize_stream(stream);
}

}  // namespace infini
