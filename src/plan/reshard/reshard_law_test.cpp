// The law of reshard plans by brute force: every destination element exactly once, from the right place; nothing travels that
// need not; replicas share alike.
//   INFINI_TEST_RANDOM=10000000 reshard_test --gtest_filter=ReshardLaw.Random     the long run
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "plan/reshard/reshard_plan.h"
#include "plan/reshard/reshard_text.h"

namespace infini {
namespace {

using Random = std::minstd_rand;

int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<unsigned>(end));
}

// Which part an index belongs to, said as plainly as can be.
int owner(const Split& split, int64_t n, int parts, int64_t index) {
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
std::vector<int32_t> shard(const Side& side, int place, const std::vector<int64_t>& weights) {
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

// dst[...] = src[...] over a box; counts what is written.
void walk(const RankPlan& plan, const Box& box, size_t loop, int64_t dst, int64_t src,
          std::vector<int32_t>& to, const std::vector<int32_t>& from, std::vector<int>* written) {
  if (loop == box.loops) {
    to.at(static_cast<size_t>(dst)) = from.at(static_cast<size_t>(src));
    if (written != nullptr) ++written->at(static_cast<size_t>(dst));
    return;
  }
  const BoxLoop& nest = plan.loops[box.first_loop + loop];
  for (int64_t i = 0; i < nest.extent; ++i)
    walk(plan, box, loop + 1, dst + i * nest.dst_stride, src + i * nest.src_stride, to, from,
         written);
}

// The same by the rearrange plan, to which it must be equal.
void walk_bytes(const RearrangePlan& plan, int loop, int64_t dst, int64_t src, char* to,
                const char* from) {
  if (loop == plan.depth) {
    std::memcpy(to + dst, from + src, static_cast<size_t>(plan.atom_bytes));
    return;
  }
  for (int64_t i = 0; i < plan.loops[loop].extent; ++i)
    walk_bytes(plan, loop + 1, dst + i * plan.loops[loop].dst_step,
               src + i * plan.loops[loop].src_step, to, from);
}

void run(const RankPlan& plan, const Message& message, std::vector<int32_t>& to,
         const std::vector<int32_t>& from, std::vector<int>* written, bool as_bytes) {
  for (size_t i = message.first_box; i < message.first_box + message.boxes; ++i) {
    const Box& box = plan.boxes[i];
    walk(plan, box, 0, box.dst_start, box.src_start, to, from, written);
    if (!as_bytes) continue;
    std::vector<int32_t> again(to);
    const RearrangePlan bytes = plan_of(box, plan.loops.data(), INFINI_DTYPE_I32);
    walk_bytes(bytes, 0, bytes.dst_offset, bytes.src_offset, reinterpret_cast<char*>(again.data()),
               reinterpret_cast<const char*>(from.data()));
    ASSERT_EQ(again, to);
    ASSERT_EQ(moved_bytes(bytes), box.elements * 4);
  }
}

struct Ranks {
  std::vector<RankPlan> plans;
  std::vector<std::vector<int32_t>> src, dst;
};

Ranks shards_of(const ReshardPlan& plan, const Side& source, const Side& destination) {
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
  for (int rank = 0; rank < plan.ranks(); ++rank) all.plans.push_back(plan.plan_of(rank));
  return all;
}

// Replicas: those with the same parts send the same, but for a sixteenth and one.
void check_shares(const Side& source, const Ranks& all) {
  std::map<std::vector<int>, std::vector<int64_t>> classes;
  for (int p = 0; p < source.places; ++p) {
    std::vector<int> parts;
    for (size_t dim = 0; dim < source.d.shape.size(); ++dim) parts.push_back(source.part(p, dim));
    int64_t sent = 0;
    for (const Message& message : all.plans[static_cast<size_t>(source.rank(p))].sends)
      sent += message.elements;
    classes[parts].push_back(sent);
  }
  for (const auto& [parts, sent] : classes) {
    const int64_t total = std::accumulate(sent.begin(), sent.end(), int64_t{0});
    const int64_t share = total / static_cast<int64_t>(sent.size());
    for (const int64_t one : sent) ASSERT_LE(one, share + 1 + std::max<int64_t>(share / 16, 1));
  }
}

void check_law(const ReshardPlan& plan, bool as_bytes) {
  const Side source(plan.source().distribution()), destination(plan.destination().distribution());
  const Ranks all = shards_of(plan, source, destination);
  std::map<std::pair<int, int>, std::vector<int32_t>> wire;
  int64_t on_wire = 0, foreign = 0;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    int last = -1;
    const RankPlan& own = all.plans[static_cast<size_t>(rank)];
    for (const Message& message : own.sends) {
      ASSERT_GT(message.peer, last);
      ASSERT_NE(message.peer, rank);
      ASSERT_GT(message.elements, 0);
      last = message.peer;
      auto& bytes = wire[{rank, message.peer}];
      bytes.assign(static_cast<size_t>(message.elements), -1);
      run(own, message, bytes, all.src[static_cast<size_t>(rank)], nullptr, as_bytes);
      on_wire += message.elements;
    }
  }
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const RankPlan& own = all.plans[static_cast<size_t>(rank)];
    const auto& expected = all.dst[static_cast<size_t>(rank)];
    std::vector<int32_t> to(expected.size(), -1);
    std::vector<int> written(expected.size(), 0);
    for (const Message& message : own.receives) {
      const auto found = wire.find({message.peer, rank});
      ASSERT_NE(found, wire.end());
      ASSERT_EQ(found->second.size(), static_cast<size_t>(message.elements));
      run(own, message, to, found->second, &written, as_bytes);
      wire.erase(found);
    }
    run(own, own.local, to, all.src[static_cast<size_t>(rank)], &written, as_bytes);
    ASSERT_EQ(to, expected) << "rank " << rank;
    ASSERT_EQ(written, std::vector<int>(expected.size(), 1)) << "rank " << rank;
    std::vector<bool> held;
    for (const int32_t value : all.src[static_cast<size_t>(rank)]) {
      if (held.size() <= static_cast<size_t>(value)) held.resize(static_cast<size_t>(value) + 1);
      held[static_cast<size_t>(value)] = true;
    }
    for (const int32_t value : expected)
      foreign += static_cast<size_t>(value) >= held.size() || !held[static_cast<size_t>(value)];
  }
  ASSERT_TRUE(wire.empty()) << "somebody sends what nobody awaits";
  ASSERT_EQ(on_wire, foreign);
  check_shares(source, all);
}

std::vector<int64_t> random_sizes(Random& random, int64_t n, int parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts), 0);
  for (int64_t i = 0; i < n; ++i)
    ++sizes[static_cast<size_t>(below(random, parts) / (1 + below(random, 2)))];
  return sizes;
}

Distribution random_distribution(Random& random, const std::vector<int64_t>& shape,
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

ReshardPlan random_plan(Random& random) {
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

TEST(ReshardLaw, Random) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int64_t count = wished != nullptr ? std::atoll(wished) : 200000;
  for (int64_t i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 7919 + 1));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    EXPECT_NO_THROW(check_law(plan, i % 16 == 0));
    if (HasFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
    ASSERT_EQ(to_text(parse_reshard(to_text(plan))), to_text(plan));
  }
}

}  // namespace
}  // namespace infini
