// Random pairs of distributions, and what each rank holds of them, said as plainly as can be.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "plan/reshard/reshard_plan.h"

namespace infini::reshard_test {

using Random = std::minstd_rand;

inline int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

// Which part an index belongs to, said as plainly as can be.
inline int owner(const Split& split, int64_t n, int parts, int64_t index) {
  const int64_t p = parts;
  if (split.kind == SplitKind::block) return static_cast<int>(index / ((n + p - 1) / p));
  if (split.kind == SplitKind::cyclic) return static_cast<int>(index / split.block % p);
  if (split.kind == SplitKind::replicate) return 0;
  int64_t end = 0;
  for (int i = 0;; ++i) {
    end +=
        split.kind == SplitKind::sizes ? split.sizes[static_cast<size_t>(i)] : n / p + (i < n % p);
    if (index < end) return i;
  }
}

// One side: for every place of the mesh the part of every dim, and of every dim and part the indexes in order.
struct Side {
  explicit Side(const Distribution& distribution) : d(distribution) {
    places = 1;
    for (const int64_t extent : d.mesh) places *= static_cast<int>(extent);
    for (size_t dim = 0; dim < d.dims.size(); ++dim) {
      int parts = 1;
      for (const int axis : d.dims[dim].axes)
        parts *= static_cast<int>(d.mesh[static_cast<size_t>(axis)]);
      indexes.emplace_back(static_cast<size_t>(parts));
      owners.emplace_back();
      for (int64_t i = 0; i < d.shape[dim]; ++i) {
        owners.back().push_back(owner(d.dims[dim], d.shape[dim], parts, i));
        indexes.back()[static_cast<size_t>(owners.back().back())].push_back(i);
      }
    }
  }
  int part(int place, size_t dim) const {
    std::vector<int> coordinates(d.mesh.size());
    for (size_t axis = d.mesh.size(); axis-- > 0;) {
      coordinates[axis] = place % static_cast<int>(d.mesh[axis]);
      place /= static_cast<int>(d.mesh[axis]);
    }
    int result = 0;
    for (const int axis : d.dims[dim].axes)
      result = result * static_cast<int>(d.mesh[static_cast<size_t>(axis)]) +
               coordinates[static_cast<size_t>(axis)];
    return result;
  }
  int rank(int place) const {
    return d.ranks.empty() ? place : d.ranks[static_cast<size_t>(place)];
  }

  Distribution d;
  int places;
  std::vector<std::vector<std::vector<int64_t>>> indexes;  // [dim][part]
  std::vector<std::vector<int>> owners;                    // [dim][index]
};

// The elements of a shard in row-major order, each as its number in the source tensor.
inline std::vector<int32_t> shard(const Side& side, int place,
                                  const std::vector<int64_t>& weights) {
  std::vector<int32_t> values = {0};
  for (size_t dim = 0; dim < weights.size(); ++dim) {
    const auto& mine = side.indexes[dim][static_cast<size_t>(side.part(place, dim))];
    std::vector<int32_t> next;
    next.reserve(values.size() * mine.size());
    for (const int32_t value : values)
      for (const int64_t index : mine)
        next.push_back(value + static_cast<int32_t>(index * weights[dim]));
    values.swap(next);
  }
  return values;
}

// Shards of all ranks, every element as its number in the source tensor.
struct Ranks {
  std::vector<std::vector<int32_t>> src, dst;
};

inline Ranks shards_of(const ReshardPlan& plan, const Side& source, const Side& destination) {
  const size_t dims = source.d.shape.size();
  std::vector<int64_t> weights(dims), dst_weights(dims);
  int64_t weight = 1;
  for (size_t i = dims; i-- > 0;) {
    weights[i] = weight;
    weight *= std::max<int64_t>(source.d.shape[i], 1);
  }
  for (size_t i = 0; i < dims; ++i) dst_weights[i] = weights[static_cast<size_t>(plan.order()[i])];
  Ranks all;
  all.src.resize(static_cast<size_t>(plan.ranks()));
  all.dst.resize(static_cast<size_t>(plan.ranks()));
  for (int p = 0; p < source.places; ++p)
    all.src[static_cast<size_t>(source.rank(p))] = shard(source, p, weights);
  for (int p = 0; p < destination.places; ++p)
    all.dst[static_cast<size_t>(destination.rank(p))] = shard(destination, p, dst_weights);
  return all;
}

inline std::vector<int64_t> random_sizes(Random& random, int64_t n, int parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), 0);
  for (int64_t i = 0; i < n; ++i)
    ++sizes[static_cast<size_t>(below(random, parts) / (1 + below(random, 2)))];
  return sizes;
}

inline Distribution random_distribution(Random& random, const std::vector<int64_t>& shape,
                                        int most_ranks) {
  Distribution made;
  made.shape = shape;
  made.dims.resize(shape.size());
  int places = 1;
  const int axes = 1 + below(random, 4);
  for (int i = 0; i < axes; ++i) {
    const int extent = 1 + below(random, std::min(i == 0 ? 12 : 4, most_ranks / places));
    places *= extent;
    made.mesh.push_back(extent);
    if (shape.empty() || below(random, 5) == 0) continue;
    auto& dim = made.dims[static_cast<size_t>(below(random, static_cast<int>(shape.size())))];
    dim.axes.insert(dim.axes.begin() + below(random, static_cast<int>(dim.axes.size()) + 1), i);
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    Split& dim = made.dims[i];
    if (dim.axes.empty()) continue;
    int parts = 1;
    for (const int axis : dim.axes) parts *= static_cast<int>(made.mesh[static_cast<size_t>(axis)]);
    dim.kind = static_cast<SplitKind>(1 + below(random, 4));
    if (below(random, 3) == 0) dim.kind = SplitKind::cyclic;
    if (dim.kind == SplitKind::cyclic) dim.block = 1 + below(random, below(random, 2) == 0 ? 2 : 6);
    if (dim.kind == SplitKind::sizes) dim.sizes = random_sizes(random, shape[i], parts);
  }
  if (below(random, 4) == 0) {
    const int spare = below(random, 4);
    for (int i = 0; i < places + spare; ++i) made.ranks.push_back(i);
    std::shuffle(made.ranks.begin(), made.ranks.end(), random);
    made.ranks.resize(static_cast<size_t>(places));
  }
  return made;
}

inline ReshardPlan random_plan(Random& random) {
  std::vector<int64_t> shape;
  const int rank = below(random, 7);
  int64_t elements = 1;
  const int64_t most = below(random, 16) == 0 ? 600 : 120;
  for (int i = 0; i < rank; ++i) {
    const int64_t longest =
        std::min<int64_t>(rank <= 2 ? 60 : 8, most / std::max<int64_t>(elements, 1));
    shape.push_back(below(random, 40) == 0
                        ? 0
                        : 1 + below(random, static_cast<int>(std::max<int64_t>(longest, 1))));
    elements *= shape.back();
  }
  std::shuffle(shape.begin(), shape.end(), random);
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (below(random, 2) == 0) std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> permuted;
  for (const int dim : order) permuted.push_back(shape[static_cast<size_t>(dim)]);
  const int most_ranks = below(random, 16) == 0 ? 64 : 12;
  const Distribution source = random_distribution(random, shape, most_ranks);
  return {INFINI_DTYPE_I32, random_distribution(random, permuted, most_ranks), source, order};
}

}  // namespace infini::reshard_test
