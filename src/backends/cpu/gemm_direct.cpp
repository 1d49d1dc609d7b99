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

constexpr int64_t most_b_bytes = 160 << 10;  // of the memory that B lies in
constexpr double flops_per_thread = 1.5e6;   // below this a thread costs more than it saves

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
    const int64_t vectors =
        std::max<int64_t>(1, ceil_div(plan_.n, kernels_.lanes));  // in panels of equal width
    panel_ = ceil_div(vectors, ceil_div(vectors, kernels_.tile_vectors)) * kernels_.lanes;
    height_ =
        panel_ < kernels_.tile_vectors * kernels_.lanes ? kernels_.narrow_rows : kernels_.tile_rows;
    const double flops = 2.0 * static_cast<double>(plan_.batch) * static_cast<double>(plan_.m) *
                         static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
    threads_ = static_cast<int>(
        std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(available_threads())));
    strips_ = ceil_div(plan_.m, height_);
    height_ =
        ceil_div(plan_.m, strips_);  // nearly equal ones are better than a last one of one row
    strips_ = ceil_div(plan_.m, height_);
    parts_ = std::min<int64_t>(strips_, ceil_div(threads_, plan_.batch));
    call_.k = plan_.k;
    call_.a_row = plan_.a.row_step / int64_t{sizeof(T)};
    call_.a_col = plan_.a.col_step / int64_t{sizeof(T)};
    call_.b_row = plan_.b.row_step / int64_t{sizeof(T)};
    call_.c_row = plan_.c.row_step / int64_t{sizeof(T)};
  }

  const char* candidate() const override { return "direct"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << plan_.batch * parts_ << " tasks on " << threads_ << " threads"
         << (swapped_ ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, float alpha, float beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t tasks = plan_.batch * parts_;
    if (tasks == 1)
      return run_part(p, 0, plan_.m, alpha, beta);  // spared: what small products notice
    const int threads = std::min(threads_, available_threads());
    parallel_for(tasks, threads, [&](int64_t first, int64_t last) {
      for (int64_t task = first; task < last; ++task) {
        const int64_t batch = task / parts_, part = task % parts_;
        const int64_t top = strips_ * part / parts_ * height_,
                      bottom = std::min(plan_.m, strips_ * (part + 1) / parts_ * height_);
        run_part({nullptr, p.c + batch * plan_.c.batch_step, p.a + batch * plan_.a.batch_step,
                  p.b + batch * plan_.b.batch_step},
                 top, bottom - top, alpha, beta);
      }
    });
  }

 private:
  void run_part(const Pointers& p, int64_t first, int64_t rows, T alpha, T beta) const {
    TileCall<T> call = call_;
    call.alpha = alpha;
    call.beta = beta;
    const T* a = reinterpret_cast<const T*>(p.a) + first * call.a_row;
    T* c = reinterpret_cast<T*>(p.c) + first * call.c_row;
    for (int64_t col = 0; col < plan_.n; col += panel_) {
      call.b = reinterpret_cast<const T*>(p.b) + col;
      call.ahead = reinterpret_cast<const char*>(call.b);
      call.cols = static_cast<int>(std::min(panel_, plan_.n - col));
      const auto& tiles = kernels_.tile[0][(call.cols - 1) / kernels_.lanes];
      for (int64_t row = 0; row < rows; row += height_) {
        call.a = a + row * call.a_row;
        call.c = c + row * call.c_row + col;
        tiles[std::min(height_, rows - row) - 1](call);
      }
    }
  }

  const GemmKernels<T>& kernels_;
  bool swapped_ = false;
  int threads_ = 1;
  int64_t panel_ = 0, height_ = 1, strips_ = 1;
  int64_t parts_ = 1;   // of one product, each some strips
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
  return plan.n <= most_b_bytes && plan.k <= most_b_bytes &&
         plan.k * std::max(std::abs(plan.b.row_step), plan.n * bytes) <= most_b_bytes;
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
