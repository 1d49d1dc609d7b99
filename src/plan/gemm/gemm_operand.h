// What a BLAS can address, and the copies that make the rest of the world addressable.
//
// A BLAS wants one of the two steps to be one element and the other to be a leading dimension. An
// operand that is not so (no unit stride, a negative one, overlapping rows) is first copied into a
// dense buffer; that copy is an ordinary rearrange plan.
#pragma once

#include <cstdint>

#include "plan/gemm/gemm_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// One operand of a plan together with its extents.
struct OperandShape {
  int64_t batch, rows, cols;
};

OperandShape shape_of_c(const GemmPlan& plan);
OperandShape shape_of_a(const GemmPlan& plan);
OperandShape shape_of_b(const GemmPlan& plan);

struct BlasMatrix {
  bool addressable = false;    // the rest means nothing where this is false
  bool columns_first = false;  // columns are contiguous (Fortran's order) rather than rows
  int64_t leading = 0;         // elements from row to row, or from column to column
  int64_t batch_stride = 0;    // elements; 0 for a broadcast batch
};

// Law: element (b, i, j) lies batch_stride·b + leading·i + j elements from the base (i and j change
// places when columns_first), and leading >= max(1, the contiguous extent). Rows first wins where
// both readings are true.
BlasMatrix blas_matrix(const GemmOperand& x, const OperandShape& shape);

// A dense operand of the same dtype with rows (or columns) `leading` elements apart and matrices one
// after another; a broadcast batch stays one matrix.
GemmOperand dense_operand(const GemmOperand& x, const OperandShape& shape, int64_t leading,
                          bool columns_first);
// The bytes from the first to one past the last of a dense operand, the last row's padding included.
int64_t dense_bytes(const GemmOperand& x, const OperandShape& shape, int64_t leading,
                    bool columns_first);

// Copies every matrix of src to the same place of dst. A batch step of 0 on both sides copies one.
RearrangePlan operand_copy(const GemmOperand& dst, const GemmOperand& src,
                           const OperandShape& shape);

// The bytes that an operand touches relative to its base.
ByteRange operand_range(const GemmOperand& x, const OperandShape& shape);

// True when no element of x (based at 0) shares a byte with one of y (based at y_base), as far as
// never_meet of disjoint.h can show it.
bool never_meet(const GemmOperand& x, const OperandShape& x_shape, const GemmOperand& y,
                const OperandShape& y_shape, int64_t y_base);

}  // namespace infini
