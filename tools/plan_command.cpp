// infini plan: how a problem is understood and which candidate would run it.
#include <cstdio>

#include "base/error.h"
#include "harness/gemm_problem.h"
#include "harness/problem.h"
#include "ops/explain.h"
#include "runtime/current_device.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

std::string explain_gemm(const std::string& text) {
  const auto problem = harness::parse_gemm(text);
  return harness::to_text(problem) + "\n\n" +
         explain(Gemm(current_device(), problem.c, problem.a, problem.b));
}

std::string explain_rearrange(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  return harness::to_text(problem) + "\n\n  dst  " + to_string(problem.dst) + "\n  src  " +
         to_string(problem.src) + "\n\n" +
         explain(Rearrange(current_device(), problem.dst, problem.src));
}

}  // namespace

int run_plan(Arguments& arguments) {
  arguments.take_device();
  const auto problems = arguments.rest();
  require(!problems.empty(), INFINI_STATUS_BAD_PARAM,
          "plan needs a problem, e.g. infini plan \"rearrange f32 512x512x512 perm=2,0,1\"");
  for (const auto& text : problems)
    std::printf("%s%s\n", &text == &problems.front() ? "" : "\n",
                (harness::is_gemm(text) ? explain_gemm(text) : explain_rearrange(text)).c_str());
  return 0;
}

}  // namespace infini::tools
