// Which candidate is taken for each of many products on the processors whose facts we know: golden files. They are the same
// on every machine.
#include "backends/cpu/gemm/choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/law_test.h"
#include "harness/choices.h"
#include "harness/gemm/gemm_cases.h"
#include "harness/gemm/gemm_problem.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini::cpu {
namespace {

GemmPlan plan_of(const std::string& text) {
  const auto problem = harness::parse_gemm(text);
  return fold_batch(make_gemm_plan(problem.c, problem.a, problem.b));
}

#if defined(__x86_64__)

struct Known {
  const char* profile;
  Isa isa;
  bool pairs, matrix;
};
class GemmChoice : public testing::TestWithParam<Known> {
 protected:
  GemmTarget target(const GemmPlan& plan, int threads) const {
    GemmTarget made = target_of(facts_, GetParam().isa, threads);
    made.pairs = GetParam().pairs && plan.a.dtype == INFINI_DTYPE_BF16;
    made.matrix = GetParam().matrix;
    return made;
  }
  std::string file() const {
    return std::string(GEMM_CHOICES_FOLDER "/") + GetParam().profile + ".txt";
  }

  const Machine facts_ = profile(GetParam().profile);
};

TEST_P(GemmChoice, IsTheGoldenOne) {
  const auto choose = [&](const std::string& text) {
    const GemmPlan plan = plan_of(text);
    return std::string(cheapest_gemm(target(plan, 2), plan));
  };
  EXPECT_EQ("", harness::compare_choices(file(), choose));
}

// The bits depend on the choice and must not depend on the threads. Limits spare work and change nothing.
TEST_P(GemmChoice, DependsOnNeitherThreadsNorLimits) {
  std::ifstream golden(file());
  std::string candidate, text;
  int lines = 0;
  for (; golden >> candidate && std::getline(golden >> std::ws, text); ++lines) {
    const GemmPlan plan = plan_of(text);
    for (const GemmCost& cost : gemm_costs()) {
      const double time = cost.nanoseconds(target(plan, 2), plan, INFINITY);
      EXPECT_EQ(time, cost.nanoseconds(target(plan, 2), plan, time * 1.001)) << cost.name << text;
      for (const int threads : {1, 16})
        EXPECT_EQ(time, cost.nanoseconds(target(plan, threads), plan, INFINITY))
            << cost.name << text;
    }
  }
  EXPECT_GT(lines, 200);
}

INSTANTIATE_TEST_SUITE_P(Cpu, GemmChoice,
                         testing::Values(Known{"ice_lake", Isa::avx512, false, false},
                                         Known{"sapphire_rapids", Isa::avx512, true, true},
                                         Known{"zen4", Isa::avx512, true, false},
                                         Known{"zen5", Isa::avx512, true, false},
                                         Known{"generic", Isa::avx2, false, false}),
                         [](const auto& known) { return std::string(known.param.profile); });

#endif

// What is computed without kernels is what the device takes with them.
TEST(GemmChoice, IsThatOfTheDevice) {
  if (isa() == Isa::avx512 && machine().onednn_rate > 1)
    GTEST_SKIP() << "a library may compute here";
  harness::Random random(17);
  for (int i = 0; i < 100; ++i) {
    const auto p = harness::random_dense_gemm(random);
    const GemmPlan plan = fold_batch(make_gemm_plan(p.c, p.a, p.b));
    EXPECT_STREQ(cheapest_gemm(gemm_target(plan), plan),
                 Gemm(current_device(), p.c, p.a, p.b).kernel()->candidate())
        << to_text(p);
  }
}

}  // namespace
}  // namespace infini::cpu
