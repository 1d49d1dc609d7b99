// The exact overlap test: a depth-first search for a non-zero combination of steps that is zero.
#include "plan/disjoint.h"

#include <algorithm>
#include <numeric>

#include "plan/layout.h"

namespace infini {
namespace {

struct Search {
  Dim dims[max_rank];         // descending steps, in units of width, extents >= 2
  int64_t reach[max_rank];    // reach[i]: the largest sum that dims i+1.. can make
  int64_t divisor[max_rank];  // divisor[i]: gcd of the steps of dims i+1.. (0 for none)
  int count = 0;
  int64_t work = 0;

  // Is there a choice of differences for dims from `level` on that brings `sum` to zero? `sum` > 0,
  // or 0 with some earlier difference chosen. Differences may have either sign.
  Disjoint completes(int level, int64_t sum) {
    if (sum == 0) return Disjoint::no;
    if (level == count) return Disjoint::yes;
    if (++work > disjoint_work_limit) return Disjoint::undecided;
    const Dim& dim = dims[level];
    // sum + d*step must come within the reach of the rest.
    const int64_t lowest = std::max(-(dim.extent - 1), -floor_div(sum + reach[level], dim.step));
    const int64_t highest = std::min(dim.extent - 1, floor_div(reach[level] - sum, dim.step));
    for (int64_t d = lowest; d <= highest; ++d) {
      const int64_t next = sum + d * dim.step;
      if (divisor[level] == 0 ? next != 0 : next % divisor[level] != 0) {
        if (++work > disjoint_work_limit) return Disjoint::undecided;
        continue;
      }
      const Disjoint answer = completes(level + 1, next < 0 ? -next : next);
      if (answer != Disjoint::yes) return answer;
    }
    return Disjoint::yes;
  }

  // The first non-zero difference may be taken positive and stands at `level`.
  Disjoint starts_at(int level) {
    const Dim& dim = dims[level];
    const int64_t highest = std::min(dim.extent - 1, reach[level] / dim.step);
    for (int64_t d = 1; d <= highest; ++d) {
      const Disjoint answer = completes(level + 1, d * dim.step);
      if (answer != Disjoint::yes) return answer;
    }
    return Disjoint::yes;
  }

  static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
};

}  // namespace

Disjoint are_disjoint(const Dim* dims, int count, int64_t width) {
  Search search;
  for (int i = 0; i < count; ++i) {
    if (dims[i].extent <= 1) continue;
    if (dims[i].step == 0) return Disjoint::no;
    search.dims[search.count++] = {dims[i].extent, dims[i].step / width};
  }
  std::sort(search.dims, search.dims + search.count,
            [](const Dim& a, const Dim& b) { return a.step > b.step; });
  int64_t reach = 0, divisor = 0;
  for (int i = search.count; i-- > 0;) {
    search.reach[i] = reach;
    search.divisor[i] = divisor;
    reach += (search.dims[i].extent - 1) * search.dims[i].step;
    divisor = std::gcd(divisor, search.dims[i].step);
  }
  for (int i = 0; i < search.count; ++i) {
    const Disjoint answer = search.starts_at(i);
    if (answer != Disjoint::yes) return answer;
  }
  return Disjoint::yes;
}

}  // namespace infini
