// Random products over ranks: uneven, cyclic and empty parts, replicas, ranks in any order.
#pragma once

#include "plan/reshard/product_plan.h"
#include "plan/reshard/random_reshard_test.h"

namespace infini::reshard_test {

inline Split random_split(Random& random, int64_t n, int parts, int axis) {
  Split split;
  split.kind = static_cast<SplitKind>(1 + below(random, 4));
  split.axes = {axis};
  if (split.kind == SplitKind::cyclic) split.block = 1 + below(random, 5);
  if (split.kind == SplitKind::sizes) split.sizes = random_sizes(random, n, parts);
  return split;
}

// Two dims over the first two axes of a mesh; the third holds replicas.
inline Distribution over_grid(Random& random, std::vector<int64_t> shape, std::vector<int64_t> mesh,
                              const Split& rows, const Split& columns) {
  Distribution made;
  made.shape = std::move(shape);
  made.mesh = std::move(mesh);
  made.dims = {rows, columns};
  if (below(random, 3) != 0) return made;
  int places = 1;
  for (const int64_t extent : made.mesh) places *= static_cast<int>(extent);
  for (int i = 0; i < places + below(random, 3); ++i) made.ranks.push_back(i);
  std::shuffle(made.ranks.begin(), made.ranks.end(), random);
  made.ranks.resize(static_cast<size_t>(places));
  return made;
}

inline ProductPlan random_product(Random& random, infiniDtype_t dtype, int longest) {
  const auto extent = [&] { return below(random, 20) == 0 ? 0 : 1 + below(random, longest); };
  const auto replicas = [&] { return below(random, 4) == 0 ? 2 : 1; };
  const int64_t m = extent(), n = extent(), k = extent();
  const int p = 1 + below(random, 3), q = 1 + below(random, 3), of_a = 1 + below(random, 4),
            of_b = 1 + below(random, 4);
  const Split rows = random_split(random, m, p, 0), columns = random_split(random, n, q, 1);
  const Distribution c = over_grid(random, {m, n}, {p, q, replicas()}, rows, columns);
  const Distribution a =
      over_grid(random, {m, k}, {p, of_a, replicas()}, rows, random_split(random, k, of_a, 1));
  const Distribution b =
      over_grid(random, {k, n}, {of_b, q, replicas()}, random_split(random, k, of_b, 0), columns);
  return {dtype, c, a, b, below(random, 2) == 0 ? 0 : 1 + below(random, 7)};
}

// The place of a rank in a side's mesh, -1: none.
inline int place_of(const Side& side, int rank) {
  for (int place = 0; place < side.places; ++place)
    if (side.rank(place) == rank) return place;
  return -1;
}

}  // namespace infini::reshard_test
