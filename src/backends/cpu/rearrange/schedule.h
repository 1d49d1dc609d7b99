// Schedules: how the CPU walks a rearrange plan, as plain data made without touching memory.
//
// Law of every schedule: its points are exactly the plan's points, each once.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/machine/machine.h"
#include "backends/cpu/rearrange/tiles/kernels.h"
#include "base/checked.h"
#include "plan/rearrange_plan.h"

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
  int64_t planes = 8;  // as many woven ones are taken apart faster run by run than in blocks
  int64_t prepared_bytes = 64 << 10;  // fewer are moved before blocks, programs or parts are found
  int64_t piece_bytes = 256 << 10;    // of a long run in a task; of what is shared a part of it
  // As streamed_bytes, of tiles, whose lines lie apart; 0: as that says, earlier where pairs are faster.
  int64_t tile_streamed_bytes = 0;
  int64_t copy_places = 4, copy_ahead = 256;  // of copies past the cache, see Machine
  int64_t followed_rows = 16, prefetched_strip = 2048;
};

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

// What tiles are made of.
constexpr bool is_word(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

int threads_for(int64_t bytes, const Policy& policy);

// Whether output and source are more than the caches of the threads that move them can hold. Ordinary stores would then
// fetch every line first, and where lines are written far apart wait for each.
bool beyond_caches(const RearrangePlan& plan, const Policy& policy);

// Two groups of loops are walked together: `rows` are contiguous in dst, `columns` in src. A panel of
// 64 / word rows (one line of dst; two with a depth of 2) is walked along a strip of columns, so that src
// is read in a few long ascending streams; then the next panel, so that every column's run in dst grows;
// after a chunk of rows the next strip.
struct TileSchedule {
  enum class Store { cached, streamed };  // how the lines reach dst

  int64_t word = 0;  // bytes of an element: 1, 2, 4, 8 or 16
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Loop> rows, columns;  // innermost first; rows' dst steps and columns' src steps nest
  std::vector<Loop> outer;          // outermost first
  int64_t row_count = 1, column_count = 1, outer_count = 1;
  int64_t strip = 0;  // columns of one task
  int64_t chunk = 0;  // rows of one task; whole panels unless it is all of them
  Store store = Store::cached;
  // The largest power of two, at most a line, that divides every dst step outside of a run: columns lie at multiples of
  // it from the first one, whose address is known only when the schedule is run.
  int64_t alignment = 1;
  int depth = 1;             // lines of each column that are written together: 1 or 2
  bool soon = false;         // of pairs: what is asked for has to be read soon, since rows compete
  bool staged = false;       // past the cache, single lines: rows go through tiles in L1
  bool fetches_all = false;  // all lines of the next panel are asked for, however long strips are

  int64_t strips() const { return ceil_div(column_count, strip); }
  int64_t chunks() const { return ceil_div(row_count, chunk); }
  int64_t tasks() const { return outer_count * strips() * chunks(); }
  // Rows and columns lie equally far apart, and there are enough of them for whole blocks.
  bool is_uniform() const {
    return rows.size() == 1 && columns.size() == 1 && row_count * word >= 64 &&
           column_count * word >= 32;
  }
  bool aligned() const { return alignment == line_bytes; }
  // Whole lines can be put together from two panels.
  bool can_skew() const { return alignment % skew_unit(static_cast<int>(word)) == 0; }
  // Threads share panels, not tasks, and so always evenly.
  int64_t panel_rows() const { return depth * 64 / word; }
  int64_t panels() const { return ceil_div(row_count, panel_rows()); }
};

constexpr int64_t max_strip = 1024, max_chunk = 1024;  // of any policy

// Null when the plan is no transposition of words.
std::optional<TileSchedule> make_tile_schedule(const RearrangePlan& plan, const Policy& policy);

// The general walk: two inner loops in blocks (fast in dst, fast in src) around one atom.
struct NestSchedule {
  int64_t atom_bytes = 0, dst_offset = 0, src_offset = 0;
  Loop fast_dst{1, 0, 0}, fast_src{1, 0, 0};
  std::vector<Loop> outer;  // outermost first
  int64_t outer_count = 1;
  int64_t block = 0;  // iterations of each inner loop in one block

  int64_t blocks() const { return ceil_div(fast_src.extent, block); }
  int64_t tasks() const { return outer_count * blocks(); }
};

NestSchedule make_nest_schedule(const RearrangePlan& plan);

// For people: "name 4(dst 64, src 4) …", one line.
void print_loops(std::ostream& text, const char* name, const std::vector<Loop>& loops);
std::string to_string(const TileSchedule& schedule);
std::string to_string(const NestSchedule& schedule);

}  // namespace infini::cpu
