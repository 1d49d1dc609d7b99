// infini plan: how a problem is understood and which candidate would run it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "harness/gemm_problem.h"
#include "harness/problem.h"
#include "ops/explain.h"
#include "runtime/current_device.h"
#include "tools/commands.h"
#include "tools/kernel_words.h"
#include "tools/plan_picture.h"
#include "tools/report.h"

namespace infini::tools {
namespace {

using harness::JsonObject;
using Lines = std::vector<BidLine>;

// One problem as it would be run.
struct Planned {
  std::string problem;                  // in full
  std::string picture, moves, verbose;  // texts for people
  std::string candidate, schedule;      // empty: nothing to do
  Lines bids = {};                      // the cheapest first
  double copy_nanoseconds = 0;          // expected of a copy of as many bytes; 0: nobody knows
  JsonObject json = {};                 // what is known of the plan
};

// Some lists of candidates are still ordered by rules, and bid their rank. Nothing takes a few nanoseconds, and
// nothing moves 4 TB a second.
bool is_a_time(double nanoseconds, double bytes) {
  return std::isfinite(nanoseconds) && nanoseconds >= std::max(15.0, bytes / 4000) &&
         nanoseconds < 1e14;
}

const BidLine* find_bid(const Lines& bids, const std::string& candidate) {
  const auto found = std::find_if(bids.begin(), bids.end(),
                                  [&](const BidLine& bid) { return bid.name == candidate; });
  return found == bids.end() ? nullptr : &*found;
}

void sort_bids(Lines& bids) {
  std::stable_sort(bids.begin(), bids.end(), [](const BidLine& a, const BidLine& b) {
    return a.nanoseconds < b.nanoseconds;
  });
}

// What a plain copy would bid for as many bytes.
double copy_nanoseconds(int64_t bytes) {
  const size_t shape[] = {static_cast<size_t>(bytes)};
  const Layout line = make_layout(INFINI_DTYPE_U8, 1, shape, nullptr);
  Lines bids;
  const Rearrange copy(current_device(), line, line, {nullptr, &bids});
  const BidLine* bid = copy.kernel() ? find_bid(bids, copy.kernel()->candidate()) : nullptr;
  return bid && is_a_time(bid->nanoseconds, 2 * static_cast<double>(bytes)) ? bid->nanoseconds : 0;
}

std::string layout_json(const Layout& layout) {
  std::vector<std::string> shape, strides;
  for (int i = 0; i < layout.rank; ++i) {
    shape.push_back(std::to_string(layout.shape[i]));
    strides.push_back(std::to_string(layout.strides[i]));
  }
  const auto list = [](const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + item;
    return "[" + text + "]";
  };
  return JsonObject()
      .add("dtype", dtype_name(layout.dtype))
      .add_json("shape", list(shape))
      .add_json("strides", list(strides))
      .text();
}

std::string loops_json(const RearrangePlan& plan) {
  std::string text;
  for (int i = 0; i < plan.depth; ++i)
    text += (i ? ", " : "") + JsonObject()
                                  .add("extent", plan.loops[i].extent)
                                  .add("dst_step", plan.loops[i].dst_step)
                                  .add("src_step", plan.loops[i].src_step)
                                  .text();
  return "[" + text + "]";
}

template <class Operator>
void take_choice(const Operator& op, Planned& planned) {
  if (op.kernel() == nullptr) return;
  planned.candidate = op.kernel()->candidate();
  planned.schedule = op.kernel()->schedule();
}

Planned plan_rearrange(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  Planned planned{.problem = to_text(problem)};
  const Rearrange op(current_device(), problem.dst, problem.src, {nullptr, &planned.bids});
  const RearrangePlan plan = op.plan();
  const Runs runs = runs_of(plan);
  planned.picture = picture_of(plan);
  planned.verbose = "  dst  " + to_string(problem.dst) + "\n  src  " + to_string(problem.src) +
                    "\n\n" + explain(op) + "\n";
  take_choice(op, planned);
  if (op.kernel() != nullptr) planned.copy_nanoseconds = copy_nanoseconds(moved_bytes(plan));
  planned.json.add_json("dst", layout_json(problem.dst))
      .add_json("src", layout_json(problem.src))
      .add_json("loops", loops_json(plan))
      .add("atom_bytes", plan.atom_bytes)
      .add("bytes_written", moved_bytes(plan))
      .add("bytes_read", distinct_source_bytes(plan))
      .add("dst_run_bytes", runs.dst)
      .add("src_run_bytes", runs.src);
  return planned;
}

Planned plan_gemm(const std::string& text) {
  const auto problem = harness::parse_gemm(text);
  Planned planned{.problem = to_text(problem)};
  const Gemm op(current_device(), problem.c, problem.a, problem.b, default_gemm_options(),
                {nullptr, &planned.bids});
  const double flops = harness::flops(problem), bytes = harness::compulsory_bytes(problem);
  char line[200];
  std::snprintf(line, sizeof line,
                "\n  %-11s %.4g MFLOP, %s at least: %.3g FLOP a byte\n  %-11s %s\n", "work",
                flops * 1e-6, bytes_text(static_cast<int64_t>(bytes)).c_str(),
                flops / std::max(bytes, 1.0), "workspace",
                bytes_text(static_cast<int64_t>(op.workspace_bytes())).c_str());
  planned.picture = picture_of(op.plan());
  planned.moves = line;
  planned.verbose = explain(op) + "\n";
  take_choice(op, planned);
  planned.json.add_json("c", layout_json(problem.c))
      .add_json("a", layout_json(problem.a))
      .add_json("b", layout_json(problem.b))
      .add("flops", flops)
      .add("bytes", bytes)
      .add("workspace_bytes", op.workspace_bytes());
  return planned;
}

// Every candidate with its bid, or why it cannot; the cheapest first.
void print_bids(const Lines& bids) {
  std::printf("\ncandidates, by the time that each expects\n");
  for (const BidLine& bid : bids)
    if (std::isfinite(bid.nanoseconds))
      std::printf("  %-14s %12.3f us\n", bid.name.c_str(), bid.nanoseconds * 1e-3);
    else
      std::printf("  %-14s %12s     %s\n", bid.name.c_str(), "cannot", bid.why_not.c_str());
}

// The chosen one, what it expects, and what the next best would.
void print_choice(const Planned& planned) {
  if (planned.candidate.empty()) return;
  const std::string words = kernel_words(planned.candidate);
  std::printf("  kernel      %s%s%s\n", planned.candidate.c_str(), words.empty() ? "" : ": ",
              words.c_str());
  const BidLine* const bid = find_bid(planned.bids, planned.candidate);
  if (bid == nullptr || !is_a_time(bid->nanoseconds, 0)) return;
  std::printf("  expected    %s", time_text(bid->nanoseconds * 1e-9).c_str());
  if (planned.copy_nanoseconds > 0)
    std::printf(", %.2f of a copy's speed", planned.copy_nanoseconds / bid->nanoseconds);
  int others = 0;
  for (const BidLine& other : planned.bids)
    if (&other != bid && is_a_time(other.nanoseconds, 0) && ++others <= 3)
      std::printf("%s%s %s", others == 1 ? "; " : ", ", other.name.c_str(),
                  time_text(other.nanoseconds * 1e-9).c_str());
  std::printf("\n");
}

std::string json_of(Planned planned) {
  std::vector<std::string> candidates;
  for (const BidLine& bid : planned.bids) {
    JsonObject one;
    one.add("name", bid.name).add("nanoseconds", bid.nanoseconds);
    if (!bid.why_not.empty()) one.add("why_not", bid.why_not);
    candidates.push_back(one.text());
  }
  return planned.json.add("candidate", planned.candidate)
      .add("schedule", planned.schedule)
      .add_json("candidates", harness::json_array(candidates))
      .text();
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
  std::printf("%s\n", machine_line().c_str());
  for (const auto& text : problems) {
    Planned planned = harness::is_gemm(text) ? plan_gemm(text) : plan_rearrange(text);
    sort_bids(planned.bids);
    std::printf("\n%s\n\n%s%s", planned.problem.c_str(), planned.picture.c_str(),
                planned.moves.c_str());
    print_choice(planned);
    if (verbose) std::printf("\n%s", planned.verbose.c_str());
    if (all) print_bids(planned.bids);
    plans.push_back(
        JsonObject().add("problem", planned.problem).add_json("plan", json_of(planned)).text());
  }
  print_complaints();
  file.write(start_report("plan").add_json("plans", harness::json_array(plans)).text(), true);
  return 0;
}

}  // namespace infini::tools
