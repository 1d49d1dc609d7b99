// Gemm plans: which layouts fit together, which are refused and in what words, and the laws of
// transposition, BLAS addressing and packing.
#include "plan/gemm/gemm_plan.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "plan/gemm/gemm_operand.h"

namespace infini {
namespace {

using Dims = std::vector<size_t>;
using Strides = std::vector<ptrdiff_t>;

Layout layout(infiniDtype_t dtype, const Dims& shape, const Strides& strides = {}) {
  return make_layout(dtype, shape.size(), shape.data(), strides.empty() ? nullptr : strides.data());
}

void expect_refused(infiniStatus_t status, const char* words, const Layout& c, const Layout& a,
                    const Layout& b) {
  try {
    make_gemm_plan(c, a, b);
    FAIL() << "accepted: " << to_string(c) << " = " << to_string(a) << " * " << to_string(b);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

constexpr auto f16 = INFINI_DTYPE_F16, bf16 = INFINI_DTYPE_BF16, f32 = INFINI_DTYPE_F32,
               f64 = INFINI_DTYPE_F64;

TEST(GemmPlan, KeepsExtentsAndByteSteps) {
  const GemmPlan plan = make_gemm_plan(layout(f32, {3, 5}), layout(f16, {3, 7}, {1, -3}),
                                       layout(f16, {7, 5}, {1, 7}));
  const GemmPlan expected{1, 3, 5, 7, {f32, 20, 4, 0}, {f16, 2, -6, 0}, {f16, 2, 14, 0}};
  EXPECT_EQ(plan, expected) << to_string(plan);
}

TEST(GemmPlan, BatchOfOneIsBroadcastAndRankTwoIsABatchOfOne) {
  const GemmPlan plan =
      make_gemm_plan(layout(f64, {4, 2, 3}), layout(f64, {1, 2, 5}), layout(f64, {5, 3}));
  EXPECT_EQ(plan.batch, 4);
  EXPECT_EQ(plan.c.batch_step, 48);
  EXPECT_EQ(plan.a.batch_step, 0);
  EXPECT_EQ(plan.b.batch_step, 0);
  const GemmPlan zero = make_gemm_plan(layout(f64, {4, 2, 3}), layout(f64, {4, 2, 5}, {0, 5, 1}),
                                       layout(f64, {5, 3}));
  EXPECT_EQ(zero, plan) << "a batch stride of 0 says the same";
}

TEST(GemmPlan, IgnoresStridesOfExtentOne) {
  const ptrdiff_t wild = PTRDIFF_MIN;
  const GemmPlan plan =
      make_gemm_plan(layout(f32, {1, 1, 4}, {wild, 0, 1}), layout(f32, {1, 1, 2}, {wild, wild, 1}),
                     layout(f32, {1, 2, 4}, {7, 4, 1}));
  EXPECT_EQ(plan, make_gemm_plan(layout(f32, {1, 4}), layout(f32, {1, 2}), layout(f32, {2, 4})));
}

TEST(GemmPlan, AcceptsEmptyExtents) {
  EXPECT_EQ(make_gemm_plan(layout(f32, {0, 4}), layout(f32, {0, 2}), layout(f32, {2, 4})).m, 0);
  EXPECT_EQ(make_gemm_plan(layout(f32, {3, 0}), layout(f32, {3, 2}), layout(f32, {2, 0})).n, 0);
  const GemmPlan no_k =
      make_gemm_plan(layout(f32, {3, 4}), layout(f32, {3, 0}), layout(f32, {0, 4}));
  EXPECT_EQ(no_k.k, 0);
  EXPECT_EQ(no_k.c.row_step, 16);
  EXPECT_EQ(
      make_gemm_plan(layout(f32, {0, 3, 4}), layout(f32, {0, 3, 2}), layout(f32, {2, 4})).batch, 0);
}

TEST(GemmPlan, RefusesShapesThatDoNotFit) {
  const auto status = INFINI_STATUS_BAD_TENSOR_SHAPE;
  const Layout c = layout(f32, {2, 3}), a = layout(f32, {2, 4}), b = layout(f32, {4, 3});
  expect_refused(status, "c has shape 3", layout(f32, {3}), a, b);
  expect_refused(status, "a has shape scalar", c, layout(f32, {}), b);
  expect_refused(status, "b has shape 1x1x4x3", c, a, layout(f32, {1, 1, 4, 3}));
  expect_refused(status, "a has 5 rows but c has 2", c, layout(f32, {5, 4}), b);
  expect_refused(status, "b has 5 columns but c has 3", c, a, layout(f32, {4, 5}));
  expect_refused(status, "a has 4 columns but b has 5 rows", c, a, layout(f32, {5, 3}));
  expect_refused(status, "a has a batch of 2 but c has 3", layout(f32, {3, 2, 3}),
                 layout(f32, {2, 2, 4}), b);
  expect_refused(status, "b has a batch of 2 but c has 1", c, a, layout(f32, {2, 4, 3}));
}

TEST(GemmPlan, RefusesMoreMultiplyAddsThanCanBeCounted) {
  const size_t k = size_t{1} << 58;
  const auto product = [&](const Dims& c) {
    return make_gemm_plan(layout(bf16, c), layout(bf16, {c[0], k}, {0, 0}),
                          layout(bf16, {k, c[1]}, {0, 0}));
  };
  EXPECT_EQ(product({4, 7}).k, int64_t{1} << 58);
  EXPECT_EQ(product({0, 7}).m, 0) << "no products at all";
  expect_refused(INFINI_STATUS_BAD_TENSOR_SHAPE, "more than 2^63 - 1 multiply-adds",
                 layout(bf16, {4, 8}), layout(bf16, {4, k}, {0, 0}), layout(bf16, {k, 8}, {0, 0}));
  expect_refused(INFINI_STATUS_BAD_TENSOR_SHAPE, "a batch of 2 products with m = 4, n = 7",
                 layout(bf16, {2, 4, 7}), layout(bf16, {4, k}, {0, 0}),
                 layout(bf16, {k, 7}, {0, 0}));
}

// Rows whose number times their distance does not fit, and a batch that such a number would equal if it wrapped.
TEST(GemmPlan, FoldsNoBatchWhoseRowsReachTooFar) {
  const int64_t far = int64_t{1} << 62;
  GemmPlan plan{2, 4, 1, 1, {bf16, 2, 0, 8}, {bf16, far, 0, 0}, {bf16, 0, 0, 0}};
  plan.a.batch_step = 1;
  EXPECT_EQ(fold_batch(plan), plan);
}

TEST(GemmPlan, RefusesDtypesThatDoNotFit) {
  const auto status = INFINI_STATUS_BAD_TENSOR_DTYPE;
  const auto refuse = [&](const char* words, infiniDtype_t c, infiniDtype_t a, infiniDtype_t b) {
    expect_refused(status, words, layout(c, {2, 3}), layout(a, {2, 4}), layout(b, {4, 3}));
  };
  refuse("a is i32", INFINI_DTYPE_I32, INFINI_DTYPE_I32, INFINI_DTYPE_I32);
  refuse("b is f16 but a is f32", f32, f32, f16);
  refuse("b is bf16 but a is f16", f32, f16, bf16);
  refuse("c is f64 but a and b are f32", f64, f32, f32);
  refuse("expected f16 or f32", bf16, f16, f16);
  for (infiniDtype_t narrow : {f16, bf16})
    EXPECT_NO_THROW(
        make_gemm_plan(layout(f32, {2, 3}), layout(narrow, {2, 4}), layout(narrow, {4, 3})));
}

TEST(GemmPlan, RefusesOverlappingC) {
  const auto status = INFINI_STATUS_BAD_TENSOR_STRIDES;
  const Layout a = layout(f32, {2, 4}), b = layout(f32, {4, 2});
  expect_refused(status, "share memory", layout(f32, {2, 2}, {1, 1}), a, b);
  expect_refused(status, "share memory", layout(f32, {2, 2}, {0, 1}), a, b);
  expect_refused(status, "share memory", layout(f32, {3, 2, 2}, {0, 2, 1}), a, b);
  expect_refused(status, "share memory", layout(f32, {2, 2}, {1, -1}), a, b);
  EXPECT_NO_THROW(make_gemm_plan(layout(f32, {2, 2}, {-1, 2}), a, b));
  EXPECT_NO_THROW(make_gemm_plan(layout(f32, {3, 2, 2}, {2, 6, 1}), a, b)) << "interleaved batches";
}

TEST(GemmPlan, TransposingTwiceIsTheSame) {
  const GemmPlan plan = make_gemm_plan(layout(f32, {6, 3, 5}), layout(bf16, {6, 3, 7}, {0, 1, 3}),
                                       layout(bf16, {6, 7, 5}));
  const GemmPlan other = transposed(plan);
  EXPECT_EQ(other.m, 5);
  EXPECT_EQ(other.n, 3);
  EXPECT_EQ(other.a.row_step, plan.b.col_step);
  EXPECT_EQ(transposed(other), plan);
}

TEST(GemmPlan, FoldsABatchThatIsOneTallerOrWiderProduct) {
  const Layout b = layout(f32, {7, 5});
  const GemmPlan taller = make_gemm_plan(layout(f32, {6, 3, 5}), layout(f32, {6, 3, 7}), b);
  EXPECT_EQ(fold_batch(taller), make_gemm_plan(layout(f32, {18, 5}), layout(f32, {18, 7}), b));
  const GemmPlan rows =
      make_gemm_plan(layout(f32, {6, 1, 5}, {9, 0, 1}), layout(f32, {6, 1, 7}), b);
  EXPECT_EQ(fold_batch(rows), make_gemm_plan(layout(f32, {6, 5}, {9, 1}), layout(f32, {6, 7}), b));
  const GemmPlan wider = make_gemm_plan(layout(f32, {6, 3, 5}, {5, 30, 1}), layout(f32, {3, 7}),
                                        layout(f32, {6, 7, 5}, {5, 30, 1}));
  EXPECT_EQ(fold_batch(wider),
            make_gemm_plan(layout(f32, {3, 30}), layout(f32, {3, 7}), layout(f32, {7, 30})));
  const GemmPlan apart =
      make_gemm_plan(layout(f32, {6, 3, 5}), layout(f32, {6, 3, 7}, {22, 7, 1}), b);
  EXPECT_EQ(fold_batch(apart), apart);
  const GemmPlan own =
      make_gemm_plan(layout(f32, {6, 3, 5}), layout(f32, {6, 3, 7}), layout(f32, {6, 7, 5}));
  EXPECT_EQ(fold_batch(own), own);
}

// The offsets, in elements, that a BLAS would compute, compared with the operand's own.
void check_blas_law(const GemmOperand& x, const OperandShape& shape) {
  const BlasMatrix blas = blas_matrix(x, shape);
  if (!blas.addressable) return;
  const int64_t bytes = dtype_bytes(x.dtype);
  EXPECT_GE(blas.leading, std::max<int64_t>(1, blas.columns_first ? shape.rows : shape.cols));
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t i = 0; i < shape.rows; ++i)
      for (int64_t j = 0; j < shape.cols; ++j) {
        const int64_t inside = blas.columns_first ? blas.leading * j + i : blas.leading * i + j;
        EXPECT_EQ((blas.batch_stride * b + inside) * bytes,
                  x.batch_step * b + x.row_step * i + x.col_step * j);
      }
}

TEST(BlasMatrix, AgreesWithTheOperandWhereverItIsAddressable) {
  std::mt19937 random(7);
  int addressable = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const OperandShape shape{pick(1, 3), pick(1, 4), pick(1, 4)};
    GemmOperand x{f16, pick(-2, 6) * 2, pick(-2, 6) * 2, pick(-1, 20) * 2};
    if (shape.rows == 1) x.row_step = 0;
    if (shape.cols == 1) x.col_step = 0;
    if (shape.batch == 1) x.batch_step = 0;
    check_blas_law(x, shape);
    addressable += blas_matrix(x, shape).addressable;
  }
  EXPECT_GT(addressable, 100);
  EXPECT_LT(addressable, 2900);
}

TEST(BlasMatrix, DeclinesWhatNoBlasReads) {
  const OperandShape shape{1, 4, 5};
  EXPECT_FALSE(blas_matrix({f32, 40, 8, 0}, shape).addressable) << "no unit stride";
  EXPECT_FALSE(blas_matrix({f32, -20, 4, 0}, shape).addressable) << "negative";
  EXPECT_FALSE(blas_matrix({f32, 16, 4, 0}, shape).addressable) << "overlapping rows";
  EXPECT_FALSE(blas_matrix({f32, 0, 4, 0}, shape).addressable) << "a broadcast row";
  EXPECT_FALSE(blas_matrix({f32, 20, 4, -80}, {2, 4, 5}).addressable) << "batches backwards";
  EXPECT_TRUE(blas_matrix({f32, 4, 16, 0}, shape).columns_first);
}

TEST(OperandCopy, PacksAnyOperandIntoADenseOne) {
  const OperandShape shape{2, 3, 5};
  const GemmOperand x{f32, -8, 24, 0};
  const GemmOperand dense = dense_operand(x, shape, 8, false);
  EXPECT_EQ(dense, (GemmOperand{f32, 32, 4, 0})) << "a broadcast batch stays one matrix";
  EXPECT_EQ(dense_bytes(x, shape, 8, false), 3 * 32);
  EXPECT_TRUE(blas_matrix(dense, shape).addressable);
  const RearrangePlan plan = operand_copy(dense, x, shape);
  EXPECT_EQ(moved_bytes(plan), 3 * 5 * 4);
  EXPECT_EQ(src_range(plan).begin, operand_range(x, shape).begin);
  EXPECT_EQ(src_range(plan).end, operand_range(x, shape).end);
  const GemmOperand both{f32, -8, 24, 200};
  EXPECT_EQ(dense_operand(both, shape, 4, true), (GemmOperand{f32, 4, 16, 80}));
  EXPECT_EQ(dense_bytes(both, shape, 4, true), 160);
}

TEST(NeverMeet, SeesSlicesOfOneBuffer) {
  const OperandShape shape{1, 8, 16};
  const GemmOperand row_slice{f32, 256, 4, 0};  // 16 of 64 columns
  EXPECT_TRUE(never_meet(row_slice, shape, row_slice, shape, 64));
  EXPECT_TRUE(never_meet(row_slice, shape, row_slice, shape, 192));
  EXPECT_TRUE(never_meet(row_slice, shape, row_slice, shape, -64));
  EXPECT_FALSE(never_meet(row_slice, shape, row_slice, shape, 60));
  EXPECT_FALSE(never_meet(row_slice, shape, row_slice, shape, 0));
  const GemmOperand even{f32, 128, 8, 0};  // every second column
  EXPECT_TRUE(never_meet(even, shape, even, shape, 4));
  EXPECT_FALSE(never_meet(even, shape, even, shape, 8));
}

// Whatever it says "never" to must hold element by element.
TEST(NeverMeet, IsNeverWrong) {
  std::mt19937 random(11);
  int shown = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const OperandShape xs{pick(1, 3), pick(1, 4), pick(1, 4)},
        ys{pick(1, 3), pick(1, 4), pick(1, 4)};
    const GemmOperand x{f32, pick(-6, 12) * 4, pick(-3, 6) * 4, pick(-9, 24) * 4};
    const GemmOperand y{f16, pick(-12, 24) * 2, pick(-6, 12) * 2, pick(-9, 48) * 2};
    const int64_t base = pick(-40, 40) * 2;
    if (!never_meet(x, xs, y, ys, base)) continue;
    ++shown;
    for (int64_t i = 0; i < xs.batch * xs.rows * xs.cols; ++i)
      for (int64_t j = 0; j < ys.batch * ys.rows * ys.cols; ++j) {
        const auto place = [](const GemmOperand& o, const OperandShape& s, int64_t at) {
          return at / (s.rows * s.cols) * o.batch_step + at / s.cols % s.rows * o.row_step +
                 at % s.cols * o.col_step;
        };
        const int64_t px = place(x, xs, i), py = base + place(y, ys, j);
        ASSERT_TRUE(px + 4 <= py || py + 2 <= px) << trial;
      }
  }
  EXPECT_GT(shown, 50);
}

}  // namespace
}  // namespace infini
