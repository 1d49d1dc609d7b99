// Parts of plans: together they move what the plan moves, each byte once.
#include "plan/rearrange/plan_cut.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace infini {
namespace {

using Pairs = std::map<int64_t, int64_t>;  // src byte of each dst byte

void add(const RearrangePlan& plan, int64_t dst, int64_t src, Pairs& pairs) {
  const int64_t atoms = atom_count(plan);
  for (int64_t n = 0; n < atoms; ++n) {
    int64_t rest = n, d = dst + plan.dst_offset, s = src + plan.src_offset;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent) {
      d += rest % plan.loops[i].extent * plan.loops[i].dst_step;
      s += rest % plan.loops[i].extent * plan.loops[i].src_step;
    }
    for (int64_t b = 0; b < plan.atom_bytes; ++b)
      EXPECT_TRUE(pairs.emplace(d + b, s + b).second) << "twice";
  }
}

RearrangePlan random_plan(std::mt19937& random) {
  std::vector<size_t> shape(1 + random() % 4);
  std::vector<ptrdiff_t> dst(shape.size()), src(shape.size());
  for (auto& extent : shape) extent = 1 + random() % 5;
  ptrdiff_t to = 1, from = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    dst[i] = to;
    to = to * static_cast<ptrdiff_t>(shape[i]) + static_cast<ptrdiff_t>(random() % 2);
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    src[i] = random() % 3 == 0 ? -from : from;
    from = from * static_cast<ptrdiff_t>(shape[i]) + static_cast<ptrdiff_t>(random() % 2);
  }
  return make_rearrange_plan(make_layout(INFINI_DTYPE_U16, shape.size(), shape.data(), dst.data()),
                             make_layout(INFINI_DTYPE_U16, shape.size(), shape.data(), src.data()));
}

TEST(PlanCut, PartsOfALoopAreThePlan) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const RearrangePlan plan = random_plan(random);
    if (plan.depth == 0) continue;
    const int loop = static_cast<int>(random() % static_cast<unsigned>(plan.depth));
    const int64_t extent = plan.loops[loop].extent, step = 1 + random() % 3;
    Pairs whole, parts;
    add(plan, 0, 0, whole);
    for (int64_t i = 0; i < extent; i += step)
      add(part_of(plan, loop, i, std::min(step, extent - i)), 0, 0, parts);
    EXPECT_EQ(whole, parts) << plan;
  }
}

TEST(PlanCut, PiecesAreThePlanAndSmallEnough) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const RearrangePlan plan = random_plan(random);
    const int64_t most = 1 << random() % 9;
    const PieceCut cut = cut_by_bytes(plan, most);
    if (plan.depth == 0 || plan.atom_bytes > most) {
      EXPECT_EQ(-1, cut.loop);
      continue;
    }
    Pairs whole, pieces;
    add(plan, 0, 0, whole);
    for (int64_t i = 0; i < cut.pieces(plan); ++i) {
      const CutPiece piece = piece_of(plan, cut, i);
      const RearrangePlan part = piece_plan(plan, cut, piece.iterations);
      EXPECT_LE(moved_bytes(part), most);
      add(part, piece.dst, piece.src, pieces);
    }
    EXPECT_EQ(whole, pieces) << plan;
  }
}

}  // namespace
}  // namespace infini
