// Printing and writing measurements.
#include "bench/results.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "harness/json.h"

namespace infini::bench {
namespace {

template <class Value>
double geometric_mean(const std::vector<Row>& rows, Value value) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(value(row));
  return rows.empty() ? 0 : std::exp(sum / static_cast<double>(rows.size()));
}

// Its last line's; "±" is two bytes and one column.
size_t columns_of(const std::string& text) {
  const std::string last = text.substr(text.rfind('\n') + 1);
  return static_cast<size_t>(
      std::count_if(last.begin(), last.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

constexpr double worth_saying = 0.95;  // layouts that memory cannot move at nearly a copy's speed

}  // namespace

std::string in_column(const std::string& name, size_t indent, size_t width) {
  if (name.size() > width) return name + "\n" + std::string(indent + 1 + width, ' ');
  return name + std::string(width - std::min(width, name.size()), ' ');
}

std::string spread_text(double spread) {
  const int percent = static_cast<int>(std::lround(std::min(spread, 0.99) * 100));
  return (percent < 10 ? " ±" : "±") + std::to_string(percent) + "%";
}

double Results::mean_ratio() const {
  return geometric_mean(rows_, [](const Row& row) { return row.ratio; });
}

double Results::mean_allowed() const {
  return geometric_mean(rows_, [](const Row& row) { return std::min(row.allowed, 1.0); });
}

bool Results::all_verified() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.verified; });
}

std::string Results::rows_json() const {
  std::vector<std::string> rows;
  for (const Row& row : rows_)
    rows.push_back(harness::JsonObject()
                       .add("name", row.name)
                       .add("problem", row.problem)
                       .add("device", row.device)
                       .add("candidate", row.candidate)
                       .add("bytes", row.bytes)
                       .add("seconds", row.seconds)
                       .add("gb_per_second", row.gb_per_second())
                       .add("limit", row.limit)
                       .add("limit_gb_per_second", row.limit_gb_per_second())
                       .add("ratio", row.ratio)
                       .add("spread", row.spread)
                       .add("allowed", row.allowed)
                       .add("scaling", row.scaling)
                       .add("limit_scaling", row.limit_scaling)
                       .add("verified", row.verified)
                       .text());
  return harness::json_array(rows);
}

void print_rearrange_header(bool scaling, int label_width) {
  std::printf("%-*s %-25s %8s %7s %7s %5s %4s  %s%s\n", label_width, "", "case", "MB", "GB/s",
              "copy", "ratio", "", scaling ? "times one thread: ours, copy  " : "", "candidate");
}

void print_row(const Row& row, const std::string& label) {
  char text[400], note[80] = "";
  std::snprintf(text, sizeof text, " %8.2f %7.2f %7.2f %5.2f %5s  ",
                static_cast<double>(row.bytes) * 1e-6, row.gb_per_second(),
                row.limit_gb_per_second(), row.ratio, spread_text(row.spread).c_str());
  std::string line = label + " " + in_column(row.name, label.size(), 25) + text;
  if (row.scaling > 0) {
    std::snprintf(note, sizeof note, "%16.2f %12.2f  ", row.scaling, row.limit_scaling);
    line += note;
  }
  line += row.candidate;
  if (row.allowed < worth_saying) {
    std::snprintf(note, sizeof note, "(whole lines allow %.2f)", row.allowed);
    line += (columns_of(line) + 2 + std::strlen(note) > 80 ? "\n  " + std::string(label.size(), ' ')
                                                           : "  ") +
            note;
  }
  std::printf("%s%s\n", line.c_str(), row.verified ? "" : "  WRONG RESULT");
  std::fflush(stdout);
}

}  // namespace infini::bench
