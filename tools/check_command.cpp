// infini check: problems given, curated or random, compared with the naive reference.
#include <cstdio>

#include "base/error.h"
#include "harness/cases.h"
#include "harness/check.h"
#include "harness/random_problems.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

struct Tally {
  int64_t passed = 0, failed = 0;

  void add(const harness::Verdict& verdict) {
    ++(verdict.passed ? passed : failed);
    if (!verdict.passed) std::printf("FAILED %s\n", verdict.message.c_str());
  }
};

}  // namespace

int run_check(Arguments& arguments) {
  arguments.take_device();
  const int64_t count = arguments.take_integer("--random", 0);
  const int64_t seed = arguments.take_integer("--seed", 1);
  const bool curated = arguments.take_flag("--curated");
  const auto problems = arguments.rest();
  require(count > 0 || curated || !problems.empty(), INFINI_STATUS_BAD_PARAM,
          "check needs a problem, --curated or --random N; see `infini --help`");
  Tally tally;
  for (const auto& text : problems) tally.add(harness::check(harness::parse_rearrange(text)));
  if (curated)
    for (const auto& text : harness::curated_rearrange_cases())
      tally.add(harness::check(harness::parse_rearrange(text)));
  harness::Random random(static_cast<uint64_t>(seed));
  for (int64_t i = 0; i < count; ++i)
    tally.add(harness::check(harness::random_problem(random), static_cast<uint64_t>(i)));
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(tally.passed),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace infini::tools
