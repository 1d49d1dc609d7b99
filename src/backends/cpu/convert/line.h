// Elements of x that lie together, converted into y: in registers, or by way of f64 in the first cache.
#pragma once

#include <cstdint>

#include "backends/cpu/convert/lanes.h"
#include "plan/operators/convert_plan.h"

namespace infini::cpu {

// What a thread needs besides its stack frame; nobody else uses it meanwhile.
struct LineScratch {
  static constexpr int64_t chunk = 256;  // elements that are computed at once
  alignas(64) double work[chunk];
  alignas(64) double tables[2][chunk];
};

class LineConverter {
 public:
  explicit LineConverter(const OperatorPlan& plan);

  int64_t y_bytes() const { return y_bytes_; }  // of an element
  int64_t x_bytes() const { return x_bytes_; }
  bool is_wide() const { return wide_; }  // computes in f64

  // One row.
  static ConvertLines line(char* y, const char* x, int64_t count, Flow flow) {
    ConvertLines lines{};
    lines.y = y, lines.x = x, lines.rows = 1, lines.columns = count, lines.flow = flow;
    return lines;
  }
  // Rows of y and x are the same or do not overlap. Where number[k] is null it is the plan's. What goes past the caches is
  // fenced by the caller; it begins with a whole line of y.
  void convert(ConvertLines lines, LineScratch& scratch) const;
  // The same of lines that are prepared, once for many, and of which none goes past the caches.
  void prepare(ConvertLines& lines) const;
  void convert_prepared(const ConvertLines& lines, LineScratch& scratch) const {
    if (narrow_ != nullptr && (lines.columns & (lanes_.group - 1)) == 0) return narrow_(lines);
    if (narrow_ != nullptr) return convert_narrow(lines);
    convert_wide(lines, scratch);
  }
  // Elements up to the next line of y; 0 where none of them begins one.
  int64_t elements_to_line(const char* y) const;

 private:
  void convert_narrow(ConvertLines lines) const;
  void convert_wide(const ConvertLines& lines, LineScratch& scratch) const;
  void convert_chunk(const ConvertLines& lines, int64_t row, int64_t first, int64_t count,
                     LineScratch& scratch) const;

  ConvertLanes::Lines narrow_ = nullptr;
  const ConvertLanes& lanes_;
  Format to_, from_;
  int64_t y_bytes_, x_bytes_;
  double constants_[2];
  float narrow_constants_[2];
  bool computes_, saturates_, wide_;
};

}  // namespace infini::cpu
