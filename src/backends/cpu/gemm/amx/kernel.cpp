// bf16 and f16 products on the matrix unit of Intel processors (AMX).
//
// Like the blocked gemm, C is cut into blocks that are tasks, and k into pieces of fixed length;
// sums are f32 in the order of k, so that the bits do not depend on the number of threads. A task packs
// its part of B and, unless the tiles can be read where they lie, of A. It then computes 32×32 sums at a
// time, which are rounded into C from the first cache while the next ones are computed.
//
// f16 is the sum of two bf16, exactly, and so is a product of f16 of four products of bf16. The small
// ones are summed first, so that they round away no more than the large ones: a piece of k starts from
// zero, and is then added to those before it.
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>

#include "backends/cpu/gemm/amx/kernels.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/environment.h"

namespace infini::cpu {
namespace {

using amx::block, amx::group, amx::side, amx::tile_elements;

constexpr int64_t depth = 512,
                  most_depth = 1024;  // of the pieces of k, and of one that is all of it
// Few columns: A's rows are read once, from memory, and are better read to their ends.
constexpr int64_t few_cols = 64, few_cols_depth = 4096;
constexpr int64_t most_side = 512,
                  most_f16_side = 256;  // of a task's block: what it packs stays in L2
constexpr double flops_per_thread = 8.0e6;
constexpr int few_threads = 4;  // end nearly together anyway: fewer tasks pack less

bool processor_says_so() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool tiles = (d >> 24 & 1) && (d >> 22 & 1);  // AMX-TILE, AMX-BF16
  if (!tiles || isa() != Isa::avx512) return false;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);  // AVX512-BF16, which rounds
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
  struct sigaction ours {
  }, before_ill{}, before_segv{};
  ours.sa_handler = [](int) { siglongjmp(after_trial, 1); };
  if (sigaction(SIGILL, &ours, &before_ill) != 0) return false;
  sigaction(SIGSEGV, &ours, &before_segv);
  volatile bool right = false;
  if (sigsetjmp(after_trial, 1) == 0) {
    alignas(64) uint16_t ones[2 * amx::panel_elements(1)];
    alignas(64) float sums[amx::block_elements];
    std::fill_n(ones, 2 * amx::panel_elements(1), uint16_t{0x3f80});
    amx::configure();
    amx::multiply({{reinterpret_cast<const char*>(ones), 2 * group, 0, 2 * tile_elements},
                   ones,
                   1,
                   true,
                   true,
                   false,
                   sums});
    amx::release();
    right = std::all_of(sums, sums + amx::block_elements, [](float x) { return x == group; });
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

// C must have contiguous rows to be rounded into. And where both operands are contiguous along k, B is
// what has to be packed: a B of many columns becomes the A.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_rows = plan.c.col_step != bytes && plan.c.row_step == bytes;
  const bool weights =
      plan.a.col_step == 2 && plan.b.row_step == 2 && plan.m <= few_cols && plan.n >= 8 * plan.m;
  return unit_rows || weights ? transposed(plan) : plan;
}

class Amx final : public CpuGemm {
 public:
  explicit Amx(const GemmPlan& original)
      : CpuGemm(orient(original)), rows_(plan_.m), cols_(plan_.n) {
    swapped_ = !(plan_ == original);
    cut();
    reads_a_ = !f16_ && plan_.a.col_step == 2 && plan_.m % side == 0 && plan_.k % group == 0 &&
               (plan_.a.row_step % 64 == 0 || cols_ <= few_cols);
    const int64_t most = reads_a_ && cols_ <= few_cols    ? few_cols_depth
                         : !f16_ && plan_.k <= most_depth ? most_depth
                                                          : depth;
    depth_ = std::min(round_up(plan_.k, group), most);
    const int64_t rows = round_up(rows_, block), cols = round_up(cols_, block);
    a_plane_ = reads_a_ ? 0 : rows * depth_;
    b_plane_ = cols / side * amx::panel_elements(depth_ / group);
    const int64_t blocks = 2 + (plan_.k <= depth_ ? 0 : rows / block * (cols / block));
    scratch_bytes_ = planes() * (a_plane_ + b_plane_) * 2 +
                     blocks * amx::block_elements * int64_t{sizeof(float)};
    workspace_bytes_ = threads_ * scratch_bytes_;  // blocks and pieces have largest sizes
  }

  const char* candidate() const override { return "amx"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << (f16_ ? "f16 as two bf16, " : "") << "blocks of " << rows_ << "x" << cols_
         << ", pieces of k " << depth_ << ", " << tasks() << " tasks on " << threads_ << " threads"
         << (reads_a_ ? ", a in place" : "") << (swapped_ ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t count = tasks();
    const int threads = std::min(threads_, available_threads());
    std::atomic<int64_t> next{0};
    parallel_for(threads, threads, [&](int64_t first, int64_t last) {
      if (first == last) return;
      amx::configure();
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        run_task(task_of(task, p, p.workspace + first * scratch_bytes_, alpha, beta));
      amx::release();
    });
  }

 private:
  struct Task {  // a block of C, where its operands begin, and a thread's memory
    const char *a, *b;
    char* c;
    int64_t rows, cols;
    uint16_t *packed_a, *packed_b;
    float *turns, *sums;  // two blocks to be used in turn, and one for each
    float alpha, beta;
  };
  struct Piece {  // of k, packed; the planes to be multiplied, in this order
    amx::Strips strips;
    int64_t first, groups;
    struct {
      int64_t a, b;
    } products[4];
    int count;
  };

  // Threads, and tasks for them: the longer side is halved until there are enough.
  void cut() {
    const double flops = (f16_ ? 8.0 : 2.0) * static_cast<double>(plan_.batch) *
                         static_cast<double>(plan_.m) * static_cast<double>(plan_.n) *
                         static_cast<double>(plan_.k);
    threads_ = static_cast<int>(
        std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(available_threads())));
    const int64_t rounds = flops <= 64 * flops_per_thread ? 1 : threads_ <= few_threads ? 2 : 4;
    const int64_t wanted = threads_ == 1 ? 1 : rounds * threads_;
    const int64_t most = f16_ ? most_f16_side : most_side;
    while (rows_ > most || cols_ > most || tasks() < wanted) {
      if (rows_ <= block && cols_ <= block) break;
      int64_t& longer = rows_ >= cols_ ? rows_ : cols_;
      longer = round_up(ceil_div(longer, 2), block);
    }
    threads_ = static_cast<int>(std::min<int64_t>(threads_, tasks()));
  }

  int64_t row_blocks() const { return ceil_div(plan_.m, rows_); }
  int64_t col_blocks() const { return ceil_div(plan_.n, cols_); }
  int64_t tasks() const { return plan_.batch * row_blocks() * col_blocks(); }

  // f16: its high and low bits, and once more what is finite of them, where something is not.
  int64_t planes() const { return f16_ ? 4 : 1; }

  Task task_of(int64_t index, const Pointers& p, char* scratch, float alpha, float beta) const {
    const int64_t batch = index / (row_blocks() * col_blocks());
    const int64_t row = index / col_blocks() % row_blocks() * rows_,
                  col = index % col_blocks() * cols_;
    auto* packed = reinterpret_cast<uint16_t*>(scratch);
    auto* turns = reinterpret_cast<float*>(packed + planes() * (a_plane_ + b_plane_));
    return {p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
            p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
            p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
            std::min(rows_, plan_.m - row),
            std::min(cols_, plan_.n - col),
            packed,
            packed + planes() * a_plane_,
            turns,
            turns + 2 * amx::block_elements,
            alpha,
            beta};
  }

  void run_task(const Task& task) const {
    for (int64_t first = 0; first < plan_.k; first += depth_) run_blocks(task, pack(task, first));
  }

  Piece pack(const Task& task, int64_t first) const {
    const int64_t length = std::min(depth_, plan_.k - first), groups = ceil_div(length, group);
    const amx::Source a{task.a + first * plan_.a.col_step, plan_.a.row_step, plan_.a.col_step},
        b{task.b + first * plan_.b.row_step, plan_.b.row_step, plan_.b.col_step};
    constexpr int64_t tile_bytes = 2 * tile_elements;
    const auto* packed_a = reinterpret_cast<const char*>(task.packed_a);
    if (!f16_) {
      if (!reads_a_) amx::pack_a(amx::Parts::whole, a, task.rows, length, {task.packed_a, 0});
      amx::pack_b(amx::Parts::whole, b, length, task.cols, {task.packed_b, 0});
      return {reads_a_ ? amx::Strips{a.first, a.row_step, 2 * group, side * a.row_step}
                       : amx::Strips{packed_a, 2 * group, tile_bytes, groups * tile_bytes},
              first,
              groups,
              {{0, 0}},
              1};
    }
    // What is infinite must not meet the zeros of low bits.
    int64_t from_a = 0, from_b = 0;
    if (!amx::pack_a(amx::Parts::halves, a, task.rows, length, {task.packed_a, a_plane_}))
      amx::pack_a(amx::Parts::finite_halves, a, task.rows, length,
                  {task.packed_a + (from_a = 2) * a_plane_, a_plane_});
    if (!amx::pack_b(amx::Parts::halves, b, length, task.cols, {task.packed_b, b_plane_}))
      amx::pack_b(amx::Parts::finite_halves, b, length, task.cols,
                  {task.packed_b + (from_b = 2) * b_plane_, b_plane_});
    return {{packed_a, 2 * group, tile_bytes, groups * tile_bytes},
            first,
            groups,
            {{from_a + 1, from_b + 1}, {from_a + 1, from_b}, {from_a, from_b + 1}, {0, 0}},
            4};
  }

  // Two strips of A stay near while the panels of B pass by. Sums of a k that is one piece have two places
  // in turn, others one for each block.
  void run_blocks(const Task& task, const Piece& piece) const {
    const bool one_piece = plan_.k <= depth_, last = piece.first + depth_ >= plan_.k;
    const bool rounds = last && plan_.c.dtype == plan_.a.dtype && plan_.c.col_step == 2 &&
                        task.alpha == 1 && task.beta == 0;
    const bool adds = f16_ && piece.first > 0;
    amx::Rounding rounding;
    int64_t index = 0;
    for (int64_t row = 0; row < task.rows; row += block)
      for (int64_t col = 0; col < task.cols; col += block, ++index) {
        char* const c = task.c + row * plan_.c.row_step + col * plan_.c.col_step;
        const int64_t rows = std::min(block, task.rows - row),
                      cols = std::min(block, task.cols - col);
        float* const turn = task.turns + index % 2 * amx::block_elements;
        float* const sums = one_piece ? turn : task.sums + index * amx::block_elements;
        amx::BlockCall call{piece.strips,       nullptr,     piece.groups,
                            rows > side,        cols > side, !f16_ && piece.first > 0,
                            adds ? turn : sums, rounding,    rounds ? c : nullptr,
                            plan_.c.row_step};
        multiply_planes(task, piece, row, col, call);
        if (adds) amx::add(sums, turn);
        rounding = {};
        if (rounds && rows == block && cols == block)
          rounding = {sums, c, plan_.c.row_step, f16_};
        else if (last)
          finish(task, sums, c, rows, cols);
      }
    if (rounding.sums != nullptr) amx::round(rounding);
  }

  void multiply_planes(const Task& task, const Piece& piece, int64_t row, int64_t col,
                       amx::BlockCall& call) const {
    for (int i = 0; i < piece.count; ++i) {
      call.a.first = piece.strips.first + piece.products[i].a * a_plane_ * 2 +
                     row / side * piece.strips.strip_step;
      call.b = task.packed_b + piece.products[i].b * b_plane_ +
               col / side * amx::panel_elements(piece.groups);
      amx::multiply(call);
      call.add = true;
      call.rounding = {};
      call.written = nullptr;
    }
  }

  void finish(const Task& task, const float* sums, char* c, int64_t rows, int64_t cols) const {
    kernels<float>().finish[memory_index(plan_.c.dtype)](
        {sums, block, rows, cols, c, plan_.c.row_step, plan_.c.col_step, task.alpha, task.beta});
  }

  const bool f16_ = plan_.a.dtype == INFINI_DTYPE_F16;
  int64_t rows_, cols_, depth_ = 0, a_plane_ = 0, b_plane_ = 0, scratch_bytes_ = 0;
  bool swapped_ = false, reads_a_ = false;
  int threads_ = 1;
};

// INFINI_CPU_ISA asks for vectors only.
bool computes(const GemmPlan& plan) {
  const bool is_16_bit = plan.a.dtype == INFINI_DTYPE_BF16 || plan.a.dtype == INFINI_DTYPE_F16;
  const bool is_something = plan.batch > 0 && plan.m > 0 && plan.n > 0 && plan.k > 0;
  return is_16_bit && is_something && environment("INFINI_CPU_ISA") == nullptr && amx_works();
}

}  // namespace

// Below this the other kernels have less to set up, and vectors keep up with memory. A product of f16 is four, and its B costs
// more to pack than that of the others: it must meet more rows.
bool fits_amx(const GemmPlan& plan) {
  if (std::min(plan.m, plan.n) <= gemm_tables(isa()).f32.sweep_rows && prefers_sweep(plan))
    return false;
  const bool is_large = plan.a.dtype == INFINI_DTYPE_BF16
                            ? plan.m >= 8 && plan.n >= 16 && plan.k >= 32 && plan.m * plan.n >= 512
                            : plan.m >= 56 && plan.n >= 64 && plan.k >= 64 &&
                                  plan.batch * plan.m * plan.n * plan.k >= 2 << 20;
  return is_large && computes(plan);
}

std::unique_ptr<GemmKernel> make_amx(const infini::Device&, const GemmPlan& plan) {
  return computes(plan) ? std::make_unique<Amx>(plan) : nullptr;
}

}  // namespace infini::cpu
