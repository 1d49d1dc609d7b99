// Decides which operands the matrix unit takes as they are and which are packed.
#include "backends/ascend/gemm/gemm_schedule.h"

#include <sstream>

#include "base/dtype.h"

namespace infini::ascend {
namespace {

constexpr size_t alignment = 256;

bool is_dense(const BlasMatrix& matrix, const GemmOperand& x, const OperandShape& shape) {
  const int64_t inner = matrix.columns_first ? shape.rows : shape.cols;
  const int64_t one = shape.rows * shape.cols;
  return matrix.addressable && matrix.leading == inner &&
         (x.batch_step == 0 || matrix.batch_stride == one);
}

// Takes the operand as it is where it can, else reserves room for a dense copy.
MatrixSide side_of(const GemmOperand& x, const OperandShape& shape, bool rows_only,
                   size_t& workspace) {
  MatrixSide side;
  side.stored = side.seen = x;
  side.one_batch = x.batch_step == 0;
  const BlasMatrix matrix = blas_matrix(x, shape);
  side.columns_first = matrix.addressable && matrix.columns_first;
  if (is_dense(matrix, x, shape) && !(rows_only && side.columns_first)) return side;
  side.packed = true;
  side.columns_first = side.columns_first && !rows_only;  // the copy keeps the order that it finds
  const int64_t leading = side.columns_first ? shape.rows : shape.cols;
  side.seen = dense_operand(x, shape, leading, side.columns_first);
  side.workspace_offset = workspace;
  const auto bytes = static_cast<size_t>(dense_bytes(x, shape, leading, side.columns_first));
  workspace += (bytes + alignment - 1) / alignment * alignment;
  return side;
}

bool is_column_major(const GemmOperand& c, const OperandShape& shape) {
  const BlasMatrix matrix = blas_matrix(c, shape);
  return matrix.addressable && matrix.columns_first;
}

const char* words(const MatrixSide& side) {
  return side.packed ? "packed" : side.columns_first ? "transposed view" : "as it is";
}

}  // namespace

GemmSchedule make_gemm_schedule(const GemmPlan& plan) {
  GemmSchedule schedule;
  const GemmPlan folded = fold_batch(plan);
  schedule.swapped = is_column_major(folded.c, shape_of_c(folded));
  schedule.plan = schedule.swapped ? transposed(folded) : folded;
  const GemmPlan& p = schedule.plan;
  schedule.c = side_of(p.c, shape_of_c(p), true, schedule.workspace_bytes);
  if (p.k == 0) return schedule;
  schedule.a = side_of(p.a, shape_of_a(p), false, schedule.workspace_bytes);
  schedule.b = side_of(p.b, shape_of_b(p), false, schedule.workspace_bytes);
  return schedule;
}

std::string to_string(const GemmSchedule& schedule) {
  std::ostringstream text;
  const GemmPlan& p = schedule.plan;
  text << p.batch << " x [" << p.m << "x" << p.k << "] x [" << p.k << "x" << p.n << "]"
       << (schedule.swapped ? ", transposed" : "") << "\n";
  text << "c " << words(schedule.c) << ", a " << words(schedule.a) << ", b " << words(schedule.b)
       << "\n";
  return text.str();
}

}  // namespace infini::ascend
