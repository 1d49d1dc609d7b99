// Rows of measurements, their means and their JSON form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace infini::bench {

struct Row {
  std::string name, problem, device, candidate;
  int64_t bytes = 0;         // moved: each source byte once, each written byte once
  double seconds = 0;        // median of one run
  double limit_seconds = 0;  // median of a copy that moves as many bytes
  std::string limit;         // which copy that was
  double ratio = 0;          // of the speed of that copy, median over the turns
  double spread = 0;         // how far the ratio of a turn usually is from that, as a part of it
  double allowed =
      1;  // the ratio that whole lines of memory allow: the copy's bytes by those that must move
  bool verified = true;  // false only when a comparison failed
  // One thread's time by that of all of them, ours and the copy's; 0: not measured.
  double scaling = 0, limit_scaling = 0;
  double gb_per_second() const { return static_cast<double>(bytes) / seconds * 1e-9; }
  double limit_gb_per_second() const { return static_cast<double>(bytes) / limit_seconds * 1e-9; }
};

class Results {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  const std::vector<Row>& rows() const { return rows_; }
  double mean_ratio() const;    // geometric
  double mean_allowed() const;  // of what whole lines allow, at most 1 each
  bool all_verified() const;
  std::string rows_json() const;

 private:
  std::vector<Row> rows_;
};

// `label` stands before the name and has `label_width` columns.
void print_rearrange_header(bool scaling, int label_width);
void print_row(const Row& row, const std::string& label);

// A name in a column; one that is too long for it gets a line of its own, and what follows stands below it.
std::string in_column(const std::string& name, size_t indent, size_t width);
// "±3%".
std::string spread_text(double spread);

}  // namespace infini::bench
