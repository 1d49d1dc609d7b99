// 16-bit products on the matrix unit of Intel processors (AMX): whether it works, and running a schedule. A task computes
// 32×32 sums at a time, which are rounded into C from the first cache while the next ones are computed.
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
#include "backends/cpu/gemm/amx/schedule.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/environment.h"

namespace infini::cpu {
namespace {

using amx::block, amx::group, amx::Schedule, amx::side, amx::tile_elements;

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

class Amx final : public CpuGemm {
 public:
  explicit Amx(const Schedule& schedule) : CpuGemm(schedule.plan), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }

  const char* candidate() const override { return "amx"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << (s_.f16 ? "f16 as two bf16, " : "") << "blocks of " << s_.rows << "x" << s_.cols
         << ", pieces of k " << s_.depth << ", " << s_.tasks() << " tasks on " << s_.threads
         << " threads" << (s_.reads_a ? ", a in place" : "") << (s_.swapped ? ", transposed" : "");
    return text.str();
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
      amx::configure();
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < count;)
        run_task(task_of(task, p, p.workspace + first * s_.scratch_bytes, alpha, beta));
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

  Task task_of(int64_t index, const Pointers& p, char* scratch, float alpha, float beta) const {
    const int64_t batch = index / (s_.row_blocks() * s_.col_blocks());
    const int64_t row = index / s_.col_blocks() % s_.row_blocks() * s_.rows,
                  col = index % s_.col_blocks() * s_.cols;
    auto* packed = reinterpret_cast<uint16_t*>(scratch);
    auto* turns = reinterpret_cast<float*>(packed + s_.planes() * (s_.a_plane + s_.b_plane));
    return {p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
            p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
            p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
            std::min(s_.rows, plan_.m - row),
            std::min(s_.cols, plan_.n - col),
            packed,
            packed + s_.planes() * s_.a_plane,
            turns,
            turns + 2 * amx::block_elements,
            alpha,
            beta};
  }

  void run_task(const Task& task) const {
    for (int64_t first = 0; first < plan_.k; first += s_.depth) run_blocks(task, pack(task, first));
  }

  Piece pack(const Task& task, int64_t first) const {
    const int64_t length = std::min(s_.depth, plan_.k - first), groups = ceil_div(length, group);
    const amx::Source a{task.a + first * plan_.a.col_step, plan_.a.row_step, plan_.a.col_step},
        b{task.b + first * plan_.b.row_step, plan_.b.row_step, plan_.b.col_step};
    constexpr int64_t tile_bytes = 2 * tile_elements;
    const auto* packed_a = reinterpret_cast<const char*>(task.packed_a);
    if (!s_.f16) {
      if (!s_.reads_a) amx::pack_a(amx::Parts::whole, a, task.rows, length, {task.packed_a, 0});
      amx::pack_b(amx::Parts::whole, b, length, task.cols, {task.packed_b, 0});
      return {s_.reads_a ? amx::Strips{a.first, a.row_step, 2 * group, side * a.row_step}
                         : amx::Strips{packed_a, 2 * group, tile_bytes, groups * tile_bytes},
              first,
              groups,
              {{0, 0}},
              1};
    }
    // What is infinite must not meet the zeros of low bits.
    int64_t from_a = 0, from_b = 0;
    if (!amx::pack_a(amx::Parts::halves, a, task.rows, length, {task.packed_a, s_.a_plane}))
      amx::pack_a(amx::Parts::finite_halves, a, task.rows, length,
                  {task.packed_a + (from_a = 2) * s_.a_plane, s_.a_plane});
    if (!amx::pack_b(amx::Parts::halves, b, length, task.cols, {task.packed_b, s_.b_plane}))
      amx::pack_b(amx::Parts::finite_halves, b, length, task.cols,
                  {task.packed_b + (from_b = 2) * s_.b_plane, s_.b_plane});
    return {{packed_a, 2 * group, tile_bytes, groups * tile_bytes},
            first,
            groups,
            {{from_a + 1, from_b + 1}, {from_a + 1, from_b}, {from_a, from_b + 1}, {0, 0}},
            4};
  }

  // Two strips of A stay near while the panels of B pass by. Sums of a k that is one piece have two places
  // in turn, others one for each block.
  void run_blocks(const Task& task, const Piece& piece) const {
    const bool one_piece = plan_.k <= s_.depth, last = piece.first + s_.depth >= plan_.k;
    const bool rounds = last && plan_.c.dtype == plan_.a.dtype && plan_.c.col_step == 2 &&
                        task.alpha == 1 && task.beta == 0;
    const bool adds = s_.f16 && piece.first > 0;
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
                            rows > side,        cols > side, !s_.f16 && piece.first > 0,
                            adds ? turn : sums, rounding,    rounds ? c : nullptr,
                            plan_.c.row_step};
        multiply_planes(task, piece, row, col, call);
        if (adds) amx::add(sums, turn);
        rounding = {};
        if (rounds && rows == block && cols == block)
          rounding = {sums, c, plan_.c.row_step, s_.f16};
        else if (last)
          finish(task, sums, c, rows, cols);
      }
    if (rounding.sums != nullptr) amx::round(rounding);
  }

  void multiply_planes(const Task& task, const Piece& piece, int64_t row, int64_t col,
                       amx::BlockCall& call) const {
    for (int i = 0; i < piece.count; ++i) {
      call.a.first = piece.strips.first + piece.products[i].a * s_.a_plane * 2 +
                     row / side * piece.strips.strip_step;
      call.b = task.packed_b + piece.products[i].b * s_.b_plane +
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

  const Schedule s_;
};

}  // namespace

Bid<GemmKernel> bid_amx(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Amx>(amx::estimate(target, plan, limit));
}

}  // namespace infini::cpu
