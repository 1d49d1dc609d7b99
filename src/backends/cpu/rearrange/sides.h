// The two sides of a transposition: loops that lie together in dst cross others that do in src.
#pragma once

#include <iosfwd>
#include <vector>

#include "backends/cpu/rearrange/schedule.h"

namespace infini::cpu {

struct Sides {
  int64_t word = 0;  // bytes of an element: 1, 2, 4, 8 or 16
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Loop> rows, columns;  // innermost first; rows' dst steps and columns' src steps nest
  std::vector<Loop> outer;          // outermost first
  int64_t row_count = 1, column_count = 1, outer_count = 1;
  // The largest power of two, at most a line, that divides every dst step outside of a run: columns lie at multiples of
  // it from the first one, whose address is known only when the schedule is run.
  int64_t alignment = 1;

  int64_t row_bytes() const { return row_count * word; }        // of a run in dst
  int64_t column_bytes() const { return column_count * word; }  // of a run in src
  bool aligned() const { return alignment == line_bytes; }
  // Whole lines can be put together from two panels.
  bool can_skew() const { return alignment % skew_unit(static_cast<int>(word)) == 0; }
};

// Collects a plan's loops into the two sides, as far as it is told to; what remains becomes the outer nest.
class Collector {
 public:
  Collector(const RearrangePlan& plan, Sides& sides);

  // False: no loop goes on where the side ends.
  bool grow_rows();
  bool grow_columns();
  void leave_rest();

 private:
  template <class Fits>
  bool take(Fits fits, std::vector<Loop>& side, int64_t& count);
  void make_src_ascending(Loop& loop);

  std::vector<Loop> loops_;
  Sides& sides_;
};

// As beyond_caches(). Lines that are written far apart compete for few sets of the caches, the more of them the more threads
// there are; and where pairs of lines go past the caches fast, they do so earlier.
bool columns_beyond_caches(const RearrangePlan& plan, const Policy& policy);

// As few parts as the limit allows, of equal size in whole units.
int64_t even_part(int64_t count, int64_t limit, int64_t unit);

void print_sides(std::ostream& text, const Sides& sides);

}  // namespace infini::cpu
