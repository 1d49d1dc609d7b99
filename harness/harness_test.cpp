// The harness itself: texts go both ways, the reference is right, and the check can fail.
#include <gtest/gtest.h>

#include "base/error.h"
#include "harness/cases.h"
#include "harness/check.h"
#include "harness/random_problems.h"
#include "harness/reference.h"
#include "harness/suites.h"

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

}  // namespace
}  // namespace infini::harness
