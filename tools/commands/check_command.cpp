// infini check: problems given, curated or random, compared with the naive reference.
#include <cstdio>

#include "base/error.h"
#include "bench/interrupt.h"
#include "harness/operators/operators.h"
#include "tools/commands.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

// What is checked, one after the other: problems given, curated ones, then random ones.
struct Work {
  std::vector<std::string> problems;
  int64_t random = 0, seed = 1;
  bool large = false;
  const harness::OperatorRow* row = nullptr;  // of the random and curated ones
  int64_t count() const { return static_cast<int64_t>(problems.size()) + random; }
};

class Checker {
 public:
  explicit Checker(const Work& work)
      : work_(work), random_(static_cast<uint64_t>(work.seed)), progress_(work.count()) {}

  // Until an interrupt.
  void run() {
    for (; done_ < work_.count() && !bench::interrupted(); ++done_) {
      progress_.show(done_ + 1, std::to_string(failed_) + " failed");
      const auto given = static_cast<int64_t>(work_.problems.size());
      done_ < given ? add_text(work_.problems[static_cast<size_t>(done_)])
                    : add_random(static_cast<uint64_t>(done_ - given));
    }
    progress_.clear();
  }

  void print_summary() const {
    if (worst_ > 0) std::printf("largest error / bound: %.3f\n", worst_);
    std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed_),
                static_cast<long long>(failed_));
    if (done_ < work_.count())
      std::printf("interrupted: %lld of %lld problems were checked\n",
                  static_cast<long long>(done_), static_cast<long long>(work_.count()));
  }

  std::string report() const {
    return start_report("check")
        .add("complete", done_ == work_.count())
        .add("problems", done_)
        .add("passed", passed_)
        .add("failed", failed_)
        .add("largest_error_over_bound", worst_)
        .add_json("failures", harness::json_array(failures_))
        .text();
  }

  bool all_passed() const { return failed_ == 0; }

 private:
  void add(const harness::AnyVerdict& verdict) {
    if (!(verdict.error_over_bound <= worst_)) worst_ = verdict.error_over_bound;
    ++(verdict.passed ? passed_ : failed_);
    if (verdict.passed) return;
    progress_.clear();
    std::printf("%s FAILED %s\n", progress_.label(done_ + 1).c_str(), verdict.message.c_str());
    std::fflush(stdout);
    failures_.push_back(harness::json_string(verdict.message));
  }

  void add_text(const std::string& text, uint64_t seed = 1) {
    for (const auto& verdict : harness::operator_of(text).check(text, seed, nullptr)) add(verdict);
  }

  void add_random(uint64_t number) { add_text(work_.row->random(random_, work_.large), number); }

  const Work& work_;
  harness::Random random_;
  Progress progress_;
  int64_t done_ = 0, passed_ = 0, failed_ = 0;
  double worst_ = 0;  // error ÷ bound of what is not exact
  std::vector<std::string> failures_;
};

Work take_work(Arguments& arguments) {
  Work work;
  work.random = arguments.take_integer("--random", 0, 1);
  work.seed = arguments.take_integer("--seed", 1, 0);
  const bool curated = arguments.take_flag("--curated");
  work.large = arguments.take_flag("--large");
  work.row = harness::find_operator(arguments.take_operator());
  work.problems = arguments.rest();
  if (curated)
    for (const auto& text : work.row->curated()) work.problems.push_back(text);
  require(work.count() > 0, INFINI_STATUS_BAD_PARAM,
          "check needs a problem, --curated or --random N; see `infini help check`");
  for (const auto& text : work.problems)  // what is wrong is said before anything runs
    harness::operator_of(text).parse(text);
  return work;
}

}  // namespace

int run_check(Arguments& arguments) {
  arguments.take_device();
  const ReportFile file(arguments);
  const Work work = take_work(arguments);
  bench::watch_interrupts();
  std::printf("%s\n", machine_line().c_str());
  std::fflush(stdout);
  Checker checker(work);
  checker.run();
  checker.print_summary();
  file.write(checker.report(), true);
  return checker.all_passed() ? 0 : 1;
}

}  // namespace infini::tools
