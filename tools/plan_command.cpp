// infini plan: how a problem is understood and which candidate would run it.
#include <cstdio>

#include "harness/problem.h"
#include "ops/rearrange.h"
#include "runtime/current_device.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

void print_plan(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  const Rearrange op(current_device(), problem.dst, problem.src);
  const RearrangePlan plan = op.plan();
  std::printf("%s\n\n  dst  %s\n  src  %s\n\nplan\n", harness::to_text(problem).c_str(),
              to_string(problem.dst).c_str(), to_string(problem.src).c_str());
  std::string lines = to_string(plan);
  for (size_t i = 0; (i = lines.find('\n', i)) != std::string::npos; i += 3) lines.insert(i + 1, "  ");
  std::printf("  %s\n\n", lines.c_str());
  if (op.kernel() == nullptr) return;
  std::printf("writes %lld bytes, reads %lld\ncandidate %s on %s\n",
              static_cast<long long>(moved_bytes(plan)),
              static_cast<long long>(distinct_source_bytes(plan)), op.kernel()->candidate(),
              current_device().description().c_str());
  const std::string schedule = op.kernel()->schedule();
  if (!schedule.empty()) std::printf("%s\n", schedule.c_str());
}

}  // namespace

int run_plan(Arguments& arguments) {
  arguments.take_device();
  const auto problems = arguments.rest();
  require(!problems.empty(), INFINI_STATUS_BAD_PARAM,
          "plan needs a problem, e.g. infini plan \"rearrange f32 512x512x512 perm=2,0,1\"");
  for (const auto& text : problems) print_plan(text);
  return 0;
}

}  // namespace infini::tools
