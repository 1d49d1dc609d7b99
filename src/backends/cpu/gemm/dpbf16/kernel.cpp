// bf16 products in pairs (AVX512-BF16): running a schedule.
#include <cpuid.h>

#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/gemm/dpbf16/kernels.h"
#include "backends/cpu/gemm/dpbf16/schedule.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

using dpbf16::End, dpbf16::lanes, dpbf16::packed_rows, dpbf16::Schedule;

class Dpbf16 final : public CpuGemm {
 public:
  explicit Dpbf16(const Schedule& schedule) : CpuGemm(schedule.plan), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }

  const char* candidate() const override { return "dpbf16"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << "blocks of " << s_.rows << "x" << s_.cols << ", pieces of k " << s_.depth
         << ", panels of " << s_.width << ", " << s_.tasks() << " tasks on " << s_.threads
         << " threads" << (s_.packs_a ? ", a packed" : "") << (s_.swapped ? ", transposed" : "");
    return text.str();
  }
  // A chain whose pairs have their second element first, and in which denormals are zeros.
  std::string arithmetic() const override {
    return chain_arithmetic(std::string(", pairs of k by vdpbf16ps") +
                            (s_.swapped ? ", transposed" : ""));
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    const int64_t count = s_.tasks();
    const int threads = std::min(s_.threads, available_threads());
    std::atomic<int64_t> next{0};
    parallel_for(threads, threads, [&](int64_t first, int64_t last) {
      if (first == last) return;
      char* const mine = p.workspace + first * s_.thread_bytes();
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        run_task(task_of(task, p, mine, alpha, beta));
    });
  }

 private:
  struct Task {  // a block of C, where its operands begin, and a thread's memory
    const char *a, *b;
    char* c;
    int64_t rows, cols;
    char *packed_a, *packed_b;
    float* sums;
    float alpha, beta;
  };
  struct Strip {  // of rows of A, for a piece of k
    const char* a;
    int64_t row, rows, a_row, a_pair, first, k;
  };

  Task task_of(int64_t index, const Pointers& p, char* memory, float alpha, float beta) const {
    const auto [batch, row, col, rows, cols] = s_.block(index);
    return {p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
            p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
            p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
            rows,
            cols,
            memory + s_.b_bytes,
            memory,
            reinterpret_cast<float*>(memory + s_.b_bytes + s_.a_bytes),
            alpha,
            beta};
  }

  void run_task(const Task& task) const {
    for (int64_t first = 0; first < plan_.k; first += s_.depth) {
      const int64_t k = std::min(s_.depth, plan_.k - first);
      dpbf16::pack({task.b + first * plan_.b.row_step, plan_.b.row_step, plan_.b.col_step, k,
                    task.cols, s_.width, task.packed_b, s_.panel_bytes(s_.width)});
      if (s_.packs_a)  // its rows are columns of panels
        dpbf16::pack({task.a + first * plan_.a.col_step, plan_.a.col_step, plan_.a.row_step, k,
                      task.rows, packed_rows, task.packed_a, s_.panel_bytes(packed_rows)});
      run_strips(task, first, k);
    }
  }

  // A strip of A stays in the first cache while the panels of B pass by.
  void run_strips(const Task& task, int64_t first, int64_t k) const {
    const int64_t widest = ceil_div(std::min(task.cols, s_.width), lanes);
    for (int64_t row = 0, rows; row < task.rows; row += rows) {
      rows = dpbf16::strip_rows(s_, task.rows, row, widest);
      Strip strip{task.a + row * plan_.a.row_step + first * plan_.a.col_step,
                  row,
                  rows,
                  plan_.a.row_step,
                  2 * plan_.a.col_step,
                  first,
                  k};
      if (s_.packs_a) {
        strip.a =
            task.packed_a + row / packed_rows * s_.panel_bytes(packed_rows) + row % packed_rows * 4;
        strip.a_row = 4;
        strip.a_pair = 4 * packed_rows;
      }
      for (int64_t col = 0; col < task.cols; col += s_.width) run_tile(task, strip, col);
    }
  }

  void run_tile(const Task& task, const Strip& strip, int64_t col) const {
    const bool last = strip.first + strip.k >= plan_.k;
    const int64_t cols = std::min(s_.width, task.cols - col), bytes = dtype_bytes(plan_.c.dtype);
    const bool plain =
        last && task.alpha == 1 && task.beta == 0 && (plan_.n == 1 || plan_.c.col_step == bytes);
    const bool kept = !s_.in_one_piece();
    float* const sums = kept ? task.sums + strip.row * s_.sum_row() + col : task.sums;
    const int64_t sum_row = kept ? s_.sum_row() : s_.width;
    char* const c = task.c + strip.row * plan_.c.row_step + col * plan_.c.col_step;
    dpbf16::tile(strip.rows, ceil_div(cols, lanes),
                 {strip.k, strip.a, strip.a_row, strip.a_pair,
                  task.packed_b + col / s_.width * s_.panel_bytes(s_.width), 4 * s_.width, sums,
                  sum_row, strip.first > 0,
                  !plain       ? End::sums
                  : bytes == 2 ? End::bf16
                               : End::f32,
                  c, plan_.c.row_step, static_cast<int>(cols)});
    if (last && !plain)
      kernels<float>().finish[memory_index(plan_.c.dtype)]({sums, sum_row, strip.rows, cols, c,
                                                            plan_.c.row_step, plan_.c.col_step,
                                                            task.alpha, task.beta});
  }

  const Schedule s_;
};

bool processor_has_it() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_leaf = __get_cpuid_count(7, 0, &a, &b, &c, &d) && a >= 1;
  return offers(Isa::avx512) && has_leaf && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

}  // namespace

bool has_dpbf16() {
  static const bool has = processor_has_it();
  return has;
}

Bid<GemmKernel> bid_dpbf16(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Dpbf16>(dpbf16::estimate(target, plan, limit));
}

}  // namespace infini::cpu
