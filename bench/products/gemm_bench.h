// Measuring gemm problems on the current device against its limits and other libraries.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/copies/rearrange_bench.h"
#include "bench/products/gemm_limits.h"

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
  double spread = 0;         // of ours: how far a turn usually is from the median, as a part
  double limit_seconds = 0;  // the larger of the arithmetic and the memory time
  double peak_flops_per_second = 0, peak_bytes_per_second = 0;  // what the machine could do
  bool byte_bound = false, verified = true;
};

class GemmBench {
 public:
  explicit GemmBench(const Options& options) : options_(options) {}
  // Measures and prints one row, `label` before its name; calls `before_printing` first.
  void measure(const std::string& name, const std::string& problem, const std::string& label,
               const std::function<void()>& before_printing);
  bool all_verified() const;
  const std::vector<GemmRow>& rows() const { return rows_; }
  std::string rows_json() const;

 private:
  const GemmLimits& limits_for(infiniDtype_t dtype, size_t label_width);

  Options options_;
  std::map<infiniDtype_t, GemmLimits> limits_;
  std::vector<GemmRow> rows_;
};

}  // namespace infini::bench
