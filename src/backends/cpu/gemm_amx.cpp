// bf16 products on the matrix unit of Intel processors (AMX).
//
// Like the blocked gemm, C is cut into blocks that are tasks, and k into pieces of fixed length;
// sums are f32 in the order of k, so that the bits do not depend on the number of threads.
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>

#include "backends/cpu/gemm.h"
#include "backends/cpu/gemm_amx_kernels.h"
#include "backends/cpu/parallel.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

using amx::group, amx::side, amx::tile_elements;

constexpr int64_t piece_groups = 16;  // 512 of k at a time
constexpr int64_t most_rows = 512, most_cols = 512;
constexpr double flops_per_thread = 8.0e6;
constexpr int few_threads = 4;  // end nearly together anyway: fewer tasks pack less

bool processor_says_so() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool tiles = (d >> 24 & 1) && (d >> 22 & 1);  // AMX-TILE, AMX-BF16
  return tiles && isa() == Isa::avx512;
}

// Linux hands out tile registers on request.
bool kernel_permits() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

sigjmp_buf after_trial;

// Some virtual machines announce AMX and then refuse the first instruction: try a small product,
// ready for the signals, and see that it is right.
bool trial_succeeds() {
  struct sigaction ours {}, before_ill {}, before_segv {};
  ours.sa_handler = [](int) { siglongjmp(after_trial, 1); };
  if (sigaction(SIGILL, &ours, &before_ill) != 0) return false;
  sigaction(SIGSEGV, &ours, &before_segv);
  volatile bool right = false;
  if (sigsetjmp(after_trial, 1) == 0) {
    alignas(64) uint16_t ones[2 * tile_elements];
    alignas(64) float sums[2 * side * 2 * side];
    std::fill_n(ones, 2 * tile_elements, uint16_t{0x3f80});
    amx::configure();
    amx::multiply(ones, ones, 1, true, sums, 2 * side, false);
    amx::release();
    right = std::all_of(sums, sums + 4 * side * side, [](float x) { return x == 32; });
  }
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGILL, &before_ill, nullptr);
  return right;
}

}  // namespace

bool amx_works() {
  static const bool works = processor_says_so() && kernel_permits() && trial_succeeds();
  return works;
}

namespace {

class Amx final : public CpuGemm {
 public:
  explicit Amx(const GemmPlan& plan) : CpuGemm(plan), rows_(plan.m), cols_(plan.n) {
    const double flops = 2.0 * static_cast<double>(plan_.batch) * static_cast<double>(plan_.m) *
                         static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
    threads_ = static_cast<int>(
        std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(available_threads())));
    const int64_t rounds = flops <= 64 * flops_per_thread ? 1 : threads_ <= few_threads ? 2 : 4;
    const int64_t wanted = threads_ == 1 ? 1 : rounds * threads_;
    constexpr int64_t unit = 2 * side;
    while (rows_ > most_rows || cols_ > most_cols || tasks() < wanted) {
      if (rows_ <= unit && cols_ <= unit) break;
      int64_t& longer = rows_ >= cols_ ? rows_ : cols_;
      longer = round_up(ceil_div(longer, 2), unit);
    }
    threads_ = static_cast<int>(std::min<int64_t>(threads_, tasks()));
    const int64_t depth = std::min(round_up(plan_.k, group), piece_groups * group);
    a_bytes_ = round_up(rows_, unit) * depth * 2;
    b_bytes_ = round_up(cols_, unit) * depth * 2;
    scratch_bytes_ = a_bytes_ + b_bytes_ + round_up(rows_, unit) * round_up(cols_, unit) * 4;
    workspace_bytes_ = static_cast<size_t>(threads_ * scratch_bytes_);
  }

  const char* candidate() const override { return "amx"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << "blocks of " << rows_ << "x" << cols_ << ", pieces of k " << piece_groups * group << ", "
         << tasks() << " tasks on " << threads_ << " threads";
    return text.str();
  }

 protected:
  void multiply(const Pointers& p, float alpha, float beta) const override {
    const int64_t count = tasks();
    const int threads = std::min(threads_, available_threads());
    std::atomic<int64_t> next{0};
    parallel_for(threads, threads, [&](int64_t first, int64_t last) {
      if (first == last) return;
      amx::configure();
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        run_task(task, p, p.workspace + first * scratch_bytes_, alpha, beta);
      amx::release();
    });
  }

 private:
  int64_t row_blocks() const { return ceil_div(plan_.m, rows_); }
  int64_t col_blocks() const { return ceil_div(plan_.n, cols_); }
  int64_t tasks() const { return plan_.batch * row_blocks() * col_blocks(); }

  void run_task(int64_t task, const Pointers& p, char* scratch, float alpha, float beta) const {
    const int64_t batch = task / (row_blocks() * col_blocks());
    const int64_t row = task / col_blocks() % row_blocks() * rows_, col = task % col_blocks() * cols_;
    const int64_t rows = std::min(rows_, plan_.m - row), cols = std::min(cols_, plan_.n - col);
    auto *a = reinterpret_cast<uint16_t*>(scratch), *b = reinterpret_cast<uint16_t*>(scratch + a_bytes_);
    auto* sums = reinterpret_cast<float*>(scratch + a_bytes_ + b_bytes_);
    const int64_t sum_row = round_up(cols_, 2 * side);
    for (int64_t first = 0; first < plan_.k; first += piece_groups * group) {
      const int64_t length = std::min(piece_groups * group, plan_.k - first);
      amx::pack_a(p.a + batch * plan_.a.batch_step + row * plan_.a.row_step + first * plan_.a.col_step,
                  plan_.a.row_step, plan_.a.col_step, rows, length, a);
      amx::pack_b(p.b + batch * plan_.b.batch_step + col * plan_.b.col_step + first * plan_.b.row_step,
                  plan_.b.row_step, plan_.b.col_step, length, cols, b);
      run_tiles(a, b, rows, cols, ceil_div(length, group), sums, sum_row, first > 0);
    }
    kernels<float>().finish[memory_index(plan_.c.dtype)](
        {sums, sum_row, rows, cols,
         p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
         plan_.c.row_step, plan_.c.col_step, alpha, beta});
  }

  // A last panel of 16 columns or fewer reads one that is not there: the scratch has room for it, and
  // what comes of it is never written to C.
  static void run_tiles(const uint16_t* a, const uint16_t* b, int64_t rows, int64_t cols,
                        int64_t groups, float* sums, int64_t sum_row, bool add) {
    for (int64_t col = 0; col < cols; col += 2 * side)
      for (int64_t row = 0; row < rows; row += 2 * side)
        amx::multiply(a + row / side * groups * tile_elements,
                      b + col / side * groups * tile_elements, groups, rows - row > side,
                      sums + row * sum_row + col, sum_row, add);
  }

  int64_t rows_, cols_, a_bytes_ = 0, b_bytes_ = 0, scratch_bytes_ = 0;
  int threads_ = 1;
};

}  // namespace

// Below this the other kernels have less to set up. INFINI_CPU_ISA asks for vectors only.
bool fits_amx(const GemmPlan& plan) {
  return plan.a.dtype == INFINI_DTYPE_BF16 && plan.m >= 8 && plan.n >= 16 && plan.k >= 32 &&
         plan.m * plan.n >= 512 && std::getenv("INFINI_CPU_ISA") == nullptr && amx_works();
}

std::unique_ptr<GemmKernel> make_amx(const infini::Device&, const GemmPlan& plan) {
  return fits_amx(plan) ? std::make_unique<Amx>(plan) : nullptr;
}

}  // namespace infini::cpu
