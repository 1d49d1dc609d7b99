// The exact overlap test: a depth-first search for a non-zero combination of steps that is zero; and
// the quick test of two nests against each other, by residues.
#include "plan/layout/disjoint.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/dtype.h"
#include "base/error.h"

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

std::vector<Dim> moving(const std::vector<Dim>& dims) {
  std::vector<Dim> result;
  for (const Dim& dim : dims)
    if (dim.extent > 1 && dim.step != 0) result.push_back(dim);
  return result;
}

// The bytes touched by the dims that do not vanish modulo the period.
ByteRange residues(const std::vector<Dim>& dims, int64_t base, int64_t period, int64_t width) {
  ByteRange range{base, base + width};
  for (const Dim& dim : dims) {
    if (dim.step % period == 0) continue;
    const int64_t reach = (dim.extent - 1) * dim.step;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

std::vector<Dim> dims_of(const Layout& layout) {
  std::vector<Dim> dims;
  for (int i = 0; i < layout.rank; ++i)
    if (layout.shape[i] != 1)  // the stride of a dim of size 1 may be anything
      dims.push_back({layout.shape[i], layout.strides[i] * dtype_bytes(layout.dtype)});
  return dims;
}

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

Disjoint are_disjoint(const Layout& layout) {
  if (element_count(layout) == 0) return Disjoint::yes;
  std::vector<Dim> dims = dims_of(layout);
  for (Dim& dim : dims) dim.step = std::abs(dim.step);  // the sign cannot make points collide
  return are_disjoint(dims.data(), static_cast<int>(dims.size()), dtype_bytes(layout.dtype));
}

void require_disjoint(Disjoint answer, const char* name, const Layout& layout) {
  require(answer != Disjoint::no, INFINI_STATUS_BAD_TENSOR_STRIDES, name, " (", layout,
          ") has elements that share memory; each element of ", name, " needs its own place");
  require(answer == Disjoint::yes, INFINI_STATUS_BAD_TENSOR_STRIDES, name, " (", layout,
          ") interleaves its dims so that their disjointness was not decided within ",
          disjoint_work_limit, " steps; such a ", name, " is refused");
}

bool never_meet(const std::vector<Dim>& x, int64_t x_width, const std::vector<Dim>& y,
                int64_t y_width, int64_t y_base) {
  const auto x_dims = moving(x), y_dims = moving(y);
  std::vector<Dim> all = x_dims;
  all.insert(all.end(), y_dims.begin(), y_dims.end());
  for (const Dim& least : all) {  // periods: the gcd of all steps not smaller than this one
    int64_t period = 0;
    for (const Dim& dim : all)
      if (std::abs(dim.step) >= std::abs(least.step)) period = std::gcd(period, dim.step);
    const ByteRange here = residues(x_dims, 0, period, x_width);
    const ByteRange there = residues(y_dims, y_base, period, y_width);
    // Shift `there` to begin in the period that starts at here.begin; it must end inside it.
    const int64_t gap = ((there.begin - here.begin) % period + period) % period;
    if (gap >= here.end - here.begin && gap + (there.end - there.begin) <= period) return true;
  }
  return false;
}

bool never_meet(const Layout& x, const Layout& y, int64_t y_base) {
  const ByteRange here = byte_range(x), there = byte_range(y);
  if (here.begin == here.end || there.begin == there.end) return true;
  const __int128 base = y_base;  // the sums may leave 64 bits
  if (here.end <= base + there.begin || base + there.end <= here.begin) return true;
  return never_meet(dims_of(x), dtype_bytes(x.dtype), dims_of(y), dtype_bytes(y.dtype), y_base);
}

}  // namespace infini
