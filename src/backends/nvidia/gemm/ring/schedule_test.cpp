// The ring gemm schedule: its law, its memory, its descriptors and its choice, without a GPU.
#include "backends/nvidia/gemm/ring/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "backends/nvidia/gemm/tile_law_test.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::nvidia {
namespace {

void expect_law(const GemmPlan& given, const RingLaunch& launch) {
  const RingTile& tile = ring_tiles[launch.tile];
  const auto team = launch.in_teams ? tile.team : no_team;
  expect_law(given, launch, tile,
             [&](uint32_t block) { return place_in_team(launch.gemm, block, tile, team); });
}

TEST(RingGemm, KeepsTheLawOnRandomProducts) {
  harness::Random random(6);
  int accepted = 0, teams = 0;
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    const auto problem = harness::random_gemm(random, i % 20 == 0 ? 300 : 40);
    const GemmPlan given = make_gemm_plan(problem.c, problem.a, problem.b);
    if (given.batch * given.m * given.n * given.k == 0) continue;
    const auto launch = make_ring_gemm(given, processors);
    if (!launch) continue;
    ++accepted;
    teams += launch->in_teams;
    expect_law(given, *launch);
    const RingTile& tile = ring_tiles[launch->tile];
    EXPECT_GE(launch->gemm.steps * tile.boxes * box_depth, given.k);
    EXPECT_GE(launch->gemm.places, 1);
    EXPECT_LE(launch->gemm.places, launch->gemm.steps);
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(teams, 50);
  EXPECT_LT(teams, accepted - 5);
}

// Together the blocks of a team order all that each of them needs.
TEST(RingGemm, TeamsShareTheirBoxes) {
  for (const RingTile& tile : ring_tiles)
    for (const bool k_inside : {true, false})
      for (const auto& [extent, parts] :
           {std::pair(tile.rows, tile.team.cols), std::pair(tile.cols, tile.team.rows)}) {
        const int lines = ring_box_lines(extent, parts, k_inside),
                  boxes = k_inside ? 1 : std::max(1, extent / ring_strip / parts);
        EXPECT_EQ(box_bytes(extent), parts * boxes * lines * box_line_bytes);
        EXPECT_EQ(0, lines * box_line_bytes % box_alignment);
      }
}

TEST(RingGemm, RingsFitIntoAProcessor) {
  for (const RingTile& tile : ring_tiles) {
    EXPECT_LE(ring_shared_bytes(tile, tile.alone) + driver_bytes, processor_bytes);
    EXPECT_LE(ring_shared_bytes(tile, tile.team.places) + driver_bytes, processor_bytes);
    EXPECT_LE(2 * (ring_shared_bytes(tile, tile.beside) + driver_bytes), processor_bytes);
    EXPECT_EQ(0, ring_piece_bytes(tile) % box_alignment);
    EXPECT_EQ(0, box_bytes(tile.rows) % box_alignment);
    EXPECT_LE(std::max(tile.rows, tile.cols), 256) << "what the engine takes as a box";
    EXPECT_EQ(0, tile.rows % group_rows);
    EXPECT_EQ(0, tile.cols % ring_strip);
  }
}

// Where the units look for element (x, k) of an instruction's operand, as NVIDIA documents it: the
// address that the descriptor's steps give, with bits 4 to 6 xored with bits 7 to 9.
uint32_t place_by_units(uint64_t descriptor, int x, int k, bool k_inside) {
  const auto field = [&](int bit) {
    return static_cast<uint32_t>(descriptor >> bit & 0x3fff) << 4;
  };
  const auto start = field(0), strip_step = field(16), block_step = field(32);
  const auto at = static_cast<uint32_t>(
      k_inside ? start + x / 8 * block_step + x % 8 * 128 + k * 2
               : start + x / 64 * strip_step + k / 8 * block_step + k % 8 * 128 + x % 64 * 2);
  return at ^ (at >> 7 & 7) << 4;
}

TEST(RingGemm, UnitsFindWhatTheEngineHasPut) {
  constexpr uint32_t base = 5 * box_alignment;
  for (const bool k_inside : {true, false})
    for (const int extent : {64, 128, 192}) {
      std::set<uint32_t> places;
      const uint64_t descriptor = units_descriptor(base, k_inside);
      EXPECT_EQ(1u, descriptor >> 62) << "swizzled lines of 128 bytes";
      for (int x = 0; x < extent; ++x)
        for (int k = 0; k < box_depth; ++k) {
          const uint64_t there = descriptor + k / unit_depth * units_step(k_inside);
          const uint32_t place = place_in_ring(x, k, k_inside);
          EXPECT_EQ(base + place, place_by_units(there, x, k % unit_depth, k_inside));
          places.insert(place);
        }
      EXPECT_EQ(places.size(), static_cast<size_t>(extent) * box_depth);
      EXPECT_LT(*places.rbegin(), static_cast<uint32_t>(box_bytes(extent)));
    }
}

TEST(RingGemm, PaysWhereItWasMeasuredFaster) {
  for (const char* text :
       {"gemm bf16 m=256 n=256 k=256", "gemm bf16 m=512 n=512 k=512",
        "gemm f16 m=640 n=640 k=640 a=t b=t", "gemm bf16 m=768 n=768 k=768 c=t",
        "gemm f16 m=1024 n=1024 k=1024", "gemm bf16 m=1152 n=1152 k=1152",
        "gemm f16 m=736 n=736 k=736", "gemm f16 m=1280 n=1280 k=1280 out=f32",
        "gemm bf16 m=256 n=256 k=256 batch=8", "gemm bf16 m=128 n=128 k=64 batch=256",
        "gemm f16 m=512 n=2048 k=512", "gemm bf16 m=64 n=4096 k=1024",
        "gemm bf16 m=608 n=608 k=608", "gemm f16 m=992 n=992 k=992",
        "gemm bf16 m=64 n=96 k=128 batch=32", "gemm f16 m=600 n=600 k=600",
        "gemm bf16 m=808 n=808 k=808 a=t", "gemm bf16 m=1200 n=1200 k=1200"})
    EXPECT_TRUE(ring_gemm_pays(plan_of(text), processors)) << text;
  for (const char* text :
       {"gemm f16 m=128 n=128 k=128", "gemm f16 m=192 n=192 k=192", "gemm bf16 m=904 n=904 k=904",
        "gemm bf16 m=1000 n=1000 k=1000", "gemm bf16 m=256 n=4096 k=1024",
        "gemm bf16 m=1248 n=1248 k=1248", "gemm f32 m=640 n=640 k=640",
        "gemm f16 m=1216 n=1216 k=1216", "gemm f16 m=4096 n=4096 k=4096",
        "gemm bf16 m=1 n=4096 k=4096", "gemm bf16 m=64 n=1024 k=4096",
        "gemm bf16 m=512 n=2048 k=2048", "gemm bf16 m=512 n=512 k=64 batch=32",
        "gemm f16 m=800 n=800 k=800", "gemm f16 m=1120 n=1120 k=1120",
        "gemm bf16 m=16 n=2048 k=512", "gemm f16 m=248 n=248 k=248"})
    EXPECT_FALSE(ring_gemm_pays(plan_of(text), processors)) << text;
}

TEST(RingGemm, DeclinesWhatTheEngineCannotRead) {
  for (const char* text : {"gemm f32 m=64 n=64 k=64", "gemm f16 m=64 n=64 k=65",
                           "gemm f16 m=64 n=65 k=64", "gemm f16 m=64 n=64 k=64 a=128,2"})
    EXPECT_FALSE(make_ring_gemm(plan_of(text), processors)) << text;
  EXPECT_TRUE(make_ring_gemm(plan_of("gemm f16 m=63 n=64 k=65 a=72,1"), processors));
}

}  // namespace
}  // namespace infini::nvidia
