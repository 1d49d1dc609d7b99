// What a walk through a plan costs on a machine: lines through the level that holds them, instructions, the start of a
// region. Every candidate's bid is reckoned by these; none of it knows who asks.
#pragma once

#include <initializer_list>
#include <limits>
#include <optional>
#include <vector>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/sides.h"

namespace infini::cpu {

// What candidates bid by.
struct Setting {
  const Machine& machine;
  Policy policy;
  Isa isa = Isa::portable;
};

// Whether it can, by which schedule, and how long that takes. No schedule: it cannot, or takes longer than the limit.
template <class Schedule>
struct Estimate {
  std::optional<Schedule> schedule = std::nullopt;
  double nanoseconds = std::numeric_limits<double>::infinity();
  const char* why_not = "";
};

// Loops in the order in which they are walked, innermost first.
class Walk {
 public:
  // Some iterations of a loop; the rest of them come wherever `loop` is added again.
  Walk& add(const Loop& loop, int64_t part);
  Walk& add(const Loop& loop) { return add(loop, loop.extent); }
  Walk& add(const std::vector<Loop>& innermost_first);
  Walk& add_outer(const std::vector<Loop>& outermost_first);
  // What is left of loops that were added in part.
  Walk& add_rest();

  const std::vector<Loop>& loops() const { return loops_; }

 private:
  std::vector<Loop> loops_, rest_;
};

// Of tiles of so many rows and columns: down the columns of a tile, then to the tiles beside and below it.
Walk walk_of_sides(const Sides& sides, int64_t tile_rows, int64_t tile_columns);

// Bytes of whole lines that come from where src lies and go to where dst lies.
struct Moved {
  double read = 0;
  double fetched = 0;  // as read, if it comes from memory, which gives lines in pairs
  double written = 0;
  double parts = 0;  // of dst's lines that are written in parts
};
constexpr int64_t fetched_bytes = 2 * line_bytes;
// Whatever lines it touches, they are few.
bool lies_in_l1(const RearrangePlan& plan, const Machine& machine);
// Of a walk through the plan, if so many bytes of lines stay at hand until they are used again.
Moved lines_of_walk(const RearrangePlan& plan, const Walk& walk, double held_bytes);

// Bytes of lines that stay in L2 until they are used again.
inline double held_in_l2(const Machine& m) { return m.l2_bytes / 2; }

// Parts of what the machine's facts count together. A task begins with a place in the nest and a call; a turn is a row, block
// or period inside of a call.
inline double task_ns(const Machine& m) { return 2 * m.call_ns; }
inline double turn_ns(const Machine& m) { return m.call_ns / 2; }

// A way of L1: as long as a page, since lines are looked for before their address is translated.
constexpr int64_t way_bytes = 4 << 10;
constexpr int64_t sets_of_l1 = way_bytes / line_bytes;
// In how many sets of L1 one line of each of the first `count` iterations of a side lies (loops innermost first).
int64_t sets_in_turn(const std::vector<Loop>& loops, int64_t Loop::*step, int64_t count);
// Of each line, if the first `count` iterations of a side (loops innermost first) move one of their lines in turns: what it
// waits since more of them have their place in one set of L1 than that holds.
double crowded_ns(const std::vector<Loop>& loops, int64_t Loop::*step, int64_t count,
                  const Machine& m);

// What a schedule does.
struct Effort {
  Moved moved;
  double instructions_ns = 0;  // of all threads together
  bool streamed = false;
  int threads = 1;
};
// That a schedule of so many tasks is run by.
int threads_of(const RearrangePlan& plan, const Policy& policy, int64_t tasks);
double nanoseconds_of(const Effort& effort, const RearrangePlan& plan, const Machine& machine);

}  // namespace infini::cpu
