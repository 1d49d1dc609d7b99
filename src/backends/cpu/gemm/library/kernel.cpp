// Products by other people's libraries: C is cut into blocks, which the threads take one by one and
// have computed by the library on that thread alone. The cut depends on the problem only, so that the
// bits do not depend on the number of threads.
#include "backends/cpu/gemm/library/library.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/environment.h"
#include "base/error.h"
#include "contract/candidate.h"

namespace infini::cpu {
namespace {

constexpr int64_t wanted_blocks = 16;
constexpr double least_flops = 4.0e6;  // of a block
constexpr int64_t block_unit = 16;     // edges of blocks are multiples of it

// C must have unit columns; one with unit rows is computed transposed.
GemmPlan orient(const GemmPlan& plan) {
  return blas_matrix(plan.c, shape_of_c(plan)).columns_first ? transposed(plan) : plan;
}

bool all_fit_an_int(std::initializer_list<int64_t> extents) {
  return std::max(extents) <= std::numeric_limits<int>::max();
}

// The library can compute this at all: operands of its type, as a BLAS addresses them.
bool can(const GemmLibrary& library, const GemmPlan& original) {
  const bool f64 = is_f64(original);
  if (original.a.dtype != original.c.dtype || (!f64 && original.a.dtype != INFINI_DTYPE_F32))
    return false;
  if (!library.why_not.empty() || (f64 ? library.f64 == nullptr : library.f32 == nullptr))
    return false;
  const GemmPlan plan = orient(original);
  const BlasMatrix c = blas_matrix(plan.c, shape_of_c(plan)),
                   a = blas_matrix(plan.a, shape_of_a(plan)),
                   b = blas_matrix(plan.b, shape_of_b(plan));
  return c.addressable && !c.columns_first && a.addressable && b.addressable &&
         all_fit_an_int({plan.m, plan.n, plan.k, c.leading, a.leading, b.leading});
}

// INFINI_GEMM asks for this candidate by name.
bool is_forced(const char* name) {
  const char* wanted = environment("INFINI_CPU_GEMM");
  if (wanted == nullptr) wanted = environment("INFINI_GEMM");
  return wanted != nullptr && names(wanted, name);
}

// Measured ahead of the candidates behind it (docs/benchmarks-gemm-cpu.md): f32 of the middle sizes, row by
// row in memory and without odd edges. INFINI_CPU_ISA asks for our kernels.
bool onednn_leads(const GemmPlan& plan) {
  const auto is_middle = [](int64_t extent) {
    return extent >= 192 && extent <= 768 && extent % 32 == 0;
  };
  const bool rows = plan.a.col_step == sizeof(float) && plan.b.col_step == sizeof(float);
  return plan.a.dtype == INFINI_DTYPE_F32 && rows && is_middle(plan.m) && is_middle(plan.n) &&
         plan.k >= 96 && plan.k <= 768 && plan.k % 32 == 0 && isa() == Isa::avx512 &&
         environment("INFINI_CPU_ISA") == nullptr;
}

template <class T>
class LibraryGemm final : public CpuGemm {
 public:
  using Function = bool (*)(const LibraryCall<T>&);
  LibraryGemm(const char* name, const GemmLibrary& library, Function function,
              const GemmPlan& original)
      : CpuGemm(orient(original)), name_(name), library_(library), function_(function) {
    swapped_ = !(plan_ == original);
    call_.k = plan_.k;
    call_.a_form = blas_matrix(plan_.a, shape_of_a(plan_));
    call_.b_form = blas_matrix(plan_.b, shape_of_b(plan_));
    call_.c_form = blas_matrix(plan_.c, shape_of_c(plan_));
    cut();
  }

  const char* candidate() const override { return name_; }
  std::string schedule() const override {
    std::ostringstream text;
    text << library_.about << ", blocks of " << rows_ << "x" << cols_ << ", " << blocks()
         << " tasks, one thread each" << (swapped_ ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t count = blocks();
    const int threads = static_cast<int>(std::min<int64_t>(count, available_threads()));
    std::atomic<int64_t> next{0};
    std::atomic<bool> failed{false};
    parallel_for(threads, threads, [&](int64_t, int64_t) {
      const OneThread alone(library_.openmp);
      for (int64_t block; (block = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        if (!function_(call_of(p, block, alpha, beta)))
          failed.store(true, std::memory_order_relaxed);
    });
    require(!failed, INFINI_STATUS_INTERNAL_ERROR, library_.about,
            " could not compute this product");
  }

 private:
  void cut() {
    rows_ = plan_.m, cols_ = plan_.n;
    const auto flops = [&] {
      return 2.0 * static_cast<double>(rows_) * static_cast<double>(cols_) *
             static_cast<double>(plan_.k);
    };
    const auto half = [](int64_t extent) { return round_up(ceil_div(extent, 2), block_unit); };
    while (blocks() < wanted_blocks && flops() >= 2 * least_flops) {
      if (rows_ >= 2 * library_.least_rows)
        rows_ = half(rows_);
      else if (cols_ >= 2 * library_.least_cols)
        cols_ = half(cols_);
      else if (rows_ >= library_.least_rows)
        rows_ = half(rows_);  // rather too few rows than too few blocks
      else
        break;
    }
  }
  int64_t down() const { return ceil_div(plan_.m, rows_); }
  int64_t across() const { return ceil_div(plan_.n, cols_); }
  int64_t blocks() const { return plan_.batch * down() * across(); }

  LibraryCall<T> call_of(const Pointers& p, int64_t block, double alpha, double beta) const {
    const int64_t batch = block / (down() * across()), row = block / across() % down() * rows_,
                  col = block % across() * cols_;
    LibraryCall<T> call = call_;
    call.m = std::min(rows_, plan_.m - row);
    call.n = std::min(cols_, plan_.n - col);
    call.alpha = static_cast<T>(alpha);
    call.beta = static_cast<T>(beta);
    call.a = reinterpret_cast<const T*>(p.a + batch * plan_.a.batch_step + row * plan_.a.row_step);
    call.b = reinterpret_cast<const T*>(p.b + batch * plan_.b.batch_step + col * plan_.b.col_step);
    call.c = reinterpret_cast<T*>(p.c + batch * plan_.c.batch_step + row * plan_.c.row_step +
                                  col * plan_.c.col_step);
    return call;
  }

  const char* name_;
  const GemmLibrary& library_;
  Function function_;
  bool swapped_ = false;
  int64_t rows_ = 1, cols_ = 1;
  LibraryCall<T> call_{};  // what is the same in every block
};

std::unique_ptr<GemmKernel> make(const char* name, const GemmLibrary& library,
                                 const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<LibraryGemm<double>>(name, library, library.f64, plan);
  return std::make_unique<LibraryGemm<float>>(name, library, library.f32, plan);
}

}  // namespace

std::unique_ptr<GemmKernel> make_openblas(const infini::Device&, const GemmPlan& plan) {
  return is_forced("openblas") && can(openblas(), plan) ? make("openblas", openblas(), plan)
                                                        : nullptr;
}

std::unique_ptr<GemmKernel> make_onednn(const infini::Device&, const GemmPlan& plan) {
  const bool wanted = is_forced("onednn") || onednn_leads(plan);
  return wanted && can(onednn(), plan) ? make("onednn", onednn(), plan) : nullptr;
}

}  // namespace infini::cpu
