// Layouts from bytes.
#include "tests/fuzz/layouts.h"

#include <algorithm>
#include <numeric>

namespace infini::fuzz {
namespace {

size_t choose_extent(Input& in, int64_t room) {
  static constexpr int64_t favourites[] = {1,   2,   3,   4,   5,   7,   8,   9,   12,  15,  16,
                                           17,  24,  31,  32,  33,  48,  63,  64,  65,  96,  127,
                                           128, 129, 200, 255, 256, 257, 300, 512, 700, 1030};
  const int choice = in.byte();
  const int64_t extent = choice >= 128   ? favourites[choice % 32]
                         : choice == 127 ? 0
                                         : 1 + choice % 40;
  return static_cast<size_t>(extent <= room ? extent : 1 + extent % std::max<int64_t>(room, 1));
}

// In elements, behind a dim that spans `span` of them.
int64_t choose_gap(Input& in, int64_t span, int64_t element_bytes) {
  const int choice = in.byte();
  if (choice < 160) return 0;
  const int64_t line = std::max<int64_t>(64 / element_bytes, 1), page = 64 * line;
  if (choice < 208) return choice % 8;
  if (choice < 240) return (line - span % line) % line + choice % 4 * line;  // to a whole line
  if (choice < 248) return (page - span % page) % page;
  return in.byte();
}

}  // namespace

Extents choose_extents(Input& in, int64_t room) {
  static constexpr int ranks[] = {2, 3, 1, 4, 2, 3, 5, 0, 2, 3, 4, 6, 2, 3, 8, 17};
  Extents shape(static_cast<size_t>(in.one_of(ranks)));
  if (in.one_in(64)) shape.resize(64);
  for (auto& extent : shape) {
    extent = choose_extent(in, room);
    room /= std::max<int64_t>(static_cast<int64_t>(extent), 1);
  }
  return shape;
}

Strides choose_nested_strides(Input& in, const Extents& shape, int64_t element_bytes,
                              bool may_repeat) {
  const size_t rank = shape.size();
  std::vector<int> keys(rank);
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t{0});
  for (auto& key : keys) key = in.byte();  // all 0: row-major
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] / 16 < keys[b] / 16; });
  Strides strides(rank);
  const bool plain = in.below(2) == 0;  // no gaps: more inputs mean what programs do
  int64_t step = 1;
  for (size_t i = rank; i-- > 0;) {
    const size_t dim = order[i];
    const auto extent = static_cast<int64_t>(shape[dim]);
    const int low = keys[dim] % 16;
    strides[dim] = low == 15 ? -step : step;
    if (extent == 1) strides[dim] = low == 14 ? in.extreme() : step;  // means nothing
    if (may_repeat && extent > 1 && low >= 12 && low <= 14) {
      strides[dim] = 0;
      continue;
    }
    step *= std::max<int64_t>(extent, 1);
    if (!plain) step += choose_gap(in, step, element_bytes);
  }
  return strides;
}

Strides choose_any_strides(Input& in, size_t rank) {
  Strides strides(rank);
  for (auto& stride : strides) stride = in.one_in(4) ? in.number(2) : in.number(1);
  return strides;
}

bool has_collisions(const Layout& layout) {
  std::vector<int64_t> places{0};
  if (element_count(layout) == 0) return false;
  for (int i = 0; i < layout.rank; ++i) {
    const size_t count = places.size();
    for (int64_t k = 1; k < layout.shape[i]; ++k)
      for (size_t j = 0; j < count; ++j) places.push_back(places[j] + k * layout.strides[i]);
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

}  // namespace infini::fuzz
