// Composing a view with a copy: the view's steps are written as sums of the copy's.
#include "plan/layout/source_view.h"

#include <cstdlib>

#include "base/dtype.h"

namespace infini {
namespace {

// The points of the copy's nest that a view reaches: an interval of each loop, and of the atom's
// bytes. That all of them lie inside the nest is what makes the composition right, whichever way a
// step was written as a sum.
class Box {
 public:
  explicit Box(const RearrangePlan& copy) : copy_(copy) {}

  // Begins `distance` bytes behind the nest's first byte; adds the way in the source to `source`.
  bool begin_at(int64_t distance, int64_t& source) {
    if (distance < 0) return false;
    for (int i = 0; i < copy_.depth; ++i) {
      const Loop& loop = copy_.loops[i];
      low_[i] = high_[i] = distance / loop.dst_step;
      if (low_[i] >= loop.extent) return false;
      source += low_[i] * loop.src_step;
      distance %= loop.dst_step;
    }
    low_[copy_.depth] = high_[copy_.depth] = distance;
    source += distance;
    return distance < copy_.atom_bytes;
  }

  // One dim of the view; the step that the source has for it.
  std::optional<int64_t> walk(int64_t extent, int64_t step) {
    int64_t rest = std::abs(step), source = 0;
    for (int i = 0; i < copy_.depth; ++i) {
      const Loop& loop = copy_.loops[i];
      const int64_t turns = rest / loop.dst_step;
      if (turns >= loop.extent) return std::nullopt;
      reach(i, (extent - 1) * (step < 0 ? -turns : turns));
      source += turns * loop.src_step;
      rest %= loop.dst_step;
    }
    if (rest >= copy_.atom_bytes) return std::nullopt;
    reach(copy_.depth, (extent - 1) * (step < 0 ? -rest : rest));
    source += rest;
    return step < 0 ? -source : source;
  }

  // Whether words of so many bytes stay inside the nest everywhere.
  bool holds(int64_t word) const {
    for (int i = 0; i < copy_.depth; ++i)
      if (low_[i] < 0 || high_[i] >= copy_.loops[i].extent) return false;
    return low_[copy_.depth] >= 0 && high_[copy_.depth] + word <= copy_.atom_bytes;
  }

 private:
  void reach(int i, int64_t distance) { (distance < 0 ? low_ : high_)[i] += distance; }

  const RearrangePlan& copy_;
  int64_t low_[max_rank + 1], high_[max_rank + 1];
};

}  // namespace

std::optional<SourceView> source_view(const RearrangePlan& copy, const Layout& view,
                                      int64_t offset) {
  SourceView seen{view, copy.src_offset};
  const int64_t bytes = dtype_bytes(view.dtype);
  Box box(copy);
  if (element_count(view) == 0 || !box.begin_at(offset - copy.dst_offset, seen.offset))
    return std::nullopt;
  for (int i = 0; i < view.rank; ++i) {
    seen.layout.strides[i] = 0;
    if (view.shape[i] == 1) continue;
    const auto step = box.walk(view.shape[i], view.strides[i] * bytes);
    if (!step || *step % bytes != 0) return std::nullopt;
    seen.layout.strides[i] = *step / bytes;
  }
  if (!box.holds(bytes)) return std::nullopt;
  return seen;
}

}  // namespace infini
