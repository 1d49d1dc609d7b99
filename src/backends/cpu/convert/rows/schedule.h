// Conversions of rows that are contiguous in y and in x.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/convert/move.h"
#include "contract/kernels.h"

namespace infini::cpu {

// Rows are cut into pieces, which all are walked in y's order.
// Law: every point of the plan's nest is an element of one piece, and of no other.
struct ConvertRows {
  std::vector<OperatorLoop> outer;  // outermost first
  int64_t length = 1;               // elements of a row
  int64_t piece = 1;                // of which at most so many are a piece
  int64_t rows = 1;
  bool streams = false;  // y goes past the caches
  bool is_long = false;  // what lies ahead in a row of x is asked for there, else some pieces ahead

  int64_t pieces_of_row() const { return (length + piece - 1) / piece; }
  int64_t pieces() const { return rows * pieces_of_row(); }
  // Where piece i of a row begins, if the row's first line begins behind so many elements: pieces begin with lines.
  int64_t begin_of(int64_t i, int64_t head) const {
    const int64_t begin = i * piece + head;
    return i == 0 ? 0 : begin < length ? begin : length;
  }
  int64_t end_of(int64_t i, int64_t head) const {
    return i + 1 == pieces_of_row() ? length : begin_of(i + 1, head);
  }
};

// Null when rows are not contiguous, or scale and shift lie apart along them.
std::optional<ConvertRows> make_convert_rows(const OperatorPlan& plan, const Policy& policy);

double convert_rows_ns(const ConvertRows& schedule, const OperatorPlan& plan,
                       const Setting& setting);

std::unique_ptr<OperatorKernel> make_row_converter(ConvertRows schedule, const OperatorPlan& plan,
                                                   const Policy& policy);

std::string to_string(const ConvertRows& schedule);

}  // namespace infini::cpu
