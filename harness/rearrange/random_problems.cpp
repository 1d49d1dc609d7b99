// Random rearrange problems.
#include "harness/rearrange/random_problems.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace infini::harness {
namespace {

std::vector<size_t> shuffled(Random& random, std::vector<size_t> values) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1],
              values[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
  return values;
}

// Every magnitude is as likely as any other; half of the extents are multiples of 16.
std::vector<size_t> wide_shape(Random& random, int64_t elements) {
  std::vector<size_t> shape(static_cast<size_t>(random.between(2, 5)));
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t room = std::max<int64_t>(elements, 1);
    const int bits =
        static_cast<int>(random.between(0, std::bit_width(static_cast<uint64_t>(room)) - 1));
    int64_t extent = std::min(random.between(int64_t{1} << bits, (int64_t{2} << bits) - 1), room);
    if (i + 1 == shape.size()) extent = room;  // the last takes what is left
    if (random.one_in(2) && extent > 16) extent -= extent % 16;
    shape[i] = static_cast<size_t>(extent);
    elements /= extent;
  }
  return shuffled(random, std::move(shape));
}

std::vector<size_t> random_shape(Random& random, const RandomShape& limits) {
  if (limits.wide) return wide_shape(random, limits.max_elements);
  std::vector<size_t> shape(static_cast<size_t>(random.between(0, limits.max_rank)));
  int64_t room = limits.max_elements;
  for (auto& extent : shape) {
    static constexpr int64_t favourites[] = {1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 33, 64, 65};
    int64_t value = random.one_in(3) ? random.between(1, 40)
                                     : favourites[random.between(0, std::size(favourites) - 1)];
    if (value > room) value = random.between(1, std::min<int64_t>(room, 3));
    room /= value;
    extent = static_cast<size_t>(value);
  }
  shape = shuffled(random, std::move(shape));
  if (!shape.empty() && random.one_in(40))
    shape[static_cast<size_t>(random.between(0, static_cast<int64_t>(shape.size()) - 1))] = 0;
  return shape;
}

// Strides of a tensor whose dims lie in memory in a random order, with gaps and reversals.
std::vector<ptrdiff_t> random_strides(Random& random, const std::vector<size_t>& shape,
                                      bool may_broadcast) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!random.one_in(4)) order = shuffled(random, std::move(order));
  const bool gaps = random.one_in(2), reversals = random.one_in(3);
  const bool broadcasts = may_broadcast && random.one_in(4);
  std::vector<ptrdiff_t> strides(shape.size());
  int64_t step = gaps && random.one_in(4) ? random.between(1, 3) : 1;
  for (size_t i = order.size(); i-- > 0;) {
    ptrdiff_t& stride = strides[order[i]];
    const auto extent = static_cast<int64_t>(std::max<size_t>(shape[order[i]], 1));
    stride = reversals && random.one_in(3) ? -step : step;
    if (extent == 1) {  // means nothing, so let it be anything
      stride = static_cast<ptrdiff_t>(random.next());
    } else if (broadcasts && random.one_in(3)) {
      stride = 0;
    } else {
      step *= extent;
      if (gaps && random.one_in(3)) step += random.between(0, 9);
    }
  }
  return strides;
}

int64_t random_misalignment(Random& random) { return random.one_in(3) ? random.between(0, 63) : 0; }

// A dense source whose dims lie in memory in a random order; one in three has gaps between rows, one in ten of the
// dims runs backwards or stands still.
std::vector<ptrdiff_t> source_strides(Random& random, const std::vector<size_t>& shape) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  order = shuffled(random, std::move(order));
  const bool padded = random.one_in(3);
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const int64_t kind = random.between(0, 19);
    strides[order[i]] = kind == 0 ? 0 : kind == 1 ? -step : step;
    if (kind != 0) step *= static_cast<ptrdiff_t>(shape[order[i]]);
    if (padded && random.one_in(3))
      step += static_cast<ptrdiff_t>(int64_t{1} << random.between(0, 6));
  }
  return strides;
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t Random::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(next() % (static_cast<uint64_t>(high - low) + 1));
}

RearrangeProblem random_problem(Random& random, const RandomShape& limits) {
  const auto dtype = static_cast<infiniDtype_t>(random.between(1, dtype_count - 1));
  const auto shape = random_shape(random, limits);
  const auto dst = random_strides(random, shape, false);
  const auto src = random_strides(random, shape, true);
  RearrangeProblem problem;
  problem.dst = make_layout(dtype, shape.size(), shape.data(), dst.data());
  problem.src = make_layout(dtype, shape.size(), shape.data(), src.data());
  problem.dst_at = random_misalignment(random);
  problem.src_at = random_misalignment(random);
  return problem;
}

RearrangeProblem random_dense_problem(Random& random, int64_t bytes) {
  static constexpr infiniDtype_t types[] = {INFINI_DTYPE_U8, INFINI_DTYPE_F16, INFINI_DTYPE_F32,
                                            INFINI_DTYPE_F64};
  const infiniDtype_t dtype = types[random.between(0, 3)];
  return random_dense_problem(random, dtype, bytes / dtype_bytes(dtype));
}

RearrangeProblem random_dense_problem(Random& random, infiniDtype_t dtype, int64_t elements) {
  auto shape = wide_shape(random, elements);
  std::erase(shape, size_t{1});
  const auto src = source_strides(random, shape);
  return {.dst = make_layout(dtype, shape.size(), shape.data(), nullptr),
          .src = make_layout(dtype, shape.size(), shape.data(), src.data())};
}

}  // namespace infini::harness
