// What an operator besides Rearrange and Gemm computes, as plain data: a nest of loops around one row.
//
// Operand 0 is written, the others are read. At every point of the nest the function sees one row of each operand:
// `length` elements, row_steps bytes apart.
// Law: the elements of operand 0 that the points of the nest write are those of its layout, each once; what is read for
// each of them lies at the same index of the other layouts (dims of size 1, and missing leading ones, are repeated).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/layout/layout.h"
#include "plan/operators/functions.h"

namespace infini {

// Law: function_from_name(facts_of(f).name) is f; function_count when there is none. Underscores may be left out.
int function_from_name(std::string_view name);

struct OperatorLoop {
  int64_t extent;
  int64_t steps[max_operands];  // bytes
};

// What a conversion does besides moving.
struct Conversion {
  bool e5m2[2] = {};  // y, x: F8 is e5m2, else e4m3
  bool saturates =
      false;  // beyond the largest finite number of y: that number, else infinity (e4m3: NaN)
  bool along[2] = {};  // scale, shift: read from memory; else the numbers below
  double scale = 1, shift = 0;
};

struct OperatorPlan {
  Function function = Function::add;
  int operands = 0;
  infiniDtype_t dtypes[max_operands] = {};
  int64_t offsets[max_operands] = {};    // of the first row
  int64_t length = 0;                    // elements of a row; 0: nothing to do
  int64_t row_steps[max_operands] = {};  // bytes from one element of a row to the next
  int depth = 0;
  OperatorLoop loops[max_rank];  // outermost first
  // rms_norm: what is added to the mean of squares.
  float epsilon = 0;
  // causal_softmax: the innermost loop numbers the rows of a matrix, of which row i sees length - extent + i + 1 elements.
  // rope: a row is the pairs of one head; element i of a pair lies pair_steps behind it, for y and x.
  int64_t pair_steps[2] = {};
  int64_t table_rows = 0, table_steps[2] = {};  // of sin and cos
  Conversion conversion;
};

// What an operator needs besides its operands.
struct OperatorOptions {
  float epsilon = 1e-6f;  // rms_norm
  bool neox = false;      // rope: pairs i and i + dh/2, else 2i and 2i + 1
};

// Any operator of the table; `layouts` are its operands', that which is written first.
OperatorPlan make_operator_plan(Function function, const Layout* const* layouts,
                                const OperatorOptions& options);

// Neighbouring loops that are one become one; an elementwise row, too. The same elements in the same order.
void fuse_loops(OperatorPlan& plan);

// The number of rows: the product of the extents.
int64_t row_count(const OperatorPlan& plan);

// Elementwise. Throws BAD_TENSOR_DTYPE, BAD_TENSOR_SHAPE or BAD_TENSOR_STRIDES (dst overlaps itself).
OperatorPlan make_map_plan(Function function, const Layout& dst, const Layout* const* sources);
// y = x·w / sqrt(mean(x²) + epsilon) over the last dim.
OperatorPlan make_rms_norm_plan(const Layout& y, const Layout& x, const Layout& w, float epsilon);
// [..., s, T] with T >= s.
OperatorPlan make_causal_softmax_plan(const Layout& y, const Layout& x);
// [s, h, dh] or [b, s, h, dh]; positions [s] or [b, s]; tables [rows, dh / 2]. neox: pairs i and i + dh/2, else 2i and 2i + 1.
OperatorPlan make_rope_plan(const Layout& y, const Layout& x, const Layout& positions,
                            const Layout& sin, const Layout& cos, bool neox);
// result: [] or [1] and logits [n], or result [batch] and logits [batch, n].
OperatorPlan make_random_sample_plan(const Layout& result, const Layout& logits);

// For people.
std::string to_string(const OperatorPlan& plan);

}  // namespace infini
