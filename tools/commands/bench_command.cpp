// infini bench: suites or single problems, measured against a copy of the same bytes.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "bench/copies/operator_bench.h"
#include "bench/copies/rearrange_bench.h"
#include "bench/interrupt.h"
#include "bench/products/gemm_bench.h"
#include "bench/regret.h"
#include "bench/results.h"
#include "harness/operators/operators.h"
#include "harness/rearrange/suites.h"
#include "harness/suggest.h"
#include "runtime/current_device.h"
#include "tools/commands.h"
#include "tools/commands/bench_copies.h"
#include "tools/commands/python_peers.h"
#include "tools/report/report.h"
#include "tools/report/report_page.h"

namespace infini::tools {
namespace {

struct NamedProblem {
  std::string name, text;
};

int list_suites(const Arguments& arguments) {
  arguments.require_none();
  for (const auto& suite : harness::suites())
    std::printf("%-12s %3zu cases  %s\n", suite.name, suite.cases.size(), suite.about);
  return 0;
}

[[noreturn]] void refuse_suite(const std::string& word) {
  std::vector<std::string> known = harness::operator_names();
  for (const auto& suite : harness::suites()) known.emplace_back(suite.name);
  fail(INFINI_STATUS_BAD_PARAM, "there is no suite \"", word, "\"",
       harness::did_you_mean(word, known), "; see `infini bench --list`");
}

// Suites by name; anything else is a problem.
std::vector<NamedProblem> collect(const std::vector<std::string>& words,
                                  const std::string& filter) {
  std::vector<NamedProblem> all;
  for (const auto& word : words) {
    if (const auto* suite = harness::find_suite(word))
      for (const auto& entry : suite->cases) all.push_back({entry.name, entry.problem});
    else if (word.find(' ') != std::string::npos)
      all.push_back({word, word});
    else
      refuse_suite(word);
  }
  std::erase_if(all,
                [&](const NamedProblem& p) { return p.name.find(filter) == std::string::npos; });
  require(!all.empty(), INFINI_STATUS_BAD_PARAM, "no case has \"", filter, "\" in its name");
  return all;
}

// Problems that nobody chose: where a layout or a shape is slow, this finds it.
std::vector<NamedProblem> random_problems(int64_t count, int64_t seed, int64_t megabytes,
                                          const harness::OperatorRow& row) {
  harness::Random random(static_cast<uint64_t>(seed));
  std::vector<NamedProblem> all;
  while (static_cast<int64_t>(all.size()) < count) {
    const std::string text = row.measured(random, megabytes);
    all.push_back({text, text});
  }
  return all;
}

// Calls body(problem, label) for each, with progress on a terminal; returns how many were done before an interrupt.
template <class Body>
size_t measure_each(const std::vector<NamedProblem>& problems, const Body& body) {
  Progress progress(static_cast<int64_t>(problems.size()));
  for (size_t i = 0; i < problems.size(); ++i) {
    const auto number = static_cast<int64_t>(i) + 1;
    progress.show(number, problems[i].name);
    try {
      bench::end_if_interrupted();
      body(problems[i], progress.label(number), progress);
    } catch (const bench::Interrupted&) {
      return i;
    }
  }
  return problems.size();
}

// What is said below the rows when they are not all there, or not to be relied on.
template <class Rows>
void print_remarks(const Rows& rows, size_t asked) {
  if (rows.size() < asked)
    std::printf("interrupted: %zu of %zu cases were measured\n", rows.size(), asked);
  constexpr double noisy = 0.05;
  const auto count =
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.spread > noisy; });
  if (count > 0)
    std::printf(
        "note: in %td of %zu cases half of the turns were off by more than %.0f%%; is something\n"
        "else running here? More turns help: --milliseconds 2000\n",
        count, rows.size(), noisy * 100);
  std::fflush(stdout);
}

// Where measurements go besides the terminal, and what they are called there.
struct Outputs {
  const ReportFile& file;
  const ReportPage& page;
  std::string asked;

  void add_to_page(const std::string& report) const { page.add(asked, report); }
};

int bench_gemms(const std::vector<NamedProblem>& problems, const bench::Options& options,
                const Outputs& outputs, const std::string& peer) {
  bench::GemmBench bench(options);
  const ReportFile& file = outputs.file;
  const auto report = [&](bool complete) {
    return start_report("bench")
        .add("complete", complete)
        .add_json("rows", bench.rows_json())
        .text();
  };
  const size_t done =
      measure_each(problems, [&](const NamedProblem& problem, const auto& label, auto& progress) {
        bench.measure(problem.name, problem.text, label, [&] { progress.clear(); });
        file.write(report(false), false);
      });
  const bool complete = done == problems.size();
  print_remarks(bench.rows(), problems.size());
  if (done > 0 || !file.holds_an_older_one()) file.write(report(complete), true);
  if (done > 0) outputs.add_to_page(report(complete));
  if (complete && !peer.empty()) run_torch_peer(file.path(), false);
  return bench.all_verified() ? 0 : 1;
}

// The suites of the CPU are those that NumPy and PyTorch are compared by: where python3 has them, they
// are peers without being asked for.
bool peers_come_by_themselves(const std::vector<std::string>& words) {
  return current_device().kind() == INFINI_DEVICE_CPU && has_cpu_peers() &&
         std::all_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.starts_with("cpu"); });
}

std::string read_report(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Returns the report with the peer's times, where there is a peer.
std::string run_rearrange_peer(const std::string& peer, const std::string& report,
                               const ReportFile& file) {
  if (peer.empty()) return report;
  if (peer != "cpu") {
    run_torch_peer(file.path(), peer == "torch-compiled");
    return read_report(file.path());
  }
  const TemporaryFile copy;
  std::ofstream(copy.path()) << report;
  run_cpu_peers(copy.path());
  return read_report(copy.path());
}

std::string report_of(const bench::Results& results, bool complete) {
  return start_report("bench")
      .add("complete", complete)
      .add("mean_ratio", results.mean_ratio())
      .add_json("rows", results.rows_json())
      .text();
}

using Measure = bench::Row (*)(const std::string& name, const std::string& problem,
                               const bench::Options& options);

// What is measured beside copies: rearrangements, and all operators that are bound by memory.
int bench_beside_copies(const std::vector<NamedProblem>& problems, const bench::Options& options,
                        const Outputs& outputs, const std::string& peer, Measure measure_one) {
  bench::Results results;
  const ReportFile& file = outputs.file;
  bench::print_rearrange_header(
      options.scaling,
      static_cast<int>(Progress(static_cast<int64_t>(problems.size())).label(1).size()));
  const size_t done =
      measure_each(problems, [&](const NamedProblem& problem, const auto& label, auto& progress) {
        results.add(measure_one(problem.name, problem.text, options));
        progress.clear();
        bench::print_row(results.rows().back(), label);
        file.write(report_of(results, false), false);
      });
  const bool complete = done == problems.size();
  if (done > 0) {
    std::printf("geometric mean of the ratios: %.2f", results.mean_ratio());
    if (results.mean_allowed() < 0.995)
      std::printf(" (whole lines allow %.2f)", results.mean_allowed());
    std::printf("\n");
  }
  print_remarks(results.rows(), problems.size());
  if (done > 0 || !file.holds_an_older_one()) file.write(report_of(results, complete), true);
  std::string report = report_of(results, complete);
  if (complete) report = run_rearrange_peer(peer, report, file);
  if (done > 0) outputs.add_to_page(report);
  return results.all_verified() ? 0 : 1;
}

// Every candidate of every problem: what the choice costs.
int bench_regret(const std::vector<NamedProblem>& problems, const bench::Options& options,
                 const Outputs& outputs) {
  bench::RegretReport rows;
  const auto report = [&](bool complete) {
    return start_report("regret")
        .add("complete", complete)
        .add_json("rows", rows.rows_json())
        .text();
  };
  const size_t done =
      measure_each(problems, [&](const NamedProblem& problem, const auto&, auto& progress) {
        auto row = bench::measure_regret(problem.text, options);
        progress.clear();
        rows.add(std::move(row));
        outputs.file.write(report(false), false);
      });
  rows.print_summary();
  const std::string last = report(done == problems.size());
  if (done > 0 || !outputs.file.holds_an_older_one()) outputs.file.write(last, true);
  if (done > 0) outputs.add_to_page(last);
  return 0;
}

// Which peer is measured beside ours: "" (none), "cpu", "torch" or "torch-compiled".
std::string choose_peer(const std::string& asked, bool products,
                        const std::vector<std::string>& words) {
  if (asked == "none") return "";
  const bool copies_on_cpu = !products && current_device().kind() == INFINI_DEVICE_CPU;
  const bool by_itself = asked.empty() && !products && peers_come_by_themselves(words);
  return (!asked.empty() && copies_on_cpu) || by_itself ? "cpu" : asked;
}

// How it is measured: "rearrange", "gemm" or "operator".
std::string kind_of(const std::string& text) {
  const std::string& name = harness::operator_of(text).name;
  return name == "rearrange" || name == "gemm" ? name : "operator";
}

bench::Options take_options(Arguments& arguments) {
  bench::Options options;
  options.verify = !arguments.take_flag("--no-verify");
  options.scaling = arguments.take_flag("--scaling");
  options.seconds = static_cast<double>(arguments.take_integer("--milliseconds", 300, 1)) / 1000;
  return options;
}

struct Work {
  std::vector<std::string> words;  // suites and problems as they were asked for
  std::vector<NamedProblem> problems;
};

// What to measure; without any word, the operator's usual suite.
Work take_work(Arguments& arguments) {
  const std::string filter = arguments.take_value("--filter", ""),
                    suite = arguments.take_value("--suite", "");
  const harness::OperatorRow& row = *harness::find_operator(arguments.take_operator());
  const bool on_cpu = current_device().kind() == INFINI_DEVICE_CPU;
  const int64_t count = arguments.take_integer("--random", 0, 1),
                seed = arguments.take_integer("--seed", 1, 0);
  const int64_t megabytes = arguments.take_integer("--megabytes", on_cpu ? 50 : 200, 1, 1'000'000);
  auto words = arguments.rest();
  std::erase(words, "rearrange");  // `infini bench rearrange --suite cpu` reads well
  if (!suite.empty()) words.push_back(suite);
  if (count > 0) {
    if (!words.empty())
      fail(INFINI_STATUS_BAD_PARAM, "--random takes no suite and no problem, got \"", words[0],
           "\"");
    return {{"random"}, random_problems(count, seed, megabytes, row)};
  }
  const bool has_own = row.name != "rearrange" && row.name != "gemm";
  if (words.empty()) words.push_back(has_own ? "operators" : row.name == "gemm" ? "gemm" : "quick");
  return {words, collect(words, has_own && filter.empty() ? row.name : filter)};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

int run_bench(Arguments& arguments) {
  if (arguments.take_flag("--list")) return list_suites(arguments);
  arguments.take_device();
  const bench::Options options = take_options(arguments);
  const bool regret = arguments.take_flag("--regret");
  const ReportFile file(arguments);
  const ReportPage page(arguments);
  const std::string asked = arguments.take_value("--peer", "");
  const bool torch = asked == "torch" || asked == "torch-compiled";
  require(
      asked.empty() || asked == "none" || (torch && file.wanted() && !file.is_standard_output()),
      INFINI_STATUS_BAD_PARAM, "--peer is \"", asked,
      "\"; expected none, or torch or torch-compiled together with --json FILE");
  if (const auto status = bench_copies(arguments, options, file, torch)) return *status;
  const auto [words, problems] = take_work(arguments);
  const std::string kind = kind_of(problems[0].text);
  for (const NamedProblem& problem : problems)
    require(regret || kind == kind_of(problem.text), INFINI_STATUS_BAD_PARAM,
            "a bench has problems of rearrange, gemm or other operators: of one kind, not both");
  const bool products = kind == "gemm";
  bench::watch_interrupts();
  std::printf("%s\n", machine_line().c_str());
  std::fflush(stdout);  // through a pipe, too, it stands there while the first case runs
  const Outputs outputs{file, page, joined(words)};
  if (regret) return bench_regret(problems, options, outputs);
  const bool copies = kind == "rearrange";
  const std::string peer = copies || products ? choose_peer(asked, products, words) : "";
  if (products) return bench_gemms(problems, options, outputs, peer);
  return bench_beside_copies(problems, options, outputs, peer,
                             copies ? bench::measure_rearrange : bench::measure_operator);
}

}  // namespace infini::tools
