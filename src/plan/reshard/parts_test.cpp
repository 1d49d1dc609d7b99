// The law of parts, by brute force over random pairs of distributions.
#include "plan/reshard/parts.h"

#include <gtest/gtest.h>

#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"

namespace infini {
namespace {

using namespace reshard_test;

// Copies one part between row-major shards.
void copy(const ShardPart& part, std::vector<int32_t>& dst, const std::vector<int64_t>& dst_shape,
          const std::vector<int32_t>& src, const std::vector<int64_t>& src_shape,
          const std::vector<int>& order) {
  const size_t dims = order.size();
  std::vector<int64_t> at(dims, 0);
  while (true) {
    int64_t to = 0, from = 0;
    std::vector<int64_t> index(dims);
    for (size_t i = 0; i < dims; ++i) {
      to = to * dst_shape[i] + part.dst[i].start + at[i] * part.dst[i].step;
      index[static_cast<size_t>(order[i])] = at[i];
    }
    for (size_t i = 0; i < dims; ++i)
      from = from * src_shape[i] + part.src[i].start + index[i] * part.src[i].step;
    int32_t& element = dst.at(static_cast<size_t>(to));
    ASSERT_EQ(element, -1) << "written twice";
    element = src.at(static_cast<size_t>(from));
    size_t i = dims;
    while (i > 0 && ++at[i - 1] == part.dst[i - 1].count) at[--i] = 0;
    if (i == 0) return;
  }
}

TEST(ReshardParts, EveryElementComesFromItsPlace) {
  for (int i = 0; i < 5000; ++i) {
    Random random(static_cast<unsigned>(i * 9973 + 7));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    const Side source(plan.source().distribution()), destination(plan.destination().distribution());
    const Ranks all = shards_of(plan, source, destination);
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const auto r = static_cast<size_t>(rank);
      std::vector<int32_t> got(all.dst[r].size(), -1);
      for (const ShardPart& part : parts_of(plan, rank))
        copy(part, got, plan.dst_shape(rank), all.src[static_cast<size_t>(part.source)],
             plan.src_shape(part.source), plan.order());
      ASSERT_EQ(got, all.dst[r]) << "pair " << i << ", rank " << rank << ": " << to_text(plan);
    }
  }
}

}  // namespace
}  // namespace infini
