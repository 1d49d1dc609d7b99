// Running every candidate of a problem in turns.
#include "bench/regret.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

#include "base/error.h"
#include "bench/copies/beside_copies.h"
#include "bench/copies/operator_bench.h"
#include "bench/measure.h"
#include "harness/gemm/gemm_problem.h"
#include "harness/json.h"
#include "harness/operators/operators.h"
#include "harness/rearrange/problem.h"
#include "ops/gemm.h"
#include "ops/operator.h"
#include "ops/rearrange.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

constexpr double slow_factor =
    8;  // as much slower than the fastest: not worth the time of measuring

constexpr size_t line_columns = 80;

size_t extent_of(const ByteRange& range) { return static_cast<size_t>(range.end - range.begin); }

// An operator by each of its candidates, ready to run.
struct Runnable {
  std::string candidate;
  double predicted = 0;  // seconds
  Body body;
};

struct Problem {
  std::string chosen;
  std::vector<Runnable> runnables;
  std::vector<std::shared_ptr<void>> keeps;  // operators and memory
  double settle = 0;                         // seconds, see measure()
};

// The ones that can, each forced by its name; a candidate whose kernel says another name declined after all.
template <class Op, class Make, class Bind>
void collect(Problem& problem, const std::vector<BidLine>& lines, Make make, Bind bind) {
  for (const BidLine& line : lines) {
    if (!std::isfinite(line.nanoseconds)) continue;
    auto op = std::make_shared<Op>(make(Choice{line.name.c_str(), nullptr}));
    if (op->kernel() == nullptr || line.name != op->kernel()->candidate()) continue;
    problem.runnables.push_back({line.name, line.nanoseconds * 1e-9, bind(*op)});
    problem.keeps.push_back(op);
  }
}

Problem prepare_rearrange(const std::string& text) {
  const auto parsed = harness::parse_rearrange(text);
  Device& device = current_device();
  std::vector<BidLine> lines;
  const Rearrange chosen(device, parsed.dst, parsed.src, {nullptr, &lines});
  require(chosen.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, text, ": nothing to measure");
  const auto dst = dst_range(chosen.plan()), src = src_range(chosen.plan());
  const auto to = std::make_shared<Memory>(device, extent_of(dst) + 64),
             from = std::make_shared<Memory>(device, extent_of(src) + 64);
  Problem problem{chosen.kernel()->candidate(), {}, {to, from}};
  problem.settle =
      settling_seconds(device, moved_bytes(chosen.plan()) + distinct_source_bytes(chosen.plan()));
  char* const at_dst = to->get() - dst.begin + parsed.dst_at % 64;
  const char* const at_src = from->get() - src.begin + parsed.src_at % 64;
  collect<Rearrange>(
      problem, lines,
      [&](const Choice& choice) { return Rearrange(device, parsed.dst, parsed.src, choice); },
      [=](const Rearrange& op) { return [=, &op] { op.run(at_dst, at_src, nullptr); }; });
  return problem;
}

Problem prepare_gemm(const std::string& text) {
  const auto parsed = harness::parse_gemm(text);
  Device& device = current_device();
  const GemmOptions options = default_gemm_options();
  std::vector<BidLine> lines;
  const Gemm chosen(device, parsed.c, parsed.a, parsed.b, options, {nullptr, &lines});
  require(chosen.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, text, ": nothing to measure");
  Problem problem{chosen.kernel()->candidate(), {}, {}};
  char* at[3];
  int i = 0;
  for (const Layout* layout : {&parsed.c, &parsed.a, &parsed.b}) {
    const ByteRange range = byte_range(*layout);
    const auto memory = std::make_shared<Memory>(device, extent_of(range) + 64);
    at[i++] = memory->get() - range.begin;
    problem.keeps.push_back(memory);
  }
  const auto c = at[0], a = at[1], b = at[2];
  collect<Gemm>(
      problem, lines,
      [&](const Choice& choice) {
        return Gemm(device, parsed.c, parsed.a, parsed.b, options, choice);
      },
      [&](const Gemm& op) -> Body {
        const auto workspace = std::make_shared<Memory>(device, op.workspace_bytes() + 256);
        return [=, &op] { op.run(workspace->get(), op.workspace_bytes(), c, a, b, 1, 0, nullptr); };
      });
  return problem;
}

Problem prepare_operator(const std::string& text) {
  const auto parsed = harness::parse_operator(text);
  Device& device = current_device();
  std::vector<BidLine> lines;
  const OperatorPlan plan = harness::make_plan(parsed);
  const Operator chosen(device, plan, {nullptr, &lines});
  require(chosen.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, text, ": nothing to measure");
  require(!lines.empty(), INFINI_STATUS_BAD_PARAM, facts_of(plan.function).name,
          " has one kernel on this device: there is no choice to regret");
  Problem problem{chosen.kernel()->candidate(), {}, {}};
  problem.settle = settling_seconds(device, harness::compulsory_bytes(parsed));
  OperatorRun run;
  for (int i = 0; i < facts_of(plan.function).operands; ++i) {
    const std::shared_ptr<Memory> memory = make_operand(device, parsed, i);
    run.operands[i] = memory->get() - byte_range(parsed.operands[i]).begin;
    problem.keeps.push_back(memory);
  }
  collect<Operator>(
      problem, lines, [&](const Choice& choice) { return Operator(device, plan, choice); },
      [=](const Operator& op) { return [=, &op] { op.run(run, 0); }; });
  return problem;
}

// Those that are much slower than the fastest are measured once and not again.
void measure_all(RegretRow& row, Problem& problem, double seconds) {
  Device& device = current_device();
  std::vector<double> first;
  for (auto& runnable : problem.runnables) first.push_back(time_once(device, runnable.body));
  const double fastest = *std::min_element(first.begin(), first.end());
  std::vector<Side> sides;
  std::vector<size_t> which;
  for (size_t i = 0; i < first.size(); ++i) {
    row.bidders.push_back(
        {problem.runnables[i].candidate, problem.runnables[i].predicted, first[i]});
    const bool is_chosen = problem.runnables[i].candidate == row.chosen;
    if (first[i] > slow_factor * fastest && !is_chosen) continue;
    sides.push_back({problem.runnables[i].body});
    which.push_back(i);
  }
  measure(device, sides, seconds, problem.settle);
  for (size_t i = 0; i < sides.size(); ++i) row.bidders[which[i]].measured = sides[i].median();
  std::sort(row.bidders.begin(), row.bidders.end(),
            [](const auto& a, const auto& b) { return a.measured < b.measured; });
}

double quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(at * static_cast<double>(values.size() - 1))];
}

}  // namespace

double RegretRow::regret() const { return of_chosen().measured / best().measured; }

const RegretRow::Bidder& RegretRow::of_chosen() const {
  for (const Bidder& bidder : bidders)
    if (bidder.candidate == chosen) return bidder;
  return bidders.front();  // the only one that can
}

RegretRow measure_regret(const std::string& text, const Options& options) {
  const std::string& name = harness::operator_of(text).name;
  Problem problem = name == "gemm"        ? prepare_gemm(text)
                    : name == "rearrange" ? prepare_rearrange(text)
                                          : prepare_operator(text);
  RegretRow row{.problem = text, .chosen = problem.chosen};
  require(!problem.runnables.empty(), INFINI_STATUS_BAD_PARAM, text,
          ": this device does not say what its candidates bid");
  measure_all(row, problem, options.seconds);
  return row;
}

void RegretReport::add(RegretRow row) {
  if (rows_.empty())
    std::printf("%6s  %-10s %8s %6s  %-10s %8s  %s\n", "regret", "chosen", "us", "model", "best",
                "us", "problem");
  const auto& chosen = row.of_chosen();
  const int columns =
      std::printf("%6.2f  %-10s %8.1f %6.2f  %-10s %8.1f", row.regret(), row.chosen.c_str(),
                  chosen.measured * 1e6, chosen.predicted / chosen.measured,
                  row.best().candidate.c_str(), row.best().measured * 1e6);
  const bool fits = static_cast<size_t>(columns) + 2 + row.problem.size() <= line_columns;
  std::printf("%s%s\n", fits ? "  " : "\n        ", row.problem.c_str());
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void RegretReport::print_summary() const {
  if (rows_.empty()) return;
  std::vector<double> regrets;
  std::map<std::string, std::vector<double>> model;
  double logs = 0;
  for (const RegretRow& row : rows_) {
    regrets.push_back(row.regret());
    logs += std::log(row.regret());
    for (const auto& bidder : row.bidders)
      model[bidder.candidate].push_back(bidder.predicted / bidder.measured);
  }
  const auto within =
      std::count_if(regrets.begin(), regrets.end(), [](double r) { return r <= 1.25; });
  std::printf(
      "\nregret of %zu choices: geometric mean %.3f, 95 %% below %.2f, worst %.2f;\n"
      "%.1f %% within 1.25\n",
      rows_.size(), std::exp(logs / static_cast<double>(rows_.size())), quantile(regrets, 0.95),
      quantile(regrets, 1),
      100.0 * static_cast<double>(within) / static_cast<double>(rows_.size()));
  std::printf("predicted by measured time, for each candidate (10 %%, median, 90 %%):\n");
  for (const auto& [name, ratios] : model)
    std::printf("  %-10s %6.2f %6.2f %6.2f  of %zu\n", name.c_str(), quantile(ratios, 0.1),
                quantile(ratios, 0.5), quantile(ratios, 0.9), ratios.size());
}

std::string RegretReport::rows_json() const {
  std::vector<std::string> rows;
  for (const RegretRow& row : rows_) {
    std::vector<std::string> candidates;
    for (const auto& bidder : row.bidders)
      candidates.push_back(harness::JsonObject()
                               .add("name", bidder.candidate)
                               .add("predicted", bidder.predicted)
                               .add("measured", bidder.measured)
                               .text());
    rows.push_back(harness::JsonObject()
                       .add("problem", row.problem)
                       .add("chosen", row.chosen)
                       .add("regret", row.regret())
                       .add_json("candidates", harness::json_array(candidates))
                       .text());
  }
  return harness::json_array(rows);
}

}  // namespace infini::bench
