// What every gemm schedule has to show: each element of C meets every k once, in order.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cpu/gemm/target.h"
#include "base/dtype.h"
#include "harness/rearrange/random_problems.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::cpu {

// A processor of this profile with these instructions, which need not be there.
inline GemmTarget target_of(const Machine& facts, Isa isa, int threads) {
  const GemmTables& tables = gemm_tables(isa);
  GemmTarget target{&facts, isa, &tables.f32, &tables.f64};
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
    target.half_f32 = &gemm_tables(Isa::avx2).f32;
    target.half_f64 = &gemm_tables(Isa::avx2).f64;
  }
#endif
  target.threads = threads;
  return target;
}

// Any of them, with up to 20 threads.
inline GemmTarget random_target(harness::Random& random) {
  static const Machine facts = profile("generic");
#if defined(__x86_64__)
  const Isa isas[] = {Isa::portable, Isa::avx2, Isa::avx512};
#else
  const Isa isas[] = {Isa::portable, Isa::portable, Isa::portable};
#endif
  return target_of(facts, isas[random.between(0, 2)], static_cast<int>(random.between(1, 20)));
}

struct Box {  // of C, and a piece of k
  int64_t batch, row, col, rows, cols, k, depth;
};

class Coverage {
 public:
  explicit Coverage(const GemmPlan& plan)
      : plan_(plan), next_(static_cast<size_t>(plan.batch * plan.m * plan.n), 0) {}

  void add(const Box& box) {
    const bool inside = box.batch >= 0 && box.batch < plan_.batch && box.row >= 0 && box.rows > 0 &&
                        box.row + box.rows <= plan_.m && box.col >= 0 && box.cols > 0 &&
                        box.col + box.cols <= plan_.n && box.k >= 0 && box.depth > 0 &&
                        box.k + box.depth <= plan_.k;
    if (!inside) return complain("outside", box);
    for (int64_t i = box.row; i < box.row + box.rows; ++i)
      for (int64_t j = box.col; j < box.col + box.cols; ++j) {
        int64_t& next = next_[static_cast<size_t>((box.batch * plan_.m + i) * plan_.n + j)];
        if (next != box.k) complain("out of order", box);
        next = box.k + box.depth;
      }
  }

  // Empty: every element met all of k.
  std::string wrong() const {
    if (!wrong_.empty()) return wrong_;
    for (const int64_t next : next_)
      if (next != plan_.k) return "an element has only " + std::to_string(next) + " of k";
    return "";
  }

 private:
  void complain(const char* what, const Box& box) {
    if (!wrong_.empty()) return;
    std::ostringstream text;
    text << what << ": batch " << box.batch << ", rows " << box.row << "+" << box.rows
         << ", columns " << box.col << "+" << box.cols << ", k " << box.k << "+" << box.depth;
    wrong_ = text.str();
  }

  GemmPlan plan_;
  std::vector<int64_t> next_;
  std::string wrong_;
};

// A plan of any small extents and layouts: contiguous, transposed, or neither.
inline GemmPlan random_plan(harness::Random& random, infiniDtype_t dtype, int64_t most_elements) {
  const auto extent = [&] { return random.between(1, int64_t{1} << random.between(0, 12)); };
  GemmPlan plan;
  do {
    plan.batch = random.between(0, 3) == 0 ? random.between(2, 5) : 1;
    plan.m = extent(), plan.n = extent(), plan.k = extent();
  } while (plan.batch * plan.m * plan.n > most_elements);
  const auto lay_out = [&](GemmOperand& x, infiniDtype_t type, int64_t rows, int64_t cols) {
    const int64_t bytes = dtype_bytes(type), pad = random.between(0, 1) * random.between(0, 64);
    const int64_t unit = random.between(0, 9) == 0 ? 3 * bytes : bytes;
    x.dtype = type;
    x.row_step = (cols + pad) * unit, x.col_step = unit;
    if (random.between(0, 1) == 0) x.row_step = unit, x.col_step = (rows + pad) * unit;
    x.batch_step = (rows + pad) * (cols + pad) * unit;
    if (rows == 1) x.row_step = 0;
    if (cols == 1) x.col_step = 0;
    if (plan.batch == 1) x.batch_step = 0;
  };
  const bool wide = dtype_bytes(dtype) == 2 && random.between(0, 1) == 0;
  lay_out(plan.c, wide ? INFINI_DTYPE_F32 : dtype, plan.m, plan.n);
  lay_out(plan.a, dtype, plan.m, plan.k);
  lay_out(plan.b, dtype, plan.k, plan.n);
  return plan;
}

}  // namespace infini::cpu
