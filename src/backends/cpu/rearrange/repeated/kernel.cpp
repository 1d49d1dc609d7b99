// Plans that write the same block of dst again and again: the first from src, all others from there.
#include "backends/cpu/rearrange/kernel.h"

namespace infini::cpu {
namespace {

// Shorter blocks are worth it past the cache, where all repetitions of one together are long.
constexpr int64_t least_block = 1 << 10, least_short_block = 40, least_region = 4 << 10;
constexpr int64_t least_times = 3,
                  least_times_of_each = 8;  // all blocks are made before they are repeated

class Repeated final : public Kernel {
 public:
  Repeated(int64_t bytes, std::unique_ptr<RearrangeKernel> once,
           std::unique_ptr<RearrangeKernel> again)
      : Kernel(bytes), once_(std::move(once)), again_(std::move(again)) {}

  const char* candidate() const override { return "repeated"; }
  std::string schedule() const override {
    return std::string("once: ") + once_->candidate() + "\n" + once_->schedule() +
           "\nfrom there, again: " + again_->candidate() + "\n" + again_->schedule();
  }

  std::string way(const char* dst) const override {
    const auto of = [&](const RearrangeKernel& part) {
      return std::string(part.candidate()) + " " + static_cast<const Kernel&>(part).way(dst);
    };
    return of(*once_) + ", then " + of(*again_);
  }
  void execute(char* dst, const char* src) const override {
    static_cast<const Kernel&>(*once_).execute(dst, src);
    static_cast<const Kernel&>(*again_).execute(dst, dst);
  }

 private:
  std::unique_ptr<RearrangeKernel> once_, again_;
};

// The outermost loop that repeats a block without gaps, if moving the block is more than copying it; or -1.
int repeating_loop(const RearrangePlan& plan, const Policy& policy) {
  if (moved_bytes(plan) < policy.prepared_bytes) return -1;
  const bool streamed = beyond_caches(plan, policy);
  int found = -1;
  int64_t block = plan.atom_bytes;
  for (int i = plan.depth; i-- > 0 && plan.loops[i].dst_step == block;
       block *= plan.loops[i].extent) {
    const Loop& loop = plan.loops[i];
    const int64_t times = i == 0 ? least_times : least_times_of_each;
    const bool enough = block >= least_block || (streamed && block >= least_short_block &&
                                                 block * loop.extent >= least_region);
    if (loop.src_step == 0 && loop.extent >= times && i + 1 < plan.depth && enough) found = i;
  }
  return found;
}

}  // namespace

std::unique_ptr<RearrangeKernel> make_repeated(const RearrangePlan& plan, const Policy& policy,
                                               const MakePart& make) {
  const int loop = repeating_loop(plan, policy);
  if (loop < 0) return nullptr;
  const auto [once, again] = repeat_in_dst(plan, loop);
  return std::make_unique<Repeated>(moved_bytes(plan), make(once), make(again));
}

}  // namespace infini::cpu
