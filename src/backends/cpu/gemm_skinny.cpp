// Skinny products (decoding, matrix times vector): a few rows of A against a large B. They are
// bound by memory: B is read once, in its own type, in the order in which it lies.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/gemm.h"
#include "backends/cpu/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t sum_bytes = 24 << 10;         // a stretch of columns whose sums stay in L1
constexpr int64_t reread_bytes = 64 << 10;      // columns that later rows of A read again
constexpr double bytes_per_thread = 128 << 10;  // of B; below this a thread does not pay
constexpr int64_t most_rows_across = 8, most_rows_along = 16;
constexpr int64_t cols_ahead = 4;   // of a B that is read along its columns once: 3 to 10 % at M = 1
constexpr int64_t rows_reread = 8;  // of B, which later rows of A read again across

enum class Walk { none, across, along };  // the contiguous direction of B: its rows or its columns

Walk walk_of(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.b.dtype);
  if (plan.b.row_step == bytes && plan.k > 1 && plan.m <= most_rows_along) return Walk::along;
  const bool rows_contiguous = plan.b.col_step == bytes && plan.n > 1;
  return rows_contiguous && plan.m <= most_rows_across ? Walk::across : Walk::none;
}

// Few rows, or few columns seen from the other side.
GemmPlan orient(const GemmPlan& plan) { return plan.m <= plan.n ? plan : transposed(plan); }

template <class T>
class Skinny final : public CpuGemm {
 public:
  explicit Skinny(const GemmPlan& original)
      : CpuGemm(orient(original)), kernels_(this->template kernels<T>()), walk_(walk_of(plan_)) {
    swapped_ = !(plan_ == original);
    const double bytes = static_cast<double>(plan_.k) * static_cast<double>(plan_.n) *
                         static_cast<double>(dtype_bytes(plan_.b.dtype));
    threads_ = static_cast<int>(
        std::clamp(bytes / bytes_per_thread, 1.0, static_cast<double>(available_threads())));
    const int64_t pad = line_bytes / int64_t{sizeof(T)};
    const int64_t room = plan_.m <= most_skinny_rows ? sum_bytes : 2 * sum_bytes;
    const int64_t stretch = round_up(room / (plan_.m * int64_t{sizeof(T)}), 2 * pad);
    cols_ = std::min(stretch, round_up(ceil_div(plan_.n, threads_), 2 * pad));
    const int64_t column_bytes = std::max<int64_t>(1, plan_.k * dtype_bytes(plan_.b.dtype));
    const bool once = plan_.m <= most_skinny_rows;  // later rows of A read the same part of B again
    cols_at_once_ = once || walk_ == Walk::across
                        ? cols_
                        : round_up(std::min(cols_, reread_bytes / column_bytes + 1), 4);
    ahead_ = once ? cols_ahead * plan_.b.col_step : 0;
    depth_at_once_ = once || walk_ == Walk::along ? plan_.k : rows_reread;
    a_row_ = round_up(plan_.k, pad);
    a_bytes_ = plan_.m * a_row_ * int64_t{sizeof(T)};
    scratch_bytes_ = plan_.m * round_up(cols_, pad) * int64_t{sizeof(T)};
    workspace_bytes_ = static_cast<size_t>(a_bytes_ + threads_ * scratch_bytes_);
  }

  const char* candidate() const override { return "skinny"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", b read " << (walk_ == Walk::across ? "across" : "along")
         << ", stretches of " << cols_ << " columns on " << threads_ << " threads"
         << (swapped_ ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, float alpha, float beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t stretches = ceil_div(plan_.n, cols_);
    const int threads = std::min(threads_, available_threads());
    for (int64_t batch = 0; batch < plan_.batch; ++batch) {
      T* a = reinterpret_cast<T*>(p.workspace);
      kernels_.pack[memory_index(plan_.a.dtype)]({p.a + batch * plan_.a.batch_step,
                                                  plan_.a.row_step, plan_.a.col_step, plan_.m,
                                                  plan_.k, a, a_row_});
      std::atomic<int64_t> next{0};
      parallel_for(threads, threads, [&](int64_t first, int64_t last) {
        T* sums = reinterpret_cast<T*>(p.workspace + a_bytes_ + first * scratch_bytes_);
        if (first == last) return;
        for (int64_t s; (s = next.fetch_add(1, std::memory_order_relaxed)) < stretches;)
          run_stretch(p, batch, s * cols_, a, sums, alpha, beta);
      });
    }
  }

 private:
  void run_stretch(const Pointers& p, int64_t batch, int64_t col, const T* a, T* sums, T alpha,
                   T beta) const {
    const int64_t cols = std::min(cols_, plan_.n - col), sum_row = cols_;
    const SkinnySet<T>& set = kernels_.skinny[memory_index(plan_.b.dtype)];
    const bool across = walk_ == Walk::across;
    if (across) std::fill_n(sums, plan_.m * sum_row, T{0});
    const char* b = p.b + batch * plan_.b.batch_step + col * plan_.b.col_step;
    for (int64_t first = 0; first < cols; first += cols_at_once_)
      for (int64_t k = 0; k < plan_.k; k += depth_at_once_)
        for (int64_t row = 0; row < plan_.m; row += most_skinny_rows) {
          const int64_t rows = std::min<int64_t>(most_skinny_rows, plan_.m - row);
          (across ? set.across : set.along)[rows - 1](
              {std::min(depth_at_once_, plan_.k - k), std::min(cols_at_once_, cols - first),
               a + row * a_row_ + k, a_row_, b + first * plan_.b.col_step + k * plan_.b.row_step,
               across ? plan_.b.row_step : plan_.b.col_step, sums + row * sum_row + first,
               sum_row, ahead_});
        }
    kernels_.finish[memory_index(plan_.c.dtype)](
        {sums, sum_row, plan_.m, cols, p.c + batch * plan_.c.batch_step + col * plan_.c.col_step,
         plan_.c.row_step, plan_.c.col_step, alpha, beta});
  }

  const GemmKernels<T>& kernels_;
  Walk walk_;
  bool swapped_ = false;
  int threads_ = 1;
  int64_t cols_ = 0, cols_at_once_ = 0, depth_at_once_ = 0, a_row_ = 0, a_bytes_ = 0,
          scratch_bytes_ = 0, ahead_ = 0;
};

}  // namespace

// Small products go to the blocked kernel, which has less to set up.
bool is_skinny(const infini::Device&, const GemmPlan& original) {
  const GemmPlan plan = orient(original);
  return plan.k > 0 && plan.k >= 64 && plan.n >= 64 && walk_of(plan) != Walk::none;
}

std::unique_ptr<GemmKernel> make_skinny(const infini::Device&, const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<Skinny<double>>(plan);
  return std::make_unique<Skinny<float>>(plan);
}

}  // namespace infini::cpu
