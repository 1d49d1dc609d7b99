// Measuring paged copies, and copies between the host and a device, on the current device.
#pragma once

#include <string>
#include <vector>

#include "bench/copies/rearrange_bench.h"

namespace infini::bench {

// One measured case: ours beside a plain copy of the same bytes.
struct CopyRow {
  std::string name, way;
  int64_t bytes = 0;  // copied
  double seconds = 0, limit_seconds = 0, ratio = 0, spread = 0;
  double host_seconds = 0;  // that a call keeps the caller, 0: not measured
  double batch_seconds = 0,
         batch_ratio =
             0;  // of the driver's own batch of copies, where it has one; its time by ours
  bool verified = true;
};

// Pages that ids name: appended to, gathered, moved between two engines' layouts.
std::vector<std::string> pages_cases();
CopyRow measure_pages(const std::string& name, const Options& options);

// Between the host's pinned memory and the device, against a copy of as many bytes that lie densely.
std::vector<std::string> transfer_cases();
CopyRow measure_transfer(const std::string& name, const Options& options);

void print_copy_header(const char* limit);
void print_copy_row(const CopyRow& row);
std::string copy_rows_json(const std::vector<CopyRow>& rows);

}  // namespace infini::bench
