// The law of the fill schedules, where random layouts seldom are: runs of all lengths, touching and padded, around a
// block's share, from units in any order, at all places in their vectors.
#include "backends/gpu/rearrange/fill/schedule.h"

#include <gtest/gtest.h>

#include "backends/gpu/rearrange/fill/make_schedule.h"
#include "backends/gpu/rearrange/interpreter.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"

namespace infini::gpu {
namespace {

constexpr int64_t far = 1 << 20;  // bases lie far from address 0

RearrangePlan plan_of(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  return make_rearrange_plan(problem.dst, problem.src);
}

std::string run_once(const RearrangePlan& plan, const FillSchedule& schedule, int64_t dst_at,
                     int64_t src_at) {
  Interpreter interpreter(plan, far + dst_at, far + src_at);
  interpreter.run(schedule);
  return interpreter.verdict();
}

std::string list(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (const int64_t n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

TEST(Fill, KeepsTheLaw) {
  harness::Random random(31);
  const char* const dtypes[] = {"u8", "f16", "f32", "f64"};
  constexpr int64_t share = int64_t{fill_vectors} * vector_bytes;
  for (int i = 0; i < 1000; ++i) {
    const int64_t bytes = 1 << i % 4, kind = random.between(0, 5);
    const int64_t least = vector_bytes / bytes;
    const int64_t run = kind == 0   ? random.between(share / 2, share * 3) / bytes
                        : kind == 1 ? random.between(least, least + 3)
                                    : random.between(least, 300);
    const int64_t b = random.between(2, kind == 0 ? 3 : 60), a = random.between(2, 9);
    const int64_t gap = random.one_in(2) ? random.between(1, 20) : 0;
    const int64_t outer = random.one_in(2) ? random.between(1, 20) : 0;
    const int64_t pitch = run + gap;
    const std::string src = random.one_in(2) ? list({1, a, 0}) : list({-b - outer, 1, 0});
    const std::string text = std::string("rearrange ") + dtypes[i % 4] + " " + std::to_string(a) +
                             "x" + std::to_string(b) + "x" + std::to_string(run) +
                             " dst=" + list({b * pitch + outer, pitch, 1}) + " src=" + src;
    const RearrangePlan plan = plan_of(text);
    const int64_t at = bytes * random.between(0, 31);
    const auto schedule = make_fill_schedule(make_unit_nest(plan, static_cast<int>(bytes)));
    ASSERT_TRUE(schedule) << text;
    ASSERT_EQ(run_once(plan, *schedule, at, bytes * random.between(0, 31)), "")
        << text << " dst_at=" << at << "\n"
        << to_string(*schedule);
  }
}

// What makes it fast: where all runs touch, no vector is partial but the first and the last.
TEST(Fill, TouchingRunsAreOneStretch) {
  const auto of = [](const char* text) {
    return make_fill_schedule(make_unit_nest(plan_of(text), 16));
  };
  EXPECT_EQ(of("rearrange f16 60x70x151 src=1,60,0")->stretches, 1u);
  EXPECT_EQ(of("rearrange f16 60x70x151 dst=10571,151,1 src=1,60,0")->stretches, 60u);
  EXPECT_EQ(of("rearrange f16 60x70x151 dst=10640,152,1 src=1,60,0")->stretches, 4200u);
}

TEST(Fill, IsForRunsOfOneUnit) {
  const auto of = [](const char* text) {
    return make_fill_schedule(make_unit_nest(plan_of(text), 16));
  };
  EXPECT_TRUE(of("rearrange u8 5x16 src=1,0"));
  EXPECT_FALSE(of("rearrange u8 5x15 src=1,0"));  // a vector could know three runs
  EXPECT_FALSE(of("rearrange u8 5x40 dst=80,2 src=1,0"));
  EXPECT_FALSE(of("rearrange u8 40x50 perm=1,0"));
  EXPECT_FALSE(of("rearrange c128 5x40 src=1,0"));
}

TEST(Fill, AFaultIsSeen) {
  const auto plan = plan_of("rearrange f16 60x151 dst=160,1 src=1,0");
  auto schedule = *make_fill_schedule(make_unit_nest(plan, 16));
  ASSERT_EQ(run_once(plan, schedule, 0, 0), "");
  EXPECT_NE(run_once(plan, schedule, 1, 0), "");  // a base that the unit does not divide
  schedule.whole_run_bytes -= 2;
  EXPECT_NE(run_once(plan, schedule, 0, 0), "");
}

}  // namespace
}  // namespace infini::gpu
