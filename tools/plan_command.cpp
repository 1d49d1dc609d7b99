// infini plan: how a problem is understood and which candidate would run it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/environment.h"
#include "base/error.h"
#include "harness/gemm_problem.h"
#include "harness/problem.h"
#include "ops/explain.h"
#include "runtime/current_device.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

using Lines = std::vector<BidLine>;

std::string explain_gemm(const std::string& text, Lines* lines) {
  const auto problem = harness::parse_gemm(text);
  return harness::to_text(problem) + "\n\n" +
         explain(Gemm(current_device(), problem.c, problem.a, problem.b, default_gemm_options(),
                      {nullptr, lines}));
}

std::string explain_rearrange(const std::string& text, Lines* lines) {
  const auto problem = harness::parse_rearrange(text);
  return harness::to_text(problem) + "\n\n  dst  " + to_string(problem.dst) + "\n  src  " +
         to_string(problem.src) + "\n\n" +
         explain(Rearrange(current_device(), problem.dst, problem.src, {nullptr, lines}));
}

// Every candidate with its bid, or why it cannot; the cheapest first.
void print_bids(Lines lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const BidLine& a, const BidLine& b) {
    return a.nanoseconds < b.nanoseconds;
  });
  std::printf("\ncandidates, by the time that each expects\n");
  for (const BidLine& line : lines)
    if (std::isfinite(line.nanoseconds))
      std::printf("  %-12s %12.3f us\n", line.name.c_str(), line.nanoseconds * 1e-3);
    else
      std::printf("  %-12s %12s     %s\n", line.name.c_str(), "cannot", line.why_not.c_str());
}

}  // namespace

int run_plan(Arguments& arguments) {
  arguments.take_device();
  const bool all = arguments.take_flag("--all");
  const auto problems = arguments.rest();
  require(!problems.empty(), INFINI_STATUS_BAD_PARAM,
          "plan needs a problem, e.g. infini plan \"rearrange f32 512x512x512 perm=2,0,1\"");
  for (const auto& text : problems) {
    Lines lines;
    Lines* const told = all ? &lines : nullptr;
    const std::string words =
        harness::is_gemm(text) ? explain_gemm(text, told) : explain_rearrange(text, told);
    std::printf("%s%s\n", &text == &problems.front() ? "" : "\n", words.c_str());
    if (all) print_bids(lines);
  }
  print_complaints();
  return 0;
}

}  // namespace infini::tools
