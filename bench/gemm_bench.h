// Measuring gemm problems on the current device against its limits and other libraries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/gemm_limits.h"
#include "bench/rearrange_bench.h"

namespace infini::bench {

struct PeerTime {
  std::string name;
  double seconds;
  double ratio;  // to ours
};

struct GemmRow {
  std::string name, problem, device, candidate;
  double flops = 0, bytes = 0, seconds = 0;
  std::vector<PeerTime> peers = {};
  const PeerTime* best_peer() const;  // null: no peer
  double limit_seconds = 0;           // the larger of the arithmetic and the memory time
  bool byte_bound = false, verified = true;
};

class GemmBench {
 public:
  explicit GemmBench(const Options& options) : options_(options) {}
  // Measures and prints one row.
  void measure(const std::string& name, const std::string& problem);
  bool all_verified() const;
  void write_json(const std::string& path) const;

 private:
  const GemmLimits& limits_for(infiniDtype_t dtype);

  Options options_;
  std::map<infiniDtype_t, GemmLimits> limits_;
  std::vector<GemmRow> rows_;
};

}  // namespace infini::bench
