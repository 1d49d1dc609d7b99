// Making schedules of rows.
#include "backends/cpu/convert/rows/schedule.h"

#include <algorithm>
#include <sstream>

#include "base/dtype.h"

namespace infini::cpu {
namespace {

// Of so many a call is little beside what it does, and threads have equal shares of all but tiny tensors; of fewer what is
// asked for with each comes evenly.
constexpr int64_t elements_of_piece = 1024, elements_of_short_piece = 256;
constexpr int64_t long_row_bytes = 8 << 10;  // of x

// Runs of whole lines, two and more, go past the caches equally fast wherever they go: then x is read in its own order.
bool writes_pairs_of_lines(const OperatorPlan& plan) {
  const int64_t run = plan.length * dtype_bytes(plan.dtypes[0]);
  return run >= 2 * line_bytes && run % line_bytes == 0 &&
         std::all_of(plan.loops, plan.loops + plan.depth,
                     [](const OperatorLoop& loop) { return loop.steps[0] % line_bytes == 0; });
}

}  // namespace

std::optional<ConvertRows> make_convert_rows(const OperatorPlan& plan, const Policy& policy) {
  ConvertRows schedule;
  schedule.length = plan.length;
  schedule.outer.assign(plan.loops, plan.loops + plan.depth);
  for (const OperatorLoop& loop : schedule.outer) schedule.rows *= loop.extent;
  if (plan.length > 1) {
    for (const int k : {0, 1})
      if (plan.row_steps[k] != dtype_bytes(plan.dtypes[k])) return std::nullopt;
    for (const int k : {2, 3}) {
      if (is_absent(plan, k) || plan.row_steps[k] == 0) continue;
      if (plan.row_steps[k] != static_cast<int64_t>(sizeof(float))) return std::nullopt;
    }
  }
  schedule.is_long = plan.length >= long_row_bytes / dtype_bytes(plan.dtypes[1]);
  schedule.piece = schedule.is_long ? elements_of_piece : elements_of_short_piece;
  schedule.streams = converts_beyond_caches(plan, policy);
  if (schedule.streams && writes_pairs_of_lines(plan)) {
    std::stable_sort(schedule.outer.begin(), schedule.outer.end(),
                     [](const OperatorLoop& a, const OperatorLoop& b) {
                       return magnitude(a.steps[1]) > magnitude(b.steps[1]);
                     });
  }
  return schedule;
}

std::string to_string(const ConvertRows& schedule) {
  std::ostringstream text;
  text << schedule.rows << " rows of " << schedule.length << " elements, "
       << schedule.pieces_of_row() << " pieces each"
       << (schedule.streams ? ", past the caches" : "");
  return text.str();
}

}  // namespace infini::cpu
