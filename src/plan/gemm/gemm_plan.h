// The gemm plan: C = alpha·A·B + beta·C as plain data, with every operand seen as rows and columns.
#pragma once

#include <cstdint>
#include <string>

#include "plan/layout/layout.h"

namespace infini {

// One operand: the byte steps from row to row, column to column and batch to batch. A step whose
// extent is 1 is 0 (a broadcast batch, too). Steps may be negative.
struct GemmOperand {
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  int64_t row_step = 0, col_step = 0, batch_step = 0;
};

// c is [batch, m, n], a is [batch, m, k], b is [batch, k, n]. Any extent may be 0.
struct GemmPlan {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  GemmOperand c, a, b;
};

// A rank of 2 is a batch of 1; a and b may have a batch of 1 where c has more.
// Law: batch·m·n·k fits into int64_t, and so does every product of some of them.
// Throws BAD_TENSOR_SHAPE (ranks or extents do not fit together, or too many multiply-adds), BAD_TENSOR_DTYPE (unsupported or
// mixed types) or BAD_TENSOR_STRIDES (elements of c share memory).
GemmPlan make_gemm_plan(const Layout& c, const Layout& a, const Layout& b);

// The same product seen from the other side, Cᵀ = Bᵀ·Aᵀ: m and n, a and b, rows and columns change
// places. Law: transposed(transposed(p)) == p.
GemmPlan transposed(const GemmPlan& plan);

// A batch that shares b and stacks the rows of a and c is one taller product; one that shares a and
// lines up the columns of b and c is a wider one. Other plans come back as they are.
GemmPlan fold_batch(const GemmPlan& plan);

bool operator==(const GemmOperand& x, const GemmOperand& y);
bool operator==(const GemmPlan& x, const GemmPlan& y);

// For people: the extents, then one line per operand.
std::string to_string(const GemmPlan& plan);
std::ostream& operator<<(std::ostream& out, const GemmPlan& plan);

}  // namespace infini
