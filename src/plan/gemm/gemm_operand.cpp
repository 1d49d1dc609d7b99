// BLAS addressing and packing of gemm operands.
#include "plan/gemm/gemm_operand.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/dtype.h"
#include "plan/layout/disjoint.h"

namespace infini {
namespace {

// Matrices that are really there: a broadcast batch is one.
int64_t stored_batch(const GemmOperand& x, const OperandShape& shape) {
  return x.batch_step == 0 ? std::min<int64_t>(shape.batch, 1) : shape.batch;
}

// Can `inner` run over contiguous elements while `outer` is the leading dimension?
bool reads_as(int64_t outer_extent, int64_t outer_step, int64_t inner_extent, int64_t inner_step,
              int64_t bytes) {
  const bool unit = inner_extent <= 1 || inner_step == bytes;
  return unit && (outer_extent <= 1 || outer_step >= std::max<int64_t>(inner_extent, 1) * bytes);
}

int64_t leading_of(int64_t outer_extent, int64_t outer_step, int64_t inner_extent, int64_t bytes) {
  return outer_extent <= 1 ? std::max<int64_t>(inner_extent, 1) : outer_step / bytes;
}

Layout layout_of(const GemmOperand& x, const OperandShape& shape, int64_t batch) {
  const size_t extents[] = {static_cast<size_t>(batch), static_cast<size_t>(shape.rows),
                            static_cast<size_t>(shape.cols)};
  const int64_t bytes = dtype_bytes(x.dtype);
  const ptrdiff_t strides[] = {x.batch_step / bytes, x.row_step / bytes, x.col_step / bytes};
  return make_layout(x.dtype, 3, extents, strides);
}

std::vector<Dim> dims_of(const GemmOperand& x, const OperandShape& shape) {
  return {{shape.batch, x.batch_step}, {shape.rows, x.row_step}, {shape.cols, x.col_step}};
}

}  // namespace

OperandShape shape_of_c(const GemmPlan& plan) { return {plan.batch, plan.m, plan.n}; }
OperandShape shape_of_a(const GemmPlan& plan) { return {plan.batch, plan.m, plan.k}; }
OperandShape shape_of_b(const GemmPlan& plan) { return {plan.batch, plan.k, plan.n}; }

BlasMatrix blas_matrix(const GemmOperand& x, const OperandShape& shape) {
  const int64_t bytes = dtype_bytes(x.dtype);
  if (x.batch_step < 0) return {};
  const int64_t batch_stride = x.batch_step / bytes;
  if (reads_as(shape.rows, x.row_step, shape.cols, x.col_step, bytes))
    return {true, false, leading_of(shape.rows, x.row_step, shape.cols, bytes), batch_stride};
  if (reads_as(shape.cols, x.col_step, shape.rows, x.row_step, bytes))
    return {true, true, leading_of(shape.cols, x.col_step, shape.rows, bytes), batch_stride};
  return {};
}

GemmOperand dense_operand(const GemmOperand& x, const OperandShape& shape, int64_t leading,
                          bool columns_first) {
  const int64_t bytes = dtype_bytes(x.dtype);
  const int64_t outer = columns_first ? shape.cols : shape.rows;
  GemmOperand dense{x.dtype, leading * bytes, bytes, 0};
  if (columns_first) std::swap(dense.row_step, dense.col_step);
  if (shape.rows <= 1) dense.row_step = 0;
  if (shape.cols <= 1) dense.col_step = 0;
  if (stored_batch(x, shape) > 1) dense.batch_step = outer * leading * bytes;
  return dense;
}

int64_t dense_bytes(const GemmOperand& x, const OperandShape& shape, int64_t leading,
                    bool columns_first) {
  const int64_t outer = columns_first ? shape.cols : shape.rows;
  return stored_batch(x, shape) * outer * leading * dtype_bytes(x.dtype);
}

RearrangePlan operand_copy(const GemmOperand& dst, const GemmOperand& src,
                           const OperandShape& shape) {
  const bool broadcast = dst.batch_step == 0 && src.batch_step == 0;
  const int64_t batch = broadcast ? std::min<int64_t>(shape.batch, 1) : shape.batch;
  return make_rearrange_plan(layout_of(dst, shape, batch), layout_of(src, shape, batch));
}

bool never_meet(const GemmOperand& x, const OperandShape& x_shape, const GemmOperand& y,
                const OperandShape& y_shape, int64_t y_base) {
  return never_meet(dims_of(x, x_shape), dtype_bytes(x.dtype), dims_of(y, y_shape),
                    dtype_bytes(y.dtype), y_base);
}

ByteRange operand_range(const GemmOperand& x, const OperandShape& shape) {
  return byte_range(layout_of(x, shape, stored_batch(x, shape)));
}

}  // namespace infini
