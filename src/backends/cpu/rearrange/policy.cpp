// From facts about the machine to the sizes that schedules are made by.
#include <algorithm>
#include <atomic>
#include <bit>

#include "backends/cpu/rearrange/schedule.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

int64_t power_of_two_below(double x) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max(x, 1.0))));
}

// Where copies in the last cache are faster than ones past all caches, what it holds stays there: of a copy somewhat more
// than its size, since what does not stay is no loss, of lines that are written apart half of it.
constexpr double held_of_copies = 1.25, held_of_tiles = 0.5;
bool last_cache_is_fast(const Machine& machine) {
  return machine.l3_copy.all > 1.25 * machine.streamed_copy.all;
}

}  // namespace

Policy policy_from(const Machine& machine, int threads) {
  Policy policy;
  policy.threads = threads;
  // A second thread halves the time; that must be worth two openings of a region.
  policy.bytes_per_thread = std::clamp<int64_t>(
      power_of_two_below(2 * machine.region_ns * machine.l2_copy.one), 32 << 10, 1 << 20);
  policy.memory_bytes = static_cast<int64_t>(16 * machine.l2_bytes);
  policy.streamed_bytes = static_cast<int64_t>(machine.l2_bytes / 2);
  constexpr double worth_pairs =
      1.2;  // as much faster, since short strips and few rows lose by them
  policy.pairs = machine.far_line_ns > worth_pairs * machine.far_pair_ns;
  if (last_cache_is_fast(machine)) {
    const double each = machine.l3_bytes / (2.0 * threads);
    policy.streamed_bytes = static_cast<int64_t>(held_of_copies * each);
    policy.tile_streamed_bytes = static_cast<int64_t>(held_of_tiles * each);
  }
  // Every column of a strip is a page of dst.
  policy.strip = std::clamp<int64_t>(power_of_two_below(machine.store_pages), 256, max_strip);
  // What the hardware fetches beyond a strip, about 1 KB a row, stays in L2 until it is wanted.
  policy.chunk = std::clamp<int64_t>(power_of_two_below(machine.l2_bytes / 1024), 256, max_chunk);
  policy.copy_places = static_cast<int64_t>(machine.copy_places);
  policy.copy_ahead = static_cast<int64_t>(machine.copy_ahead);
  policy.followed_rows = static_cast<int64_t>(machine.followed_rows);
  policy.prefetched_strip = static_cast<int64_t>(machine.prefetched_strip);
  policy.buffer_bytes = std::min(power_of_two_below(machine.l1_bytes), max_buffer);
  policy.near_bytes = static_cast<int64_t>(machine.l2_bytes);
  return policy;
}

namespace {
std::atomic<const Policy*> forced_policy{nullptr};
}

ForcedPolicy::ForcedPolicy(const Policy& policy)
    : policy_(policy), before_(forced_policy.exchange(&policy_)) {}
ForcedPolicy::~ForcedPolicy() { forced_policy = before_; }

Policy current_policy() {
  if (const Policy* const forced = forced_policy) [[unlikely]]
    return *forced;
  return policy_from(machine(), available_threads());
}

}  // namespace infini::cpu
