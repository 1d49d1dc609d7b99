// What a wrong choice costs: every candidate that can run a problem is run, and the chosen one is
// compared with the best.
#pragma once

#include <string>
#include <vector>

#include "bench/copies/rearrange_bench.h"

namespace infini::bench {

struct RegretRow {
  struct Bidder {
    std::string candidate;
    double predicted = 0, measured = 0;  // seconds
  };
  std::string problem, chosen;
  std::vector<Bidder> bidders;  // those that can, fastest first
  double regret() const;        // the chosen one's time by the best one's, at least 1
  const Bidder& best() const { return bidders.front(); }
  const Bidder& of_chosen() const;
};

RegretRow measure_regret(const std::string& problem, const Options& options);

// Prints rows as they come and a summary at the end.
class RegretReport {
 public:
  void add(RegretRow row);
  void print_summary() const;
  std::string rows_json() const;

 private:
  std::vector<RegretRow> rows_;
};

}  // namespace infini::bench
