// Sweeps: some rows of A against a large B whose rows are contiguous. They are bound by memory, or nearly: B is read once,
// in its own type, a few long rows at a time, while the sums of all rows wait in the second cache. (Tiles would keep their
// sums in registers and walk down B in short pieces of rows, which memory answers at half its speed.)
#include <algorithm>
#include <sstream>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t depth = most_sweep_depth;  // rows of B that meet the sums at once
constexpr int64_t sum_bytes = 512 << 10;     // of a thread, in its second cache
constexpr int64_t least_bytes = 4 << 20;     // of B: what is smaller may be in the caches
constexpr int64_t least_row_bytes = 256;     // of a row of B, for each thread
constexpr int64_t most_rows = 64;            // more are worth packing B

bool is_sweep(const GemmPlan& plan) {
  return plan.b.col_step == dtype_bytes(plan.b.dtype) && plan.n > 1 && plan.k > 0;
}

template <class T>
class Sweep final : public CpuGemm {
 public:
  explicit Sweep(const GemmPlan& original)
      : CpuGemm(with_few_rows(original)),
        kernels_(this->template kernels<T>()),
        swapped_(!(plan_ == original)) {
    width_ = 2 * kernels_.lanes;
    rows_ = round_up(plan_.m, kernels_.sweep_rows);
    threads_ = static_cast<int>(std::clamp<int64_t>(
        plan_.n * dtype_bytes(plan_.b.dtype) / least_row_bytes, 1, available_threads()));
    const int64_t limit = std::max(width_, sum_bytes / (rows_ * int64_t{sizeof(T)}));
    const int64_t rounds =
        ceil_div(plan_.n, threads_ * limit);  // of each thread: they should end together
    cols_ = round_up(ceil_div(plan_.n, threads_ * rounds), width_);
    a_bytes_ = round_up(saturating_mul(rows_, plan_.k, sizeof(T)), line_bytes);
    thread_bytes_ = rows_ * cols_ * int64_t{sizeof(T)};
    workspace_bytes_ = saturating_add(a_bytes_, threads_ * thread_bytes_);
  }

  const char* candidate() const override { return "sweep"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << depth << " rows of b at a time, stretches of " << cols_
         << " columns on " << threads_ << " threads" << (swapped_ ? ", transposed" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(swapped_ ? ", transposed" : "");
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    for (int64_t batch = 0; batch < plan_.batch; ++batch) {
      parallel_team(std::min(threads_, available_threads()), [&](Team& team) {
        team.share(rows_ / kernels_.sweep_rows,
                   [&](int64_t group) { pack_group(p, batch, group); });
        team.wait();
        T* const sums = reinterpret_cast<T*>(p.workspace + a_bytes_ + team.rank() * thread_bytes_);
        team.share(ceil_div(plan_.n, cols_), [&](int64_t stretch) {
          run_stretch(p, batch, stretch * cols_, sums, alpha, beta);
        });
      });
    }
  }

 private:
  T* group_of_a(const Pointers& p, int64_t group) const {
    return reinterpret_cast<T*>(p.workspace) + group * kernels_.sweep_rows * plan_.k;
  }

  // Through a piece of a row: transposed at once, rows would be written behind their ends, where another thread packs.
  void pack_group(const Pointers& p, int64_t batch, int64_t group) const {
    constexpr int64_t piece = 64;
    T line[piece];
    const int64_t all = kernels_.sweep_rows, first = group * all,
                  rows = std::min(all, plan_.m - first);
    T* const dst = group_of_a(p, group);
    if (rows < all) std::fill_n(dst, all * plan_.k, T{0});
    for (int64_t i = 0; i < rows; ++i) {
      const char* const src = p.a + batch * plan_.a.batch_step + (first + i) * plan_.a.row_step;
      for (int64_t k = 0; k < plan_.k; k += piece) {
        const int64_t count = std::min(piece, plan_.k - k);
        kernels_.pack[memory_index(plan_.a.dtype)](
            {src + k * plan_.a.col_step, 0, plan_.a.col_step, 1, count, line, 0});
        for (int64_t j = 0; j < count; ++j) dst[(k + j) * all + i] = line[j];
      }
    }
  }

  void run_stretch(const Pointers& p, int64_t batch, int64_t col, T* sums, T alpha, T beta) const {
    const int64_t cols = std::min(cols_, plan_.n - col);
    const char* const b = p.b + batch * plan_.b.batch_step + col * plan_.b.col_step;
    for (int64_t k = 0; k < plan_.k; k += depth) {
      const int64_t rows = std::min(depth, plan_.k - k);
      kernels_.sweep[memory_index(plan_.b.dtype)](
          {rows, cols, rows_ / kernels_.sweep_rows, group_of_a(p, 0) + k * kernels_.sweep_rows,
           plan_.k * kernels_.sweep_rows, b + k * plan_.b.row_step, plan_.b.row_step, sums,
           depth * plan_.b.row_step, k == 0});
    }
    for (int64_t j = 0; j < cols; j += width_)
      kernels_.finish[memory_index(plan_.c.dtype)](
          {sums + j * rows_, width_, plan_.m, std::min(width_, cols - j),
           p.c + batch * plan_.c.batch_step + (col + j) * plan_.c.col_step, plan_.c.row_step,
           plan_.c.col_step, alpha, beta});
  }

  const GemmKernels<T>& kernels_;
  bool swapped_;
  int threads_ = 1;
  int64_t width_ = 0, rows_ = 0, cols_ = 0, a_bytes_ = 0, thread_bytes_ = 0;
};

}  // namespace

bool prefers_sweep(const GemmPlan& original) {
  const GemmPlan plan = with_few_rows(original);
  if (!is_sweep(plan) || plan.m <= most_skinny_rows || plan.m > most_rows) return false;
  const int64_t bytes = dtype_bytes(plan.b.dtype);
  return plan.k * plan.n * bytes >= least_bytes && plan.n * bytes >= 8 * least_row_bytes &&
         plan.k >= 2 * depth;
}

std::unique_ptr<GemmKernel> make_sweep(const infini::Device&, const GemmPlan& plan) {
  if (!is_sweep(with_few_rows(plan))) return nullptr;
  if (is_f64(plan)) return where_it_fits(std::make_unique<Sweep<double>>(plan));
  return where_it_fits(std::make_unique<Sweep<float>>(plan));
}

}  // namespace infini::cpu
