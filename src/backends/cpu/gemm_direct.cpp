// The direct gemm: tiles straight from the operands' own memory, for products that are small or whose k
// is. What the tiles cannot read (16-bit types, columns that are contiguous) is copied panel by panel,
// by each thread for itself; preparing more would cost more than it saves.
#include <algorithm>
#include <sstream>

#include "backends/cpu/gemm.h"
#include "backends/cpu/gemm_direct_way.h"
#include "backends/cpu/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int plain = static_cast<int>(TileKind::plain),
              fetching = static_cast<int>(TileKind::fetching);
constexpr int64_t line_bytes = 64;
constexpr double cycles_per_thread = 12.5e3;  // below this a thread costs more than it saves
constexpr double bytes_per_cycle = 5;         // of C, from and to memory

template <class T>
class Direct final : public CpuGemm {
 public:
  explicit Direct(const GemmPlan& original, const DirectWay& way)
      : CpuGemm(way.swapped ? transposed(original) : original), kernels_(this->template kernels<T>()), way_(way) {
    vectors_ = ceil_div(plan_.n, kernels_.lanes);
    choose_parts();
    call_.k = plan_.k;
    call_.a_row = way_.packs_a ? plan_.k : plan_.a.row_step / int64_t{sizeof(T)};
    call_.a_col = way_.packs_a ? 1 : plan_.a.col_step / int64_t{sizeof(T)};
    call_.b_row = plan_.b.row_step / int64_t{sizeof(T)};
    call_.c_row = plan_.c.row_step / int64_t{sizeof(T)};
    call_.cols = static_cast<int>(plan_.n);
    if (way_.packs_a) a_bytes_ = round_up(plan_.m * plan_.k * int64_t{sizeof(T)} + line_bytes, line_bytes);
    if (way_.packs_b) b_bytes_ = (plan_.k + 1) * most_tile_vectors * kernels_.lanes * int64_t{sizeof(T)};
    workspace_bytes_ = static_cast<size_t>(threads_ * (a_bytes_ + b_bytes_));
    const bool in_place = workspace_bytes_ == 0 && !way_.through_sums;
    if (in_place && plan_.batch == 1 && panel_vectors(kernels_, vectors_, vectors_) == vectors_ &&
        plan_.m <= most_rows(kernels_, vectors_))
      only_tile_ = kernels_.tile[plain][vectors_ - 1][plan_.m - 1];
  }

  const char* candidate() const override { return "direct"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << plan_.batch * parts_ << " tasks of some " << (by_cols_ ? "columns" : "rows")
         << " on " << threads_ << " threads" << (way_.swapped ? ", transposed" : "") << (way_.packs_a ? ", a copied" : "")
         << (way_.packs_b ? ", b copied" : "") << (way_.through_sums ? ", c through sums" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(way_.swapped ? ", transposed" : "");
  }

 protected:
  void multiply(const Pointers& given, float alpha, float beta) const override {
    if (only_tile_ != nullptr) return run_only_tile(given, alpha, beta);
    Pointers p = given;
    if (way_.swapped) std::swap(p.a, p.b);
    const int64_t tasks = plan_.batch * parts_;
    const int threads = std::min(threads_, available_threads());
    parallel_for(threads, threads, [&](int64_t first, int64_t last) {
      const int64_t end = tasks * last / threads;
      Pointers mine = p;
      mine.workspace += first * (a_bytes_ + b_bytes_);
      for (int64_t task = tasks * first / threads; task < end; ++task) run_task(mine, task, alpha, beta, task + 1 < end);
    });
  }

 private:
  struct Part {  // of C
    int64_t row, rows, vector, vectors;
  };

  // Threads beyond the products share them, by rows or by columns, whichever leaves less over.
  void choose_parts() {
    const auto batch = static_cast<double>(plan_.batch);
    const double written = static_cast<double>(plan_.m * plan_.n * dtype_bytes(plan_.c.dtype)) / bytes_per_cycle;
    threads_ = static_cast<int>(std::clamp(batch * std::max(way_.cycles, written) / cycles_per_thread, 1.0,
                                           static_cast<double>(available_threads())));
    const int64_t strips = ceil_div(plan_.m, kernels_.tile_rows), panels = ceil_div(vectors_, kernels_.tile_vectors);
    const int64_t wanted = ceil_div(threads_, plan_.batch);
    const auto left_over = [&](int64_t units) { return static_cast<double>(round_up(units, wanted)) / static_cast<double>(units); };
    by_cols_ = left_over(panels) < left_over(strips) * (way_.packs_b ? 1.3 : 0.9);
    parts_ = std::min(by_cols_ ? panels : strips, wanted);
    threads_ = static_cast<int>(std::min<int64_t>(threads_, parts_ * plan_.batch));
  }

  Part part_of(int64_t part) const {
    if (!by_cols_) {
      const int64_t top = plan_.m * part / parts_;
      return {top, plan_.m * (part + 1) / parts_ - top, 0, vectors_};
    }
    const int64_t left = vectors_ * part / parts_;
    return {0, plan_.m, left, vectors_ * (part + 1) / parts_ - left};
  }

  // A product of one tile notices every nanosecond around it.
  void run_only_tile(const Pointers& p, T alpha, T beta) const {
    TileCall<T> call = call_;
    call.a = reinterpret_cast<const T*>(way_.swapped ? p.b : p.a);
    call.b = reinterpret_cast<const T*>(way_.swapped ? p.a : p.b);
    call.c = reinterpret_cast<T*>(p.c);
    call.alpha = alpha;
    call.beta = beta;
    only_tile_(call);
  }

  void run_task(const Pointers& all, int64_t task, T alpha, T beta, bool more) const {
    const int64_t batch = task / parts_;
    const Part part = part_of(task % parts_);
    const Pointers p{all.workspace, all.c + batch * plan_.c.batch_step + part.row * plan_.c.row_step,
                     all.a + batch * plan_.a.batch_step + part.row * plan_.a.row_step,
                     all.b + batch * plan_.b.batch_step};
    TileCall<T> call = call_;
    call.alpha = alpha;
    call.beta = beta;
    call.a = reinterpret_cast<const T*>(p.a);
    if (way_.packs_a) call.a = pack_a(p, part.rows);
    const bool fetches = more && parts_ == 1 && workspace_bytes_ == 0;
    int64_t tile = 0;
    for (int64_t left = part.vectors, at = part.vector; left > 0;) {
      const int64_t vectors = panel_vectors(kernels_, part.vectors, left), col = at * kernels_.lanes;
      call.cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
      call.b = reinterpret_cast<const T*>(p.b + col * plan_.b.col_step);
      if (way_.packs_b) pack_b(call, p, vectors * kernels_.lanes);
      run_panel(call, p, part.rows, col, fetches ? &tile : nullptr);
      left -= vectors;
      at += vectors;
    }
  }

  // Strips nearly equal in height: better than a last one of one row.
  void run_panel(TileCall<T>& call, const Pointers& p, int64_t rows, int64_t col, int64_t* tile) const {
    const int64_t vectors = ceil_div(call.cols, kernels_.lanes), most = most_rows(kernels_, vectors);
    const int64_t height = ceil_div(rows, ceil_div(rows, most));
    const auto& tiles = kernels_.tile[tile != nullptr ? fetching : plain][vectors - 1];
    const T* const a = call.a;
    for (int64_t row = 0; row < rows; row += height) {
      const int64_t count = std::min(height, rows - row);
      call.a = a + row * call.a_row;
      call.c = reinterpret_cast<T*>(p.c + row * plan_.c.row_step + col * plan_.c.col_step);
      if (tile != nullptr) look_ahead(call, p, (*tile)++);
      way_.through_sums ? run_through_sums(tiles[count - 1], call, count) : tiles[count - 1](call);
    }
    call.a = a;
  }

  void run_through_sums(void (*tile)(const TileCall<T>&), const TileCall<T>& call, int64_t rows) const {
    constexpr int64_t row_bytes = most_tile_vectors * line_bytes;
    alignas(line_bytes) T sums[most_tile_rows * row_bytes / sizeof(T)];
    TileCall<T> sum = call;
    sum.c = sums;
    sum.c_row = row_bytes / sizeof(T);
    sum.alpha = 1;
    sum.beta = 0;
    tile(sum);
    kernels_.finish[memory_index(plan_.c.dtype)]({sums, sum.c_row, rows, call.cols, reinterpret_cast<char*>(call.c),
                                                  plan_.c.row_step, plan_.c.col_step, call.alpha, call.beta});
  }

  const T* pack_a(const Pointers& p, int64_t rows) const {
    T* const dst = reinterpret_cast<T*>(p.workspace);
    kernels_.pack[memory_index(plan_.a.dtype)]({p.a, plan_.a.row_step, plan_.a.col_step, rows, plan_.k, dst, plan_.k});
    return dst;
  }

  void pack_b(TileCall<T>& call, const Pointers& p, int64_t width) const {
    T* const dst = reinterpret_cast<T*>(p.workspace + a_bytes_);
    if (call.cols < width) std::fill_n(dst, plan_.k * width, T{0});
    kernels_.pack[memory_index(plan_.b.dtype)](
        {reinterpret_cast<const char*>(call.b), plan_.b.row_step, plan_.b.col_step, plan_.k, call.cols, dst, width});
    call.b = dst;
    call.b_row = width;
  }

  // The tiles fetch the operands of the product that follows, a line for each k: first B, then A.
  void look_ahead(TileCall<T>& call, const Pointers& p, int64_t tile) const {
    const int64_t line = tile * plan_.k;
    const int64_t b_lines = round_up(plan_.k * plan_.n * int64_t{sizeof(T)} / line_bytes, plan_.k);
    call.ahead_step = line_bytes;
    call.ahead = line < b_lines ? p.b + plan_.b.batch_step + line * line_bytes
                                : p.a + plan_.a.batch_step + (line - b_lines) * line_bytes;
  }

  const GemmKernels<T>& kernels_;
  DirectWay way_;
  int threads_ = 1;
  void (*only_tile_)(const TileCall<T>&) = nullptr;  // where one is enough
  int64_t vectors_ = 0;                              // of n
  int64_t parts_ = 1;                                // of one product, each some of its rows or columns
  bool by_cols_ = false;
  int64_t a_bytes_ = 0, b_bytes_ = 0;                // of a thread's copies
  TileCall<T> call_{};                               // what does not change from run to run
};

}  // namespace

std::unique_ptr<GemmKernel> make_direct(const infini::Device&, const GemmPlan& plan) {
  const DirectWay way = direct_way(plan);
  if (is_f64(plan)) return std::make_unique<Direct<double>>(plan, way);
  return std::make_unique<Direct<float>>(plan, way);
}

}  // namespace infini::cpu
