// The harness itself: texts go both ways, the reference is right, and the check can fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "harness/gemm/gemm_check.h"
#include "harness/operators/operator_check.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/rearrange/reference.h"
#include "harness/rearrange/suites.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::harness {
namespace {

TEST(ProblemText, GoesBothWays) {
  Random random(9);
  for (int n = 0; n < 2000; ++n) {
    const std::string text = to_text(random_problem(random));
    EXPECT_EQ(text, to_text(parse_rearrange(text)));
  }
  for (const auto& text : curated_rearrange_cases()) EXPECT_NO_THROW(parse_rearrange(text)) << text;
  for (const auto& suite : suites())
    for (const auto& bench : suite.cases) {
      const std::string text = bench.problem;
      if (!text.starts_with("rearrange")) continue;
      EXPECT_NO_THROW(parse_rearrange(text)) << text;
    }
}

// Of any structure, deep, and mixed: valid, printable, not much larger than asked for; and among them what is hard to draw by chance:
// elements that move together whose columns, or only whose batches, lie at no multiple of them.
TEST(RandomProblems, AreValidAndPaddedOnPurpose) {
  Random random(17);
  int padded = 0;
  for (int n = 0; n < 6000; ++n) {
    const auto problem = n % 3 == 0   ? random_padded_problem(random, {.most_bytes = 1 << 14})
                         : n % 3 == 1 ? random_deep_problem(random)
                                      : random_mixed_problem(random, 16, 1 << 14);
    const std::string text = to_text(problem);
    ASSERT_EQ(text, to_text(parse_rearrange(text)));
    RearrangePlan plan;
    ASSERT_NO_THROW(plan = make_rearrange_plan(problem.dst, problem.src)) << text;
    const ByteRange dst = dst_range(plan), src = src_range(plan);
    ASSERT_LT(std::max(dst.end - dst.begin, src.end - src.begin), 64 << 20) << text;
    for (int i = 0; i < plan.depth; ++i)
      if (plan.atom_bytes <= 16 && plan.loops[i].dst_step % plan.atom_bytes != 0) {
        ++padded;
        break;
      }
  }
  EXPECT_GT(padded, 400);
}

// What is asked for is what is drawn.
TEST(RandomProblems, LieAsAskedFor) {
  Random random(18);
  for (int n = 0; n < 1000; ++n) {
    const PaddedShape shape{1 << 14, Structure::transpose, 8, 4, 2, -1, 16};
    const auto problem = random_padded_problem(random, shape);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    EXPECT_EQ(4, (problem.dst_at + plan.dst_offset) & 7) << to_text(problem);
    int64_t steps = 64;
    for (int i = 0; i < plan.depth; ++i) steps = std::gcd(steps, plan.loops[i].dst_step);
    EXPECT_EQ(2, steps) << to_text(problem);
  }
}

TEST(ProblemText, Permutation) {
  const auto problem = parse_rearrange("rearrange f32 2x3x4 perm=2,0,1");
  EXPECT_EQ("f32 4x2x3 strides 1,12,4", to_string(problem.src));
  EXPECT_EQ("f32 4x2x3 strides 6,3,1", to_string(problem.dst));
}

TEST(ProblemText, ErrorsQuoteWhatIsWrong) {
  const auto message_of = [](const char* text) -> std::string {
    try {
      parse_rearrange(text);
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(std::string::npos, message_of("rearrange f33 2x3").find("\"f33\" is not a dtype"));
  EXPECT_NE(std::string::npos, message_of("rearrange f32 2xa").find("\"a\" is not a whole number"));
  EXPECT_NE(std::string::npos, message_of("rearrange f32 2x3 dst=1").find("1 strides for 2 dims"));
  EXPECT_NE(std::string::npos, message_of("rearrange f32 2x3 perm=0,0").find("\"0,0\""));
  EXPECT_NE(std::string::npos, message_of("rearrange f32 2x3 foo=1").find("\"foo=1\""));
  EXPECT_NE(std::string::npos, message_of("").find("begin with rearrange or gemm"));
  EXPECT_NE(std::string::npos, message_of("rearrange f32 -2").find("negative"));
}

TEST(ProblemText, ContradictionsAreRefusedInAnyOrder) {
  const auto message_of = [](const char* text) -> std::string {
    try {
      is_gemm(text) ? void(parse_gemm(text)) : void(parse_rearrange(text));
      return "no error";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::pair<const char*, const char*> cases[] = {
      {"rearrange f32 2x3 src=1,2 perm=1,0", "perm and src exclude each other"},
      {"rearrange f32 2x3 perm=1,0 src=1,2", "perm and src exclude each other"},
      {"rearrange f32 2x3 dst=3,1 dst=1,2", "dst is given twice"},
      {"rearrange f32 2x3 perm=1,0 perm=0,1", "perm is given twice"},
      {"gemm f32 m=2 n=2 k=2 m=3", "m is given twice"},
      {"gemm f32 m=2 n=2 k=2 alpha=1 alpha=2", "alpha is given twice"},
      {"rearrange f32 2x3 src_at=4096", "src_at is 4096; expected 0..4095"},
      {"gemm f32 m=2 n=2 k=2 a_at=99999999999", "a_at is 99999999999; expected 0..4095"},
      {"gemm f32 m=2 n=2 k=2 c_at=-1", "c_at is -1; expected 0..4095"}};
  for (const auto& [text, expected] : cases)
    EXPECT_NE(std::string::npos, message_of(text).find(expected)) << message_of(text);
  // A permutation may be followed by the result's strides, and the other way round.
  EXPECT_EQ(to_text(parse_rearrange("rearrange f32 2x3 perm=1,0 dst=4,1")),
            to_text(parse_rearrange("rearrange f32 2x3 dst=4,1 perm=1,0")));
}

TEST(GemmProblem, FactorsAreWrittenAsTheyRead) {
  for (const double factor : {0x1p-36, 0.1, 1.0 / 3, 1e300, -2.5, HUGE_VAL})
    for (const char* key : {"alpha", "beta"}) {
      auto problem = parse_gemm("gemm f64 m=1 n=1 k=1");
      (key[0] == 'a' ? problem.alpha : problem.beta) = factor;
      const auto again = parse_gemm(to_text(problem));
      EXPECT_EQ(factor, key[0] == 'a' ? again.alpha : again.beta) << to_text(problem);
    }
}

TEST(GemmCheck, NumbersThatAreNoneAreComparedAsWhatTheyAre) {
  for (const char* text :
       {"gemm f32 m=2 n=3 k=4 alpha=nan", "gemm f32 m=2 n=3 k=4 beta=nan",
        "gemm f64 m=2 n=3 k=4 alpha=inf", "gemm f32 m=2 n=3 k=4 beta=-inf",
        "gemm f16 m=5 n=7 k=9 alpha=1e9", "gemm bf16 m=2 n=3 k=4 alpha=-nan beta=inf"})
    for (const auto values : {GemmValues::integers, GemmValues::random}) {
      const auto verdict = check(parse_gemm(text), values);
      EXPECT_TRUE(verdict.passed) << verdict.message;
    }
}

TEST(Images, SizesBeyond63BitsAreSaidAsTheyAre) {
  const auto verdict = check(parse_rearrange("rearrange u8 9223372036854775807"));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(std::string::npos, verdict.message.find("needs 92233720368547")) << verdict.message;
}

TEST(Reference, TransposesTheDocumentsExample) {
  const float x[] = {1, 2, 3, 4, 5, 6};
  float y[6];
  const auto problem = parse_rearrange("rearrange f32 2x3 dst=1,2");
  naive_rearrange(y, problem.dst, x, problem.src);
  EXPECT_EQ(std::vector<float>({1, 4, 2, 5, 3, 6}), std::vector<float>(y, y + 6));
}

TEST(Check, FailsWithAReproducer) {
  const auto verdict = check(parse_rearrange("rearrange f32 2x2 dst=1,1"));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(std::string::npos,
            verdict.message.find("infini check --device cpu \"rearrange f32 2x2 dst=1,1\""));
}

// Elements of sources may share memory: what is there at last is what the reference reads, too.
TEST(Check, ReadsSourcesWhoseElementsShareMemory) {
  for (const char* text :
       {"add f32 4x4 a=0,0 b=1,0", "silu f16 4x4 x=1,1", "rms_norm f32 4x4 x=0,1",
        "causal_softmax f32 4x4 x=0,0", "rope f32 4x4x4 x=4,0,1", "random_sample f32 9 probs=0",
        "convert i8 4x4 x_dtype=f32 x=0,1"}) {
    const auto verdict = check(parse_operator(text), 1, nullptr);
    EXPECT_TRUE(verdict.passed) << verdict.message;
  }
}

}  // namespace
}  // namespace infini::harness
