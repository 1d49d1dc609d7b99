// Which pieces are unpacked at once, and that they then are where they belong.
#include "reshard/joint_plans.h"

#include <gtest/gtest.h>

#include "plan/reshard/reshard_text.h"
#include "reshard/shared/shared_memory.h"

namespace infini {
namespace {

constexpr int64_t piece = 1024;

PieceSizes all_share(int ranks, int rank) {
  PieceSizes sizes{4096, piece, std::vector<bool>(static_cast<size_t>(ranks), true)};
  sizes.shares[static_cast<size_t>(rank)] = false;  // nobody does with himself
  return sizes;
}

std::vector<RearrangePlan> joint_of(const std::string& text, int rank, const PieceSizes& sizes) {
  const ReshardPlan plan = parse_reshard(text);
  const int64_t bytes = sizes.shared / 4;
  return joint_plans(plan.plan_of(rank, {}, {[&](int) { return bytes; }, true}), INFINI_DTYPE_I32,
                     sizes, rank);
}
std::vector<RearrangePlan> joint_of(const std::string& text, int rank) {
  return joint_of(text, rank, all_share(4, rank));
}

TEST(JointPlans, LinesOfTheShardAreWrittenWhole) {
  for (int rank = 0; rank < 4; ++rank) {
    const auto joint = joint_of("i32 400x32 (4: replicate,block) -> (4: block,replicate)", rank);
    ASSERT_EQ(4u, joint.size()) << rank;  // 100 rows in pieces of 32
    const int64_t step = SharedMemory::lane_bytes(piece);
    for (size_t number = 0; number < joint.size(); ++number) {
      const RearrangePlan& one = joint[number];
      EXPECT_EQ(32, one.atom_bytes);
      ASSERT_EQ(2, one.depth);
      EXPECT_EQ((RearrangePlan{32,
                               static_cast<int64_t>(number) * 4096,
                               0,
                               2,
                               {{number == 3 ? 4 : 32, 128, 32}, {4, 32, step}}}),
                one);
    }
  }
}

TEST(JointPlans, RanksMayStandInAnyOrder) {
  const auto joint =
      joint_of("i32 400x32 (4 ranks 3,2,1,0: replicate,block) -> (4: block,replicate)", 1);
  ASSERT_EQ(4u, joint.size());
  EXPECT_EQ(-SharedMemory::lane_bytes(piece), joint[0].loops[1].src_step);
  EXPECT_EQ(3 * SharedMemory::lane_bytes(piece), joint[0].src_offset);
  EXPECT_TRUE(
      joint_of("i32 400x32 (4 ranks 2,0,3,1: replicate,block) -> (4: block,replicate)", 1).empty());
}

TEST(JointPlans, BlocksInTurnsFillLinesToo) {
  const auto joint = joint_of("i32 400x32 (4: replicate,cyclic:4) -> (4: block,replicate)", 2);
  ASSERT_EQ(4u, joint.size());
  const int64_t step = SharedMemory::lane_bytes(piece);
  EXPECT_EQ((RearrangePlan{16, 0, 0, 2, {{64, 64, 16}, {4, 16, step}}}), joint[0]);
}

TEST(JointPlans, OthersGoOneByOne) {
  for (const char* text : {
           "i32 32x400 (4: block,replicate) -> (4: replicate,block)",   // whole pieces of the shard
           "i32 400x30 (4: replicate,block) -> (4: block,replicate)",   // the last part is narrower
           "i32 40x2048 (4: replicate,block) -> (4: block,replicate)",  // runs of 2 KB
       })
    EXPECT_TRUE(joint_of(text, 1).empty()) << text;
  // Rank 3 sends messages.
  PieceSizes sizes = all_share(4, 1);
  sizes.shares[3] = false;
  EXPECT_TRUE(
      joint_of("i32 400x32 (4: replicate,block) -> (4: block,replicate)", 1, sizes).empty());
}

}  // namespace
}  // namespace infini
