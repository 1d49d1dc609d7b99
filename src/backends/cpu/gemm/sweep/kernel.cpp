// Sweeps: running a schedule.
#include <algorithm>
#include <sstream>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/sweep/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

using sweep::depth, sweep::Schedule;

template <class T>
class Sweep final : public CpuGemm {
 public:
  explicit Sweep(const Schedule& schedule)
      : CpuGemm(schedule.plan), kernels_(this->template kernels<T>()), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }

  const char* candidate() const override { return "sweep"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << depth << " rows of b at a time, stretches of " << s_.cols
         << " columns on " << s_.threads << " threads" << (s_.swapped ? ", transposed" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(s_.swapped ? ", transposed" : "");
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    for (int64_t batch = 0; batch < plan_.batch; ++batch) {
      parallel_team(std::min(s_.threads, available_threads()), [&](Team& team) {
        team.share(s_.rows / s_.group, [&](int64_t group) { pack_group(p, batch, group); });
        team.wait();
        T* const sums =
            reinterpret_cast<T*>(p.workspace + s_.a_bytes + team.rank() * s_.thread_bytes);
        team.share(s_.stretches(), [&](int64_t stretch) {
          run_stretch(p, batch, stretch * s_.cols, sums, alpha, beta);
        });
      });
    }
  }

 private:
  T* group_of_a(const Pointers& p, int64_t group) const {
    return reinterpret_cast<T*>(p.workspace) + group * s_.group * plan_.k;
  }

  // Through a piece of a row: transposed at once, rows would be written behind their ends, where another thread packs.
  void pack_group(const Pointers& p, int64_t batch, int64_t group) const {
    T line[sweep::packed_depth];
    const int64_t all = s_.group, first = group * all, rows = std::min(all, plan_.m - first);
    T* const dst = group_of_a(p, group);
    if (rows < all) std::fill_n(dst, all * plan_.k, T{0});
    for (int64_t i = 0; i < rows; ++i) {
      const char* const src = p.a + batch * plan_.a.batch_step + (first + i) * plan_.a.row_step;
      for (int64_t k = 0; k < plan_.k; k += sweep::packed_depth) {
        const int64_t count = std::min(sweep::packed_depth, plan_.k - k);
        kernels_.pack[memory_index(plan_.a.dtype)](
            {src + k * plan_.a.col_step, 0, plan_.a.col_step, 1, count, line, 0});
        for (int64_t j = 0; j < count; ++j) dst[(k + j) * all + i] = line[j];
      }
    }
  }

  void run_stretch(const Pointers& p, int64_t batch, int64_t col, T* sums, T alpha, T beta) const {
    const int64_t cols = std::min(s_.cols, plan_.n - col);
    const char* const b = p.b + batch * plan_.b.batch_step + col * plan_.b.col_step;
    for (int64_t k = 0; k < plan_.k; k += depth) {
      const int64_t rows = std::min(depth, plan_.k - k);
      kernels_.sweep[memory_index(plan_.b.dtype)](
          {rows, cols, s_.rows / s_.group, group_of_a(p, 0) + k * s_.group, plan_.k * s_.group,
           b + k * plan_.b.row_step, plan_.b.row_step, sums, b + (k + depth) * plan_.b.row_step,
           k == 0});
    }
    for (int64_t j = 0; j < cols; j += s_.width)
      kernels_.finish[memory_index(plan_.c.dtype)](
          {sums + j * s_.rows, s_.width, plan_.m, std::min(s_.width, cols - j),
           p.c + batch * plan_.c.batch_step + (col + j) * plan_.c.col_step, plan_.c.row_step,
           plan_.c.col_step, alpha, beta});
  }

  const GemmKernels<T>& kernels_;
  const Schedule s_;
};

}  // namespace

Bid<GemmKernel> bid_sweep(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Sweep>(sweep::estimate(target, plan, limit), plan);
}

}  // namespace infini::cpu
