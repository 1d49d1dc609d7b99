// infini plan: how a problem is understood and which candidate would run it.
#include <cstdio>

#include "harness/gemm_problem.h"
#include "harness/problem.h"
#include "ops/gemm.h"
#include "ops/rearrange.h"
#include "runtime/current_device.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

std::string indented(std::string lines) {
  for (size_t i = 0; (i = lines.find('\n', i)) != std::string::npos; i += 3) lines.insert(i + 1, "  ");
  return lines;
}

void print_candidate(const char* candidate, const std::string& schedule) {
  std::printf("candidate %s on %s\n", candidate, current_device().description().c_str());
  if (!schedule.empty()) std::printf("%s\n", schedule.c_str());
}

void print_gemm_plan(const std::string& text) {
  const auto problem = harness::parse_gemm(text);
  const Gemm op(current_device(), problem.c, problem.a, problem.b);
  std::printf("%s\n\nplan\n  %s\n\n", harness::to_text(problem).c_str(),
              indented(to_string(op.plan())).c_str());
  if (op.kernel() == nullptr) return;
  std::printf("%.4g FLOP, %.4g bytes at least, workspace %zu bytes\n", harness::flops(problem),
              harness::compulsory_bytes(problem), op.workspace_bytes());
  print_candidate(op.kernel()->candidate(), op.kernel()->schedule());
}

void print_plan(const std::string& text) {
  if (harness::is_gemm(text)) return print_gemm_plan(text);
  const auto problem = harness::parse_rearrange(text);
  const Rearrange op(current_device(), problem.dst, problem.src);
  const RearrangePlan plan = op.plan();
  std::printf("%s\n\n  dst  %s\n  src  %s\n\nplan\n", harness::to_text(problem).c_str(),
              to_string(problem.dst).c_str(), to_string(problem.src).c_str());
  std::printf("  %s\n\n", indented(to_string(plan)).c_str());
  if (op.kernel() == nullptr) return;
  std::printf("writes %lld bytes, reads %lld\n", static_cast<long long>(moved_bytes(plan)),
              static_cast<long long>(distinct_source_bytes(plan)));
  print_candidate(op.kernel()->candidate(), op.kernel()->schedule());
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
