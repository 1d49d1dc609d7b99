// infini check: problems given, curated or random, compared with the naive reference.
#include <cstdio>

#include "base/error.h"
#include "harness/cases.h"
#include "harness/check.h"
#include "harness/gemm_cases.h"
#include "harness/gemm_check.h"
#include "harness/random_problems.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

struct Tally {
  int64_t passed = 0, failed = 0;
  double worst = 0;  // error ÷ bound of the gemms

  void add(const harness::Verdict& verdict) {
    ++(verdict.passed ? passed : failed);
    if (!verdict.passed) std::printf("FAILED %s\n", verdict.message.c_str());
  }

  void add_gemm(const harness::GemmProblem& problem, uint64_t seed) {
    for (auto values : {harness::GemmValues::integers, harness::GemmValues::random}) {
      const auto verdict = harness::check(problem, values, seed);
      add({verdict.passed, verdict.message});
      if (!(verdict.error_over_bound <= worst)) worst = verdict.error_over_bound;
    }
  }

  void add_text(const std::string& text) {
    if (harness::is_gemm(text))
      add_gemm(harness::parse_gemm(text), 1);
    else
      add(harness::check(harness::parse_rearrange(text)));
  }
};

}  // namespace

int run_check(Arguments& arguments) {
  arguments.take_device();
  const int64_t count = arguments.take_integer("--random", 0, 1);
  const int64_t seed = arguments.take_integer("--seed", 1, 0);
  const bool curated = arguments.take_flag("--curated"), large = arguments.take_flag("--large");
  const bool gemm = arguments.take_operator() == "gemm";
  const auto problems = arguments.rest();
  require(count > 0 || curated || !problems.empty(), INFINI_STATUS_BAD_PARAM,
          "check needs a problem, --curated or --random N; see `infini --help`");
  Tally tally;
  for (const auto& text : problems) tally.add_text(text);
  if (curated)
    for (const auto& text :
         gemm ? harness::curated_gemm_cases() : harness::curated_rearrange_cases())
      tally.add_text(text);
  harness::Random random(static_cast<uint64_t>(seed));
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint64_t>(i);
    if (gemm)
      tally.add_gemm(large ? harness::random_gemm(random, 700) : harness::random_gemm(random),
                     number);
    else
      tally.add(harness::check(
          large ? harness::random_wide_problem(random) : harness::random_problem(random), number));
  }
  if (tally.worst > 0) std::printf("largest error / bound: %.3f\n", tally.worst);
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(tally.passed),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace infini::tools
