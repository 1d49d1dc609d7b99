// Making a gemm plan: check the three layouts against each other, then keep extents and byte steps.
#include "plan/gemm/gemm_plan.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "plan/layout/disjoint.h"

namespace infini {
namespace {

constexpr auto bad_shape = INFINI_STATUS_BAD_TENSOR_SHAPE;
constexpr auto bad_dtype = INFINI_STATUS_BAD_TENSOR_DTYPE;

// A layout read as [batch, rows, columns]; a rank of 2 is a batch of 1.
struct Matrices {
  int64_t batch, rows, cols;
  GemmOperand operand;
};

Matrices read_matrices(const Layout& x, const char* name) {
  require(x.rank == 2 || x.rank == 3, bad_shape, name, " has shape ", ShapeOf{x},
          "; expected rank 2 [rows, columns] or rank 3 [batch, rows, columns]");
  const int row = x.rank - 2, col = x.rank - 1;
  const bool empty = element_count(x) == 0;
  const auto step = [&](int dim) {
    return empty || x.shape[dim] == 1 ? 0 : x.strides[dim] * dtype_bytes(x.dtype);
  };
  return {x.rank == 3 ? x.shape[0] : 1,
          x.shape[row],
          x.shape[col],
          {x.dtype, step(row), step(col), x.rank == 3 ? step(0) : 0}};
}

void require_dtypes(const Layout& c, const Layout& a, const Layout& b) {
  const bool narrow = a.dtype == INFINI_DTYPE_F16 || a.dtype == INFINI_DTYPE_BF16;
  require(narrow || a.dtype == INFINI_DTYPE_F32 || a.dtype == INFINI_DTYPE_F64, bad_dtype, "a is ",
          dtype_name(a.dtype), "; gemm multiplies f16, bf16, f32 and f64");
  require(b.dtype == a.dtype, bad_dtype, "b is ", dtype_name(b.dtype), " but a is ",
          dtype_name(a.dtype), "; they must be equal");
  require(c.dtype == a.dtype || (narrow && c.dtype == INFINI_DTYPE_F32), bad_dtype, "c is ",
          dtype_name(c.dtype), " but a and b are ", dtype_name(a.dtype), "; expected ",
          dtype_name(a.dtype), narrow ? " or f32" : "");
}

void require_shapes(const Matrices& c, const Matrices& a, const Matrices& b) {
  require(a.rows == c.rows, bad_shape, "a has ", a.rows, " rows but c has ", c.rows,
          "; both are m");
  require(b.cols == c.cols, bad_shape, "b has ", b.cols, " columns but c has ", c.cols,
          "; both are n");
  require(a.cols == b.rows, bad_shape, "a has ", a.cols, " columns but b has ", b.rows,
          " rows; both are k");
  const auto batch_fits = [&](const Matrices& x, const char* name) {
    require(x.batch == c.batch || x.batch == 1, bad_shape, name, " has a batch of ", x.batch,
            " but c has ", c.batch, "; expected ", c.batch, " or 1");
  };
  batch_fits(a, "a");
  batch_fits(b, "b");
}

// More would take years, and strides of 0 are all that lets such operands exist.
void require_countable(const Matrices& c, int64_t k) {
  if (c.batch == 0 || c.rows == 0 || c.cols == 0) return;
  int64_t count = k;
  const bool fits = checked_mul(count, c.cols, count) && checked_mul(count, c.rows, count) &&
                    checked_mul(count, c.batch, count);
  require(fits, bad_shape, "a batch of ", c.batch, " products with m = ", c.rows, ", n = ", c.cols,
          " and k = ", k, " has more than 2^63 - 1 multiply-adds");
}

void require_disjoint_c(const Matrices& c, const Layout& layout) {
  if (c.batch == 0 || c.rows == 0 || c.cols == 0) return;
  const GemmOperand& x = c.operand;
  const Dim dims[] = {{c.batch, std::abs(x.batch_step)},  // the sign cannot make points collide
                      {c.rows, std::abs(x.row_step)},
                      {c.cols, std::abs(x.col_step)}};
  require_disjoint(are_disjoint(dims, 3, dtype_bytes(x.dtype)), "c", layout);
}

std::string to_string(const GemmOperand& x) {
  std::ostringstream text;
  text << dtype_name(x.dtype) << " steps row " << x.row_step << ", column " << x.col_step
       << ", batch " << x.batch_step;
  return text.str();
}

}  // namespace

GemmPlan make_gemm_plan(const Layout& c, const Layout& a, const Layout& b) {
  require_dtypes(c, a, b);
  const Matrices mc = read_matrices(c, "c"), ma = read_matrices(a, "a"), mb = read_matrices(b, "b");
  require_shapes(mc, ma, mb);
  require_countable(mc, ma.cols);
  require_disjoint_c(mc, c);
  return {mc.batch, mc.rows, mc.cols, ma.cols, mc.operand, ma.operand, mb.operand};
}

GemmPlan transposed(const GemmPlan& plan) {
  const auto flip = [](GemmOperand x) {
    std::swap(x.row_step, x.col_step);
    return x;
  };
  return {plan.batch, plan.n, plan.m, plan.k, flip(plan.c), flip(plan.b), flip(plan.a)};
}

GemmPlan fold_batch(const GemmPlan& plan) {
  if (plan.b.batch_step != 0 && plan.a.batch_step == 0) {
    const GemmPlan folded = fold_batch(transposed(plan));
    return folded.batch == plan.batch ? plan : transposed(folded);
  }
  const auto stacks = [&](const GemmOperand& x) {
    int64_t rows = 0;
    return plan.m == 1 || (checked_mul(plan.m, x.row_step, rows) && x.batch_step == rows);
  };
  if (plan.batch <= 1 || plan.b.batch_step != 0 || plan.a.batch_step == 0 || !stacks(plan.a) ||
      !stacks(plan.c))
    return plan;
  GemmPlan folded = plan;
  folded.m *= plan.batch;
  folded.batch = 1;
  for (GemmOperand* x : {&folded.a, &folded.c}) {
    if (plan.m == 1) x->row_step = x->batch_step;
    x->batch_step = 0;
  }
  return folded;
}

bool operator==(const GemmOperand& x, const GemmOperand& y) {
  return x.dtype == y.dtype && x.row_step == y.row_step && x.col_step == y.col_step &&
         x.batch_step == y.batch_step;
}

bool operator==(const GemmPlan& x, const GemmPlan& y) {
  return x.batch == y.batch && x.m == y.m && x.n == y.n && x.k == y.k && x.c == y.c && x.a == y.a &&
         x.b == y.b;
}

std::string to_string(const GemmPlan& plan) {
  std::ostringstream text;
  text << "batch " << plan.batch << ", m " << plan.m << ", n " << plan.n << ", k " << plan.k << "\n"
       << "c " << to_string(plan.c) << "\na " << to_string(plan.a) << "\nb " << to_string(plan.b);
  return text.str();
}

std::ostream& operator<<(std::ostream& out, const GemmPlan& plan) { return out << to_string(plan); }

}  // namespace infini
