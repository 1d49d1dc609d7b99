// The direct gemm: tiles straight from the operands' own memory, for products whose B is small
// enough to stay near. Nothing is packed and there is no workspace; preparing would cost more than
// it saves.
#include <algorithm>
#include <sstream>

#include "backends/cpu/gemm.h"
#include "backends/cpu/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int plain = static_cast<int>(TileKind::plain),
              fetching = static_cast<int>(TileKind::fetching);
constexpr int64_t line_bytes = 64;
constexpr int64_t most_b_bytes = 160 << 10;  // of the memory that B lies in
constexpr int64_t short_row = 1024,          // bytes: rows that long and less crowd the first cache less
    most_bytes_of_short_rows = 264 << 10;
constexpr double flops_per_lane = 50e3;      // of a thread; below this it costs more than it saves

// The tiles write C along its columns; a C with unit rows is computed transposed.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_cols = plan.n == 1 || plan.c.col_step == bytes;
  return !unit_cols && (plan.m == 1 || plan.c.row_step == bytes) ? transposed(plan) : plan;
}

template <class T>
class Direct final : public CpuGemm {
 public:
  explicit Direct(const GemmPlan& original)
      : CpuGemm(orient(original)), kernels_(this->template kernels<T>()) {
    swapped_ = !(plan_ == original);
    vectors_ = ceil_div(plan_.n, kernels_.lanes);
    wide_ = kernels_.wide_vectors != 0 && vectors_ % kernels_.wide_vectors == 0;
    const double flops = 2.0 * static_cast<double>(plan_.batch) * static_cast<double>(plan_.m) *
                         static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
    threads_ = static_cast<int>(std::clamp(flops / (flops_per_lane * kernels_.lanes), 1.0,
                                           static_cast<double>(available_threads())));
    parts_ = std::min<int64_t>(ceil_div(plan_.m, kernels_.tile_rows),
                               ceil_div(threads_, plan_.batch));
    call_.k = plan_.k;
    call_.a_row = plan_.a.row_step / int64_t{sizeof(T)};
    call_.a_col = plan_.a.col_step / int64_t{sizeof(T)};
    call_.b_row = plan_.b.row_step / int64_t{sizeof(T)};
    call_.c_row = plan_.c.row_step / int64_t{sizeof(T)};
    call_.cols = static_cast<int>(plan_.n);
    const int64_t rows = ceil_div(plan_.m, parts_);
    for (int64_t v = 1; v <= most_tile_vectors; ++v)  // nearly equal: better than a last one of one row
      height_[v - 1] = ceil_div(rows, ceil_div(rows, most_rows(v)));
    if (plan_.batch == 1 && panel_vectors(vectors_) == vectors_ && plan_.m <= most_rows(vectors_))
      only_tile_ = kernels_.tile[plain][vectors_ - 1][plan_.m - 1];
  }

  const char* candidate() const override { return "direct"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << plan_.batch * parts_ << " tasks on " << threads_ << " threads"
         << (swapped_ ? ", transposed" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(swapped_ ? ", transposed" : "");
  }

 protected:
  void multiply(const Pointers& given, float alpha, float beta) const override {
    if (only_tile_ != nullptr) return run_only_tile(given, alpha, beta);
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t tasks = plan_.batch * parts_;
    if (tasks == 1) return run_part(p, 0, plan_.m, alpha, beta);
    const int threads = std::min(threads_, available_threads());
    parallel_for(tasks, threads, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t batch = task / parts_, part = task % parts_;
        const int64_t top = plan_.m * part / parts_, bottom = plan_.m * (part + 1) / parts_;
        run_part({nullptr, p.c + batch * plan_.c.batch_step, p.a + batch * plan_.a.batch_step,
                  p.b + batch * plan_.b.batch_step},
                 top, bottom - top, alpha, beta, task + 1 < last && parts_ == 1);
      }
    });
  }

 private:
  // A product of one tile notices every nanosecond around it.
  void run_only_tile(const Pointers& p, T alpha, T beta) const {
    TileCall<T> call = call_;
    call.a = reinterpret_cast<const T*>(swapped_ ? p.b : p.a);
    call.b = reinterpret_cast<const T*>(swapped_ ? p.a : p.b);
    call.c = reinterpret_cast<T*>(p.c);
    call.alpha = alpha;
    call.beta = beta;
    only_tile_(call);
  }

  // Vectors of the next panel: the widest, except that two of 2 are better than 3 and 1.
  int64_t panel_vectors(int64_t left) const {
    if (wide_) return kernels_.wide_vectors;
    if (left == 4 && kernels_.tile_vectors == 3) return 2;
    return std::min<int64_t>(left, kernels_.tile_vectors);
  }
  int64_t most_rows(int64_t vectors) const {
    if (vectors > kernels_.tile_vectors) return std::max(1, kernels_.wide_rows);
    return vectors == kernels_.tile_vectors ? kernels_.tile_rows : kernels_.narrow_rows;
  }

  void run_part(const Pointers& p, int64_t first, int64_t rows, T alpha, T beta,
                bool more = false) const {
    TileCall<T> call = call_;
    call.alpha = alpha;
    call.beta = beta;
    const T* a = reinterpret_cast<const T*>(p.a) + first * call.a_row;
    T* c = reinterpret_cast<T*>(p.c) + first * call.c_row;
    int64_t tile = 0;
    for (int64_t left = vectors_, col = 0; left > 0;) {
      const int64_t vectors = panel_vectors(left), height = height_[vectors - 1];
      call.b = reinterpret_cast<const T*>(p.b) + col;
      call.cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
      const auto& tiles = kernels_.tile[more ? fetching : plain][vectors - 1];
      for (int64_t row = 0; row < rows; row += height) {
        call.a = a + row * call.a_row;
        call.c = c + row * call.c_row + col;
        if (more) look_ahead(call, p, tile++);
        tiles[std::min(height, rows - row) - 1](call);
      }
      left -= vectors;
      col += vectors * kernels_.lanes;
    }
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
  bool swapped_ = false;
  int threads_ = 1;
  void (*only_tile_)(const TileCall<T>&) = nullptr;  // where one is enough
  int64_t vectors_ = 0, height_[most_tile_vectors] = {};  // of n; of strips, by the vectors of a panel
  bool wide_ = false;   // the widest panels divide n
  int64_t parts_ = 1;   // of one product, each some of its rows
  TileCall<T> call_{};  // what does not change from run to run
};

template <class T>
bool fits(const GemmPlan& plan) {
  const int64_t bytes = sizeof(T);
  const auto& tables = gemm_tables(isa());
  const int lanes = sizeof(T) == 8 ? tables.f64.lanes : tables.f32.lanes;
  const bool masks = sizeof(T) == 8 ? tables.f64.masks : tables.f32.masks;
  const bool unit_c = plan.n == 1 || plan.c.col_step == bytes,
             unit_b = plan.n == 1 || plan.b.col_step == bytes;
  if (!unit_c || !unit_b || (!masks && plan.n % lanes != 0)) return false;
  if (plan.n > most_b_bytes || plan.k > most_b_bytes) return false;
  const int64_t row = std::max(std::abs(plan.b.row_step), plan.n * bytes);
  return plan.k * row <= (row <= short_row ? most_bytes_of_short_rows : most_b_bytes);
}

}  // namespace

bool is_small(const infini::Device&, const GemmPlan& plan) {
  if (plan.a.dtype != plan.c.dtype || plan.m == 0 || plan.n == 0 || plan.batch == 0) return false;
  if (is_f64(plan)) return fits<double>(orient(plan));
  return plan.a.dtype == INFINI_DTYPE_F32 && fits<float>(orient(plan));
}

std::unique_ptr<GemmKernel> make_direct(const infini::Device&, const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<Direct<double>>(plan);
  return std::make_unique<Direct<float>>(plan);
}

}  // namespace infini::cpu
