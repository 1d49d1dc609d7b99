// Printing and writing measurements.
#include "bench/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "base/error.h"

namespace infini::bench {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string today() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

template <class Value>
double geometric_mean(const std::vector<Row>& rows, Value value) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(value(row));
  return rows.empty() ? 0 : std::exp(sum / static_cast<double>(rows.size()));
}

constexpr double worth_saying = 0.95;  // layouts that memory cannot move at nearly a copy's speed

}  // namespace

double Results::mean_ratio() const {
  return geometric_mean(rows_, [](const Row& row) { return row.ratio; });
}

double Results::mean_allowed() const {
  return geometric_mean(rows_, [](const Row& row) { return std::min(row.allowed, 1.0); });
}

bool Results::all_verified() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.verified; });
}

void Results::write_json(const std::string& path) const {
  std::ofstream file(path);
  file << "{\"version\": " << quoted(infiniVersionString()) << ", \"date\": " << quoted(today())
       << ", \"mean_ratio\": " << mean_ratio() << ", \"rows\": [";
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    file << (i ? ",\n" : "\n") << " {\"name\": " << quoted(row.name)
         << ", \"problem\": " << quoted(row.problem) << ", \"device\": " << quoted(row.device)
         << ", \"candidate\": " << quoted(row.candidate) << ", \"bytes\": " << row.bytes
         << ", \"seconds\": " << row.seconds << ", \"gb_per_second\": " << row.gb_per_second()
         << ", \"limit\": " << quoted(row.limit)
         << ", \"limit_gb_per_second\": " << row.limit_gb_per_second()
         << ", \"ratio\": " << row.ratio << ", \"allowed\": " << row.allowed
         << ", \"scaling\": " << row.scaling << ", \"limit_scaling\": " << row.limit_scaling
         << ", \"verified\": " << (row.verified ? "true" : "false") << "}";
  }
  file << "\n]}\n";
  file.close();
  require(file.good(), INFINI_STATUS_INTERNAL_ERROR, "--json: cannot write ", path);
}

void print_rearrange_header(bool scaling) {
  std::printf("%-32s %9s %9s %9s %6s  %s%s\n", "case", "MB", "GB/s", "copy GB/s", "ratio",
              scaling ? "times one thread: ours, copy  " : "", "candidate");
}

void print_row(const Row& row) {
  char scaling[40] = "";
  if (row.scaling > 0)
    std::snprintf(scaling, sizeof scaling, "%16.2f %12.2f  ", row.scaling, row.limit_scaling);
  char allowed[40] = "";
  if (row.allowed < worth_saying)
    std::snprintf(allowed, sizeof allowed, "  (whole lines allow %.2f)", row.allowed);
  std::printf("%-32s %9.2f %9.2f %9.2f %6.2f  %s%s%s%s\n", row.name.c_str(),
              static_cast<double>(row.bytes) * 1e-6, row.gb_per_second(), row.limit_gb_per_second(),
              row.ratio, scaling, row.candidate.c_str(), allowed,
              row.verified ? "" : "  WRONG RESULT");
  std::fflush(stdout);
}

}  // namespace infini::bench
