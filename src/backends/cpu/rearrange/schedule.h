// Schedules: how the CPU walks a rearrange plan, as plain data made without touching memory.
//
// Law of every schedule: its points are exactly the plan's points, each once.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/checked.h"
#include "contract/kernels.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::cpu {

// What schedules depend on besides the plan: sizes that follow from the facts about the machine.
struct Policy {
  int threads = 1;                       // that a region may have
  int64_t bytes_per_thread = 256 << 10;  // below this a thread costs more than it saves
  int64_t streamed_bytes =
      512 << 10;  // for each thread, and as much to read: from here on output goes past the cache
  int64_t strip = 1024;             // columns of a tile at most
  int64_t chunk = 1024;             // rows of a tile whose strip is less than a page of src
  int64_t memory_bytes = 20 << 20;  // from here on both tensors are far beyond the private caches
  bool pairs = false;               // pairs of lines are stored faster than lines that lie apart
  int64_t piece_bytes = 256 << 10;  // of a long run in a task; of what is shared a part of it
  // As streamed_bytes, of tiles, whose lines lie apart; 0: as that says, earlier where pairs are faster.
  int64_t tile_streamed_bytes = 0;
  int64_t copy_places = 4, copy_ahead = 256;  // of copies past the cache, see Machine
  int64_t followed_rows = 16, prefetched_strip = 2048;
  int64_t buffer_bytes = 32 << 10;  // that tiles are put together in, as much as L1 holds
  int64_t near_bytes = 1 << 20;     // that each thread's own caches hold
};

constexpr int64_t max_strip = 1024, max_chunk = 1024, max_buffer = 64 << 10;  // of any policy

// The policy that follows from a machine, for so many threads.
Policy policy_from(const Machine& machine, int threads);
// The policy of this process.
Policy current_policy();

// For tests and fuzzers: as long as one lives, current_policy() gives its policy, by which small problems reach what only
// large ones do on this machine. Not to be made or ended while another thread makes kernels.
class ForcedPolicy {
 public:
  explicit ForcedPolicy(const Policy& policy);
  ForcedPolicy(const ForcedPolicy&) = delete;
  ForcedPolicy& operator=(const ForcedPolicy&) = delete;
  ~ForcedPolicy();

 private:
  Policy policy_;
  const Policy* before_;
};

struct Setting;  // see cost.h

// What tiles are made of.
constexpr bool is_word(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

int threads_for(int64_t bytes, const Policy& policy);

// Whether output and source are more than the caches of the threads that move them can hold. Ordinary stores would then
// fetch every line first, and where lines are written far apart wait for each.
bool beyond_caches(const RearrangePlan& plan, const Policy& policy);

// Without its sign.
constexpr int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

// For people: "name 4(dst 64, src 4) …", one line.
void print_loops(std::ostream& text, const char* name, const std::vector<Loop>& loops);

}  // namespace infini::cpu
