// infini plan: how a problem is understood and which candidate would run it.
#include <cstdio>

#include "base/error.h"
#include "harness/gemm/gemm_problem.h"
#include "harness/operators/operator_problem.h"
#include "harness/operators/operators.h"
#include "harness/rearrange/problem.h"
#include "ops/explain/explain.h"
#include "ops/planned.h"
#include "runtime/current_device.h"
#include "tools/commands.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

// One problem as it would be run.
struct Told {
  std::string problem;  // in full
  Planned planned;
  JsonObject json;      // its operands
  std::string verbose;  // lines for people
};

Told tell_rearrange(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  const Rearrange op(current_device(), problem.dst, problem.src);
  Told told{to_text(problem), planned(op), {}, {}};
  told.json.add_json("dst", layout_json(problem.dst)).add_json("src", layout_json(problem.src));
  told.verbose = "  dst  " + to_string(problem.dst) + "\n  src  " + to_string(problem.src) +
                 "\n\n" + explain(op) + "\n";
  return told;
}

Told tell_gemm(const std::string& text) {
  const auto problem = harness::parse_gemm(text);
  const Gemm op(current_device(), problem.c, problem.a, problem.b);
  Told told{to_text(problem), planned(op), {}, explain(op) + "\n"};
  told.json.add_json("c", layout_json(problem.c))
      .add_json("a", layout_json(problem.a))
      .add_json("b", layout_json(problem.b));
  return told;
}

Told tell_operator(const std::string& text) {
  const auto problem = harness::parse_operator(text);
  const Operator op(current_device(), make_plan(problem));
  Told told{to_text(problem), planned(op), {}, to_string(op.plan()) + "\n"};
  const FunctionFacts& facts = facts_of(problem.function);
  for (int i = 0; i < facts.operands; ++i)
    told.json.add_json(facts.names[i], layout_json(problem.operands[i]));
  return told;
}

Told tell(const std::string& text) {
  const std::string& name = harness::operator_of(text).name;
  return name == "gemm"        ? tell_gemm(text)
         : name == "rearrange" ? tell_rearrange(text)
                               : tell_operator(text);
}

}  // namespace

int run_plan(Arguments& arguments) {
  arguments.take_device();
  const ReportFile file(arguments, ReportFile::Prints::nothing);
  const bool all = arguments.take_flag("--all"), verbose = arguments.take_flag("--verbose");
  const auto problems = arguments.rest();
  require(!problems.empty(), INFINI_STATUS_BAD_PARAM,
          "plan needs a problem, e.g. infini plan \"rearrange f32 512x512x512 perm=2,0,1\"");
  std::vector<std::string> plans;
  for (const auto& text : problems) {
    Told told = tell(text);
    if (plans.empty()) std::printf("%s\n", machine_line().c_str());
    std::printf("\n%s\n\n%s%s", told.problem.c_str(), told.planned.picture.c_str(),
                choice_lines(told.planned).c_str());
    if (verbose) std::printf("\n%s", told.verbose.c_str());
    if (all) std::printf("\n%s", bid_lines(told.planned).c_str());
    plans.push_back(JsonObject()
                        .add("problem", told.problem)
                        .add_json("plan", told.json.add_all(json_of(told.planned)).text())
                        .text());
  }
  print_complaints();
  file.write(start_report("plan").add_json("plans", harness::json_array(plans)).text(), true);
  return 0;
}

}  // namespace infini::tools
