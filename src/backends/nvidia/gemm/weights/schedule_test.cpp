// The weights gemm schedule: its law, its memory and its choice, without a GPU.
#include "backends/nvidia/gemm/weights/schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "backends/nvidia/gemm/tile_law_test.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::nvidia {
namespace {

// Every tile is visited by `split` blocks, which share its steps.
void expect_law(const GemmPlan& given, const WeightsLaunch& launch) {
  const RingTile& tile = weights_tiles[launch.tile];
  WeightsLaunch tiles = launch;
  const auto split = static_cast<uint32_t>(launch.split.blocks);
  ASSERT_EQ(0u, launch.blocks % split);
  tiles.blocks /= split;
  expect_law(given, tiles, tile, [&](uint32_t block) {
    return place_tile(launch.gemm, block, SmallTile{tile.rows, tile.cols});
  });
  ASSERT_LE(launch.gemm.n, tile.cols) << "one tile for all columns";
  int next = 0;
  for (int rank = 0; rank < launch.split.blocks; ++rank) {
    const WeightsShare share = weights_share(launch.split, launch.gemm.steps, rank);
    if (share.steps > 0) {
      ASSERT_EQ(next, share.first);
    }
    next += share.steps;
  }
  ASSERT_EQ(launch.gemm.steps, next);
  ASSERT_GE(launch.gemm.steps * tile.boxes * box_depth, given.k);
  ASSERT_GE(launch.gemm.places, 1);
}

TEST(WeightsGemm, KeepsTheLaw) {
  harness::Random random(8);
  int accepted = 0, split = 0;
  for (int i = 0; i < 4000 && !HasFatalFailure(); ++i) {
    auto problem = harness::random_gemm(random, 40);
    if (i % 2 == 0) {
      const auto number = [&](int64_t most, int64_t of) {
        return std::to_string(of * random.between(1, most));
      };
      problem = harness::parse_gemm("gemm f16 m=" + number(16, 1) + " n=" + number(1000, 8) +
                                    " k=" + number(1000, 8) + " batch=" + number(3, 1) +
                                    (i % 4 == 0 ? " b=t" : ""));
    }
    const GemmPlan given = make_gemm_plan(problem.c, problem.a, problem.b);
    const auto launch = make_weights_gemm(given, processors);
    if (!launch) continue;
    ++accepted;
    split += launch->split.blocks > 1;
    expect_law(given, *launch);
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(split, 100);
  EXPECT_LT(split, accepted - 100);
}

TEST(WeightsGemm, RingsFitIntoAProcessor) {
  for (const RingTile& tile : weights_tiles) {
    EXPECT_LE(weights_shared_bytes(tile, tile.alone, most_weights_split) + driver_bytes,
              processor_bytes);
    EXPECT_EQ(0, ring_piece_bytes(tile) % box_alignment);
    EXPECT_EQ(group_rows, tile.rows) << "one warpgroup adds the sums of the others";
    EXPECT_EQ(0, tile.cols % 8);
  }
}

TEST(WeightsGemm, PaysWhereItWasMeasuredFaster) {
  for (const char* text : {"gemm bf16 m=1 n=4096 k=4096", "gemm bf16 m=16 n=1024 k=4096 b=t",
                           "gemm f16 m=4096 n=4 k=11008 b=t", "gemm f16 m=8 n=8192 k=8192"}) {
    ASSERT_TRUE(weights_gemm_pays(plan_of(text), processors)) << text;
    EXPECT_GE(make_weights_gemm(plan_of(text), processors)->blocks, 64u) << text;
  }
  for (const char* text :
       {"gemm bf16 m=1 n=14336 k=4096", "gemm bf16 m=16 n=5120 k=5120",
        "gemm f16 m=1 n=3584 k=18944", "gemm f16 m=1 n=8192 k=28672", "gemm bf16 m=16 n=512 k=512"})
    EXPECT_FALSE(weights_gemm_pays(plan_of(text), processors)) << text;
}

TEST(WeightsGemm, DeclinesWhatItCannotDo) {
  for (const char* text : {"gemm f32 m=1 n=4096 k=4096", "gemm f16 m=17 n=4096 k=4096",
                           "gemm f16 m=1 n=4097 k=4096", "gemm f16 m=8 n=4096 k=4096 a=t"})
    EXPECT_FALSE(make_weights_gemm(plan_of(text), processors)) << text;
}

}  // namespace
}  // namespace infini::nvidia
