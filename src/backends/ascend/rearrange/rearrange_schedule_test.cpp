// Schedules keep the plan's law (same pairs of bytes) and the chip's rules, and choose as an expert
// would.
#include "backends/ascend/rearrange/rearrange_schedule.h"
#include "base/environment.h"

#include <gtest/gtest.h>

#include <numeric>

#include "harness/choices.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/reference.h"

namespace infini::ascend {
namespace {

using harness::parse_rearrange;
using harness::RearrangeProblem;

using Bytes = std::vector<unsigned char>;

void run_nest(const Nest& nest, size_t depth, unsigned char* dst, const unsigned char* src) {
  if (depth == nest.loops.size()) {
    std::copy_n(src, nest.atom_bytes, dst);
    return;
  }
  const Loop& loop = nest.loops[depth];
  for (int64_t i = 0; i < loop.extent; ++i)
    run_nest(nest, depth + 1, dst + i * loop.dst_step, src + i * loop.src_step);
}

// What the schedule does to memory, step by step, on the host.
void run_on_host(const Schedule& schedule, unsigned char* dst, const unsigned char* src) {
  Bytes stages[2] = {Bytes(static_cast<size_t>(schedule.stage_bytes[0]), 0xEE),
                     Bytes(static_cast<size_t>(schedule.stage_bytes[1]), 0xEE)};
  for (const Step& step : schedule.steps) {
    auto place = [&](Place p, const unsigned char* client) {
      return p == Place::client ? const_cast<unsigned char*>(client)
                                : stages[p == Place::stage_0 ? 0 : 1].data();
    };
    run_nest(step.nest, 0, place(step.to, dst) + step.nest.dst_offset,
             place(step.from, src) + step.nest.src_offset);
  }
}

void expect_operator_rules(const Step& step, bool fast) {
  const OperatorView view = operator_view(step);
  ASSERT_LE(view.rank, max_operator_rank);
  EXPECT_EQ(step.nest.atom_bytes % step.element, 0);
  bool flips = false, repeats = false;
  for (int i = 0; i < view.rank; ++i) {
    EXPECT_GT(view.dst_strides[i], 0);
    EXPECT_GT(view.src_strides[i], 0);
    flips = flips || view.flipped[i];
    repeats = repeats || view.src_dims[i] != view.dims[i];
  }
  EXPECT_EQ(flips, step.method == Method::flip);
  EXPECT_FALSE(flips && repeats) << "a flip does not broadcast";
  for (const Loop& loop : step.nest.loops) {
    EXPECT_EQ(loop.dst_step % step.element, 0);
    EXPECT_EQ(loop.src_step % step.element, 0);
  }
  EXPECT_TRUE(!fast || ai_core_writes(view.rank, view.dims, view.dst_strides));
}

void expect_rules(const Schedule& schedule) {
  const bool fast = std::string(schedule.candidate) != "ai_cpu";
  for (const Step& step : schedule.steps) {
    const Nest& nest = step.nest;
    if (step.method == Method::copy) {
      EXPECT_EQ(step.outer, nest.loops.size());
    } else if (step.method == Method::copy_2d) {
      ASSERT_EQ(step.outer + 1, nest.loops.size());
      EXPECT_GE(nest.loops.back().dst_step, nest.atom_bytes);
      EXPECT_GE(nest.loops.back().src_step, nest.atom_bytes);
    } else {
      expect_operator_rules(step, fast);
    }
  }
}

Bytes numbered(ByteRange range) {
  Bytes bytes(static_cast<size_t>(range.end - range.begin));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 131 + i / 251);
  return bytes;
}

void expect_law(const RearrangeProblem& problem) {
  SCOPED_TRACE(to_text(problem));
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  if (plan.atom_bytes == 0) return;
  const ByteRange to = byte_range(problem.dst), from = byte_range(problem.src);
  const Bytes src = numbered(from);
  Bytes expected(static_cast<size_t>(to.end - to.begin), 0x55);
  harness::naive_rearrange(expected.data() - to.begin, problem.dst, src.data() - from.begin,
                           problem.src);
  for (int64_t alignment = 1; alignment <= natural_element(plan); alignment *= 2)
    for (const Schedule& schedule :
         {make_schedule(plan, alignment), make_engine_schedule(plan, alignment)}) {
      SCOPED_TRACE(std::string(schedule.candidate) + "\n" + to_string(schedule));
      expect_rules(schedule);
      Bytes dst(expected.size(), 0x55);
      run_on_host(schedule, dst.data() - to.begin, src.data() - from.begin);
      ASSERT_EQ(dst, expected);
    }
}

TEST(AscendSchedule, KeepsTheLawOnCuratedCases) {
  for (const auto& texts : {harness::curated_rearrange_cases(), harness::layout_cases()})
    for (const std::string& text : texts) {
      const RearrangeProblem problem = parse_rearrange(text);
      if (element_count(problem.dst) <= 1 << 20) expect_law(problem);
      if (HasFatalFailure()) return;
    }
}

TEST(AscendSchedule, KeepsTheLawOnRandomCases) {
  harness::Random random(7);
  for (int i = 0; i < 1500 && !HasFailure(); ++i)
    expect_law(harness::random_mixed_problem(random, 16, 16 << 10));
}

TEST(AscendSchedule, EveryCandidateKeepsTheLaw) {
  for (const char* name : {"copy!", "copy_2d!", "transpose!", "view_copy!", "flip!", "staged!",
                           "ai_cpu!", "engine!"}) {
    setenv("INFINI_ASCEND_REARRANGE", name, 1);
    reread_environment();
    harness::Random random(11);
    for (int i = 0; i < 200 && !HasFailure(); ++i)
      expect_law(harness::random_mixed_problem(random, 16, 16 << 10));
  }
  unsetenv("INFINI_ASCEND_REARRANGE");
  reread_environment();
}

Schedule scheduled(const char* text, const char* wanted = nullptr) {
  const RearrangeProblem problem = parse_rearrange(text);
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  return make_schedule(plan, natural_element(plan), {wanted, nullptr});
}
std::string candidate(const char* text) { return scheduled(text).candidate; }

TEST(AscendSchedule, ChoosesAsAnExpertWould) {
  EXPECT_EQ(candidate("rearrange f32 1024x1024"), "copy");
  EXPECT_EQ(candidate("rearrange f32 1024x1000 dst=1000,1 src=1024,1"), "copy_2d");
  EXPECT_EQ(candidate("rearrange f32 64x64x64 perm=2,0,1"), "transpose");
  EXPECT_EQ(candidate("rearrange f32 8x128x16x64 dst=131072,64,8192,1 src=131072,1024,64,1"),
            "transpose");
  EXPECT_EQ(candidate("rearrange f32 100x50 dst=50,1 src=1,200"), "view_copy");
  EXPECT_EQ(candidate("rearrange f32 1000 dst=2 src=1"), "view_copy");           // uniform step
  EXPECT_EQ(candidate("rearrange f16 100x100 dst=100,1 src=0,1"), "view_copy");  // broadcast
  EXPECT_EQ(candidate("rearrange f16 100x100 dst=100,1 src=100,-1"), "flip");
  EXPECT_EQ(candidate("rearrange f32 100x50 dst=200,2 src=50,1"), "staged");  // step and pitch
  EXPECT_EQ(
      candidate("rearrange f32 30x100x100x100 dst=8000000,80000,400,2 src=1000000,10000,100,1"),
      "ai_cpu");
}

// A changed choice is a line of a diff.
TEST(AscendSchedule, ChoiceIsTheGoldenOne) {
  EXPECT_EQ("", harness::compare_choices(
                    ASCEND_CHOICES_FOLDER "/assumed.txt",
                    [](const std::string& text) { return candidate(text.c_str()); }));
}

TEST(AscendSchedule, ShortRunsBecomeBytesToStayOnTheAiCore) {
  // Runs of 16 f32 are too short for the AI Core as int32; as 64 bytes they are not.
  const Schedule schedule = scheduled("rearrange f32 4x10x16 dst=1000,20,1 src=1,64,4");
  EXPECT_STREQ(schedule.candidate, "view_copy");
  EXPECT_EQ(schedule.steps[0].element, 2);
}

TEST(AscendSchedule, StepAndPitchTakesOneGatherAndTheShorterLoopOutside) {
  const Schedule schedule = scheduled("rearrange f32 7x500 dst=2000,2 src=1,7", "staged");
  ASSERT_EQ(schedule.steps.size(), 2u);
  EXPECT_EQ(launches(schedule.steps[0]), 1);
  EXPECT_EQ(launches(schedule.steps[1]), 7);
  EXPECT_EQ(schedule.stage_bytes[0], 7 * 500 * 4);
}

TEST(AscendSchedule, RanksAboveEightAreSplit) {
  const Schedule schedule = scheduled("rearrange u8 2x2x2x2x2x2x2x2x2x2 perm=9,0,8,1,7,2,6,3,5,4");
  EXPECT_GT(launches(schedule), 1);
  EXPECT_LE(launches(schedule), 8);
}

TEST(AscendSchedule, TheAiCoreRules) {
  auto writes = [](std::vector<int64_t> dims, std::vector<int64_t> strides) {
    return ai_core_writes(static_cast<int>(dims.size()), dims.data(), strides.data());
  };
  EXPECT_TRUE(writes({4, 5, 6}, {30, 6, 1}));
  EXPECT_TRUE(writes({4, 5, 6}, {1, 4, 20}));
  EXPECT_TRUE(writes({10, 7}, {9, 1}));
  EXPECT_TRUE(writes({10, 7}, {14, 2}));
  EXPECT_TRUE(writes({4, 10, 32}, {500, 40, 1}));
  EXPECT_FALSE(writes({4, 10, 31}, {500, 40, 1}));
  EXPECT_FALSE(writes({10, 7}, {20, 2}));
  EXPECT_FALSE(writes({10, 7}, {1, 20}));
  EXPECT_FALSE(writes({2, 2, 4, 10, 32}, {50000, 5000, 500, 40, 1}));
}

}  // namespace
}  // namespace infini::ascend
