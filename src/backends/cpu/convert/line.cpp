// Converting lines.
#include "backends/cpu/convert/line.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/rearrange/panels/kernels.h"
#include "base/dtype.h"

namespace infini::cpu {

LineConverter::LineConverter(const OperatorPlan& plan)
    : lanes_(convert_lanes(isa())),
      to_(format_in(plan, 0)),
      from_(format_in(plan, 1)),
      y_bytes_(dtype_bytes(plan.dtypes[0])),
      x_bytes_(dtype_bytes(plan.dtypes[1])),
      constants_{plan.conversion.scale, plan.conversion.shift},
      narrow_constants_{static_cast<float>(plan.conversion.scale),
                        static_cast<float>(plan.conversion.shift)},
      computes_(computes(plan.conversion)),
      saturates_(plan.conversion.saturates),
      wide_(infini::is_wide(to_) || infini::is_wide(from_)) {
  if (!wide_) narrow_ = lanes_.lines[computes_][static_cast<int>(to_)][static_cast<int>(from_)];
}

int64_t LineConverter::elements_to_line(const char* y) const {
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(y) % line_bytes);
  return before % y_bytes_ == 0 ? before / y_bytes_ : 0;
}

void LineConverter::convert(ConvertLines lines, LineScratch& scratch) const {
  const int64_t head = lines.flow.past && lines.rows == 1 ? elements_to_line(lines.y) : 0;
  if (head > 0 && head < lines.columns) {
    ConvertLines first = lines;
    first.columns = head;
    first.flow.past = false;
    convert(first, scratch);
    lines.y += head * y_bytes_, lines.x += head * x_bytes_, lines.columns -= head;
    for (int k = 0; k < 2; ++k)
      if (lines.number[k] != nullptr) lines.number[k] += head * lines.column_step[k];
  }
  prepare(lines);
  convert_prepared(lines, scratch);
}

void LineConverter::prepare(ConvertLines& lines) const {
  lines.saturates = saturates_;
  if (wide_) return;
  for (int k = 0; k < 2; ++k)
    if (lines.number[k] == nullptr) {
      lines.number[k] = &narrow_constants_[k];
      lines.row_step[k] = lines.column_step[k] = 0;
    }
}

void LineConverter::convert_wide(const ConvertLines& lines, LineScratch& scratch) const {
  for (int64_t row = 0; row < lines.rows; ++row) {
    for (int64_t byte = 0; lines.ask != nullptr && byte < lines.columns * x_bytes_;
         byte += line_bytes)
      __builtin_prefetch(lines.ask + lines.ask_of_row[row] + byte + line_bytes - 1, 0, 3);
    for (int64_t i = 0; i < lines.columns; i += LineScratch::chunk)
      convert_chunk(lines, row, i, std::min(LineScratch::chunk, lines.columns - i), scratch);
  }
}

void LineConverter::convert_narrow(ConvertLines lines) const {
  const int64_t rest = lines.columns & (lanes_.group - 1), whole = lines.columns - rest;
  lines.columns = whole;
  if (whole > 0) narrow_(lines);
  if (rest == 0) return;
  // What is left of each row, by way of a group.
  constexpr int64_t most = 64;
  alignas(64) char x[most * sizeof(float)] = {}, y[most * sizeof(float)];
  float tables[2][most] = {};
  ConvertLines one = line(y, x, lanes_.group, {});
  one.saturates = lines.saturates;
  for (int k = 0; k < 2; ++k) one.column_step[k] = lines.column_step[k];
  for (int64_t row = 0; row < lines.rows; ++row) {
    const char* const from = lines.x + (lines.x_of_row == nullptr ? 0 : lines.x_of_row[row]);
    std::memcpy(x, from + whole * x_bytes_, static_cast<size_t>(rest * x_bytes_));
    for (int k = 0; k < 2; ++k) {
      one.number[k] = lines.number[k] + row * lines.row_step[k];
      if (lines.column_step[k] == 0) continue;
      std::copy_n(one.number[k] + whole, rest, tables[k]);
      one.number[k] = tables[k];
    }
    narrow_(one);
    std::memcpy(lines.y + row * lines.y_step + whole * y_bytes_, y,
                static_cast<size_t>(rest * y_bytes_));
  }
}

void LineConverter::convert_chunk(const ConvertLines& lines, int64_t row, int64_t first,
                                  int64_t count, LineScratch& scratch) const {
  char* const y = lines.y + row * lines.y_step + first * y_bytes_;
  const char* const x =
      lines.x + (lines.x_of_row == nullptr ? 0 : lines.x_of_row[row]) + first * x_bytes_;
  const auto widen = lanes_.widen_wide[static_cast<int>(from_)];
  const auto narrow = lanes_.narrow_wide[static_cast<int>(to_)];
  const Flow reads{lines.flow.far, false}, writes{false, lines.flow.past};
  const auto aligned = [](const char* p) {
    return reinterpret_cast<uintptr_t>(p) % alignof(double) == 0;
  };
  // f64 that are not computed with, and f64 that are the result, need no stop in between.
  if (!computes_ && from_ == Format::f64 && aligned(x))
    return narrow(y, reinterpret_cast<const double*>(x), saturates_, count, lines.flow);
  if (!computes_ && to_ == Format::f64 && !saturates_ && aligned(y))
    return widen(reinterpret_cast<double*>(y), x, count, lines.flow);
  widen(scratch.work, x, count, reads);
  if (computes_) {
    int steps[2];
    for (int k = 0; k < 2; ++k) {
      double* const table = scratch.tables[k];
      steps[k] = lines.number[k] == nullptr ? 0 : static_cast<int>(lines.column_step[k]);
      table[0] = constants_[k];
      if (lines.number[k] == nullptr) continue;
      const float* const from =
          lines.number[k] + row * lines.row_step[k] + first * lines.column_step[k];
      std::copy_n(from, steps[k] == 0 ? 1 : count, table);
    }
    lanes_.scale_wide(scratch.work, scratch.work, scratch.tables[0], steps[0], scratch.tables[1],
                      steps[1], count, {});
  }
  narrow(y, scratch.work, saturates_, count, writes);
}

}  // namespace infini::cpu
