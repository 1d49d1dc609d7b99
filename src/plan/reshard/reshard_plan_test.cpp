// Reshard plans: texts, errors, single cases worked out by hand, and large meshes.
#include "plan/reshard/reshard_plan.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "base/error.h"
#include "plan/reshard/exchange.h"
#include "plan/reshard/reshard_text.h"
#include "plan/reshard/totals.h"

namespace infini {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_reshard(text);
  } catch (const Error& error) {
    EXPECT_NE(error.status(), INFINI_STATUS_INTERNAL_ERROR);
    return error.what();
  }
  return "accepted";
}

// Where the mark under the text points, counted from 0.
int marked(const std::string& text) {
  const std::string words = refusal(text);
  const size_t line = words.rfind("\n  ");
  if (line == std::string::npos || words.back() != '^') {
    ADD_FAILURE() << text << ": " << words;
    return -1;
  }
  return static_cast<int>(words.size() - line - 4);
}

TEST(ReshardText, ReadsAndWrites) {
  for (const char* text :
       {"f16 4096x11008 (2x4: block,cyclic:128) -> (8: replicate,block)", "f32 scalar (4:) -> (2:)",
        "i8 10x20 (2x3x4: block@2,cyclic:3@0) -> perm=1,0 (4 ranks 8: block,replicate)",
        "u8 0 (3: balanced) -> (3: sizes:0/0/0)",
        "f64 7 (2x2 ranks 3,1,0,2: sizes:1/0/5/1@1+0) -> (1: replicate)"})
    EXPECT_EQ(to_text(parse_reshard(text)), text);
  EXPECT_EQ(to_text(parse_reshard("  f16  8 ( 2 : block )->( 2:  replicate )  ")),
            "f16 8 (2: block) -> (2: replicate)");
}

TEST(ReshardText, PointsAtWhatIsWrong) {
  EXPECT_EQ(marked("f17 8 (2: block) -> (2: block)"), 0);
  EXPECT_EQ(marked("f16 8 (2 block) -> (2: block)"), 9);
  EXPECT_EQ(marked("f16 8 (2: blok) -> (2: block)"), 10);
  EXPECT_EQ(marked("f16 8 (2: cyclic) -> (2: block)"), 16);
  EXPECT_EQ(marked("f16 8 (2: block) => (2: block)"), 17);
  EXPECT_EQ(marked("f16 8x8 (2: block) -> (2: block)"), 17);
  EXPECT_EQ(marked("f16 8 (2: block) -> (2: block) more"), 31);
  EXPECT_EQ(marked("f16 8 (2: block,block) -> (2: block)"), 15);
  EXPECT_EQ(marked("f16 8 (2: block) -> perm=1 (2: block)"), 25);
  EXPECT_EQ(marked("f16 8 (2: sizes:1/2) -> (2: block)"), 10);
  EXPECT_EQ(marked("f16 8 (2: block@1) -> (2: block)"), 10);
  EXPECT_EQ(marked("f16 8 (0: block) -> (2: block)"), 10);
  EXPECT_EQ(marked("f16 99999999999999999999 (2: block) -> (2: block)"), 4);
  EXPECT_EQ(marked("f16 8x8 (2: block,block) -> (2: block,replicate)"), 12);
  EXPECT_EQ(marked("f16 8 (2 ranks 1,2,3: block) -> (2: block)"), 15);
  EXPECT_EQ(marked("f16 8 (2 ranks 1,1: block) -> (2: block)"), 20);
  EXPECT_EQ(marked(""), 0);
  EXPECT_NE(
      refusal("f64 4294967296x4294967296 (1: replicate,replicate) -> (1: replicate,replicate)")
          .find("2^63 - 1 bytes"),
      std::string::npos);
}

TEST(ReshardPlan, WhatIsThereStays) {
  const auto totals =
      totals_of(parse_reshard("f32 64x64 (4: block,replicate) -> (2x2: block@0+1,replicate)"));
  EXPECT_EQ(totals.wire_bytes, 0);
  EXPECT_EQ(totals.messages, 0);
  EXPECT_EQ(totals.local_bytes, 64 * 64 * 4);
}

// The local part is one strided copy, and so is every message, where blocks fall into turns.
TEST(ReshardPlan, PeriodicPiecesAreOneBox) {
  for (const char* text :
       {"f32 4096x4096 (2x2: cyclic:64,cyclic:64) -> (2x2: block,block)",
        "f32 4096x4096 (2x4: cyclic:32,cyclic:64) -> (4x2: cyclic:64,cyclic:16)",
        "f32 4096x4096 (2x2: block,block) -> perm=1,0 (4: cyclic:8,replicate)"}) {
    const ReshardPlan plan = parse_reshard(text);
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const RankPlan own = plan.plan_of(rank);
      EXPECT_LE(own.local.boxes, 1u) << text;
      for (const Message& message : own.sends) EXPECT_EQ(message.boxes, 1u) << text;
    }
  }
}

TEST(ReshardPlan, ReplicasShareTheWork) {
  // Two replicas, one rank elsewhere that needs everything: each sends a half.
  const ReshardPlan plan = parse_reshard("f32 1000 (2: replicate) -> (1 ranks 2: block)");
  EXPECT_EQ(totals_of(plan, 0).sent_bytes, 2000);
  EXPECT_EQ(totals_of(plan, 1).sent_bytes, 2000);
  EXPECT_EQ(totals_of(plan, 2).receives, 2);
}

TEST(ReshardPlan, WireOrderLetsOneSideOnlyCopy) {
  // The source's rows leave whole: nothing needs packing in its own order.
  EXPECT_EQ(parse_reshard("f32 64x64 (4: block,replicate) -> perm=1,0 (2x2: replicate,block@0+1)")
                .wire_order(),
            (std::vector<int>{1, 0}));
  EXPECT_EQ(parse_reshard("f32 64x64 (4: block,replicate) -> perm=1,0 (1: replicate,replicate)")
                .wire_order(),
            (std::vector<int>{0, 1}));
}

TEST(ReshardPlan, HashTellsPlansApart) {
  const char* text = "f16 64x64 (2x2: block,cyclic:8) -> (4: replicate,block)";
  EXPECT_EQ(parse_reshard(text).hash(), parse_reshard(text).hash());
  for (const char* other : {"f16 64x64 (2x2: block,cyclic:4) -> (4: replicate,block)",
                            "bf16 64x64 (2x2: block,cyclic:8) -> (4: replicate,block)",
                            "f16 64x64 (2x2: block,cyclic:8) -> (4: block,replicate)",
                            "f16 64x64 (2x2: block,cyclic:8) -> perm=1,0 (4: replicate,block)"})
    EXPECT_NE(parse_reshard(text).hash(), parse_reshard(other).hash()) << other;
}

TEST(ReshardPlan, StridesOfShardsAreTheCallers) {
  const ReshardPlan plan = parse_reshard("f32 4x6 (2: block,replicate) -> (2: replicate,block)");
  ShardStrides strides;
  strides.src = {1, 2};  // column-major
  const RankPlan own = plan.plan_of(0, strides);
  ASSERT_EQ(own.sends.size(), 1u);
  EXPECT_EQ(own.boxes[own.sends[0].first_box].src_start, 6);
  strides.src = {1};
  EXPECT_THROW(plan.plan_of(0, strides), Error);
  EXPECT_THROW(plan.plan_of(2), Error);
}

// Totals of the closed form are those of the messages, also where replicas share.
TEST(ReshardTotals, AreThoseOfTheMessages) {
  for (const char* text : {"u8 60x70 (3x4: cyclic:7,block) -> (2x5: block,cyclic:3)",
                           "u8 60x70 (3x4: cyclic:7,replicate) -> (2x5: replicate,block@1)",
                           "u8 9x8x7 (2x3: block@1,replicate,replicate) -> perm=2,0,1 (7 ranks 1: "
                           "block,replicate,replicate)"}) {
    const ReshardPlan plan = parse_reshard(text);
    ReshardTotals sum;
    for (int rank = 0; rank < plan.ranks(); ++rank) {
      const RankPlan own = plan.plan_of(rank);
      const RankTotals totals = totals_of(plan, rank);
      int64_t sent = 0, received = 0;
      for (const Message& message : own.sends) sent += message.elements;
      for (const Message& message : own.receives) received += message.elements;
      EXPECT_EQ(totals.sends, static_cast<int64_t>(own.sends.size())) << text;
      EXPECT_EQ(totals.receives, static_cast<int64_t>(own.receives.size())) << text;
      EXPECT_EQ(totals.sent_bytes, sent) << text;
      EXPECT_EQ(totals.received_bytes, received) << text;
      EXPECT_EQ(totals.local_bytes, own.local.elements) << text;
      sum.wire_bytes += sent;
    }
    EXPECT_EQ(totals_of(plan).wire_bytes, sum.wire_bytes) << text;
  }
}

TEST(ReshardTotals, TimeIsThatOfTheSlowestRank) {
  const ReshardPlan plan = parse_reshard("u8 1000 (2: block) -> (2: replicate)");
  Network network;
  network.latency = 1;
  network.bandwidth = 100;
  EXPECT_DOUBLE_EQ(expected_time(plan, network).seconds, 1 + 5.0);
  network.node = 2;
  network.inner_latency = 2;
  network.inner_bandwidth = 500;
  EXPECT_DOUBLE_EQ(expected_time(plan, network).seconds, 2 + 1.0);
  network.memory = 10;
  EXPECT_DOUBLE_EQ(expected_time(plan, network).seconds, 150);
}

// A thousand ranks on both sides in any way: the tables stay small, a rank's plan is made alone.
TEST(ReshardPlan, ThousandsOfRanks) {
  for (const char* text : {"bf16 512x512x512x64 (4x16x16: block,block,cyclic:4,replicate) -> "
                           "(16x8x8: replicate,block,block,cyclic:8)",
                           "bf16 1048576x8x8x8 (1024: cyclic:3,replicate,replicate,replicate) -> "
                           "(1024: block,replicate,replicate,replicate)",
                           "bf16 128x128x128x128 (32x32: block,block,replicate,replicate) -> "
                           "perm=3,1,0,2 (32x32: block@0,replicate,cyclic:1@1,replicate)",
                           "bf16 4096x4096x4x4 (8x4x32: replicate,block@2,replicate,replicate) -> "
                           "(1024: block,replicate,replicate,replicate)"}) {
    const auto before = mallinfo2();
    const ReshardPlan plan = parse_reshard(text);
    const ReshardTotals totals = totals_of(plan);
    const auto after = mallinfo2();
    EXPECT_LT(static_cast<int64_t>(after.uordblks + after.hblkhd) -
                  static_cast<int64_t>(before.uordblks + before.hblkhd),
              100 << 20)
        << text;
    EXPECT_GT(totals.wire_bytes, 0) << text;
    const RankPlan own = plan.plan_of(1023);
    int64_t received = own.local.elements;
    for (const Message& message : own.receives) received += message.elements;
    int64_t shard = 1;
    for (const int64_t size : plan.dst_shape(1023)) shard *= size;
    EXPECT_EQ(received, shard) << text;
  }
}

}  // namespace
}  // namespace infini
