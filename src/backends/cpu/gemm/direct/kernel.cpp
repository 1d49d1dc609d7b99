// The direct gemm: running a schedule.
#include <algorithm>
#include <sstream>
#include <vector>

#include "backends/cpu/gemm/direct/schedule.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

using direct::each_panel, direct::line_bytes, direct::Part, direct::Schedule, direct::strip_height;

constexpr int64_t most_listed_tiles = 256;

template <class T>
class Direct final : public CpuGemm {
 public:
  explicit Direct(const Schedule& schedule)
      : CpuGemm(schedule.plan), kernels_(table(schedule.half ? Isa::avx2 : isa_)), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
    call_.k = plan_.k;
    call_.a_row = s_.packs_a ? plan_.k : plan_.a.row_step / int64_t{sizeof(T)};
    call_.a_col = s_.packs_a ? 1 : plan_.a.col_step / int64_t{sizeof(T)};
    call_.b_row = plan_.b.row_step / int64_t{sizeof(T)};
    call_.c_row = s_.through_sums ? s_.sum_row() : plan_.c.row_step / int64_t{sizeof(T)};
    call_.cols = static_cast<int>(plan_.n);
    if (s_.thread_bytes == 0 && s_.threads == 1 && s_.depth == plan_.k && !s_.along_rows)
      list_tiles();
  }

  const char* candidate() const override { return "direct"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << s_.tasks() << " tasks on " << s_.threads << " threads"
         << (s_.swapped ? ", transposed" : "") << (s_.packs_a ? ", a copied" : "")
         << (s_.packs_b ? ", b copied" : "");
    if (s_.depth < plan_.k) text << ", pieces of k " << s_.depth;
    text << (s_.through_sums ? ", c through sums" : "") << (s_.split ? ", in chains" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(", pieces of " + std::to_string(s_.depth) +
                            (s_.split ? ", in chains" : "") + (s_.swapped ? ", transposed" : ""));
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    if (!listed_.empty()) return run_listed(given, alpha, beta);
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    const int64_t tasks = s_.tasks();
    if (s_.threads == 1) {
      Thread alone{p};
      for (int64_t task = 0; task < tasks; ++task)
        run_task(alone, task, alpha, beta, task + 1 < tasks);
      return;
    }
    const int threads = std::min(s_.threads, available_threads());
    Shares shares(tasks, threads);
    parallel_for(threads, threads, [&](int64_t first, int64_t) {
      Thread mine{p};
      mine.p.workspace += first * s_.thread_bytes;
      shares.take(first, [&](int64_t task, bool more) { run_task(mine, task, alpha, beta, more); });
    });
  }

 private:
  struct Thread {
    Pointers p;
    int64_t copied = -1;  // which panel of which product it has a copy of
  };

  struct Listed {
    void (*tile)(const TileCall<T>&);
    int64_t a, b, c;  // elements from the product's first
    int cols;
  };

  // Short products notice every nanosecond between their tiles. (In a batch the tiles fetch, see below.)
  void list_tiles() {
    const int64_t least_tiles =
        saturating_mul(ceil_div(plan_.m, most_tile_rows), ceil_div(s_.vectors, most_tile_vectors));
    if (least_tiles > most_listed_tiles) return;
    each_panel(s_, {0, plan_.m, 0, s_.vectors}, [&](int64_t vectors, int64_t col) {
      const int cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
      const int64_t height = strip_height(s_.shape, plan_.m, vectors);
      for (int64_t row = 0; row < plan_.m; row += height)
        listed_.push_back({tile_of(row == 0 && s_.fetches_first ? TileKind::first : TileKind::plain,
                                   cols, vectors, std::min(height, plan_.m - row)),
                           row * call_.a_row, col, row * call_.c_row + col, cols});
    });
    const auto count = static_cast<int64_t>(listed_.size());
    if (count > most_listed_tiles || (count > 1 && plan_.batch > 1)) listed_.clear();
  }

  void run_listed(const Pointers& p, T alpha, T beta) const {
    TileCall<T> call = call_;
    const T* a = reinterpret_cast<const T*>(s_.swapped ? p.b : p.a);
    const T* b = reinterpret_cast<const T*>(s_.swapped ? p.a : p.b);
    T* c = reinterpret_cast<T*>(p.c);
    call.alpha = alpha;
    call.beta = beta;
    for (int64_t left = plan_.batch;;) {
      for (const Listed& one : listed_) {
        call.a = a + one.a;
        call.b = b + one.b;
        call.c = c + one.c;
        call.cols = one.cols;
        one.tile(call);
      }
      if (--left == 0) return;
      a += plan_.a.batch_step / int64_t{sizeof(T)};
      b += plan_.b.batch_step / int64_t{sizeof(T)};
      c += plan_.c.batch_step / int64_t{sizeof(T)};
    }
  }

  auto tile_of(TileKind kind, int64_t cols, int64_t vectors, int64_t rows) const {
    const bool whole = s_.packs_b || cols == vectors * kernels_.lanes;
    if (s_.split) return kernels_.split[kind == TileKind::first][whole][vectors - 1][rows - 1];
    return kernels_.tile[static_cast<int>(kind)][whole][vectors - 1][rows - 1];
  }

  struct Task {
    Pointers p;  // of its product, and of its rows
    Part part;   // its rows are counted from there
    const T* a;
    T alpha, beta;
    bool fetches;  // the operands of the task that follows
    bool b_copied = false;
    T* past = nullptr;  // where its rows of C wait to be stored past the caches
    int64_t tile = 0;   // how many were computed
  };

  void run_task(Thread& mine, int64_t index, T alpha, T beta, bool more) const {
    const Pointers& all = mine.p;
    const int64_t parts = s_.parts(), batch = parts == 1 ? index : index / parts;
    const Part part = s_.part(index - batch * parts);
    const Pointers p{all.workspace,
                     all.c + batch * plan_.c.batch_step + part.row * plan_.c.row_step,
                     all.a + batch * plan_.a.batch_step + part.row * plan_.a.row_step,
                     all.b + batch * plan_.b.batch_step};
    Task task{p,
              {0, part.rows, part.vector, part.vectors},
              reinterpret_cast<const T*>(p.a),
              alpha,
              beta,
              more && parts == 1 && s_.thread_bytes == 0 && s_.depth == plan_.k && !s_.along_rows};
    if (s_.packs_a) task.a = pack_a(p, part.rows);
    if (s_.keeps_panel) {
      const int64_t panel = index / s_.row_parts;
      task.b_copied = panel == mine.copied;
      mine.copied = panel;
    }
    if (s_.along_rows) return run_along_rows(task, part);
    if (!s_.through_sums)
      return each_piece([&](int64_t k) {
        each_panel(s_, part,
                   [&](int64_t vectors, int64_t col) { run_piece(task, k, vectors, col); });
      });
    each_panel(s_, part, [&](int64_t vectors, int64_t col) {
      for (int64_t row = 0; row < part.rows; row += s_.rows_together()) {
        Task some = rows_of(
            task, {row, std::min(s_.rows_together(), part.rows - row), part.vector, part.vectors},
            row > 0 || task.b_copied);
        each_piece([&](int64_t k) { run_piece(some, k, vectors, col); });
        kernels_.finish[memory_index(plan_.c.dtype)](
            {sums(p), s_.sum_row(), some.part.rows,
             std::min(vectors * kernels_.lanes, plan_.n - col), some.p.c + col * plan_.c.col_step,
             plan_.c.row_step, plan_.c.col_step, alpha, beta});
      }
    });
  }

  Task rows_of(const Task& task, const Part& part, bool b_copied) const {
    Task some = task;
    some.part = part;
    some.p.c += part.row * plan_.c.row_step;
    some.a += part.row * call_.a_row;
    some.b_copied = b_copied;
    return some;
  }

  // Strip by strip, each through all panels, so that C is written in the order in which it lies.
  void run_along_rows(const Task& task, const Part& part) const {
    if (s_.packs_b)
      each_panel(s_, part, [&](int64_t vectors, int64_t col) {
        TileCall<T> call = call_of(task, 0, vectors, col);
        pack_b(call, whole_b(task.p, col), vectors * kernels_.lanes);
      });
    each_strip(part, [&](const Part& strip) {
      Task some = rows_of(task, strip, true);
      if (s_.past_rows > 0 && task.beta == 0) some.past = sums(task.p);
      each_panel(s_, part, [&](int64_t vectors, int64_t col) { run_piece(some, 0, vectors, col); });
      if (some.past != nullptr) store_past_caches(some);
    });
    if (s_.past_rows > 0) streaming_fence();
  }

  void store_past_caches(const Task& task) const {
    const int64_t row = plan_.n * int64_t{sizeof(T)};
    const char* const src = reinterpret_cast<const char*>(task.past);
    if (plan_.c.row_step == row) return copy_streamed_ahead(task.p.c, src, task.part.rows * row, 0);
    for (int64_t i = 0; i < task.part.rows; ++i)
      copy_streamed_ahead(task.p.c + i * plan_.c.row_step, src + i * row, row, 0);
  }

  template <class Body>
  void each_piece(const Body& body) const {
    for (int64_t k = 0; k < plan_.k; k += s_.depth) body(k);
  }

  template <class Body>
  void each_strip(const Part& part, const Body& body) const {
    const int64_t height = s_.past_rows > 0
                               ? s_.past_rows
                               : strip_height(s_.shape, part.rows, std::min(s_.unit, part.vectors));
    for (int64_t row = 0; row < part.rows; row += height)
      body(Part{row, std::min(height, part.rows - row), part.vector, part.vectors});
  }

  TileCall<T> call_of(const Task& task, int64_t k, int64_t vectors, int64_t col) const {
    TileCall<T> call = call_;
    call.k = std::min(s_.depth, plan_.k - k);
    call.alpha = s_.through_sums ? T{1} : task.alpha;
    call.beta = k > 0 ? T{1} : s_.through_sums ? T{0} : task.beta;
    call.cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
    call.b = reinterpret_cast<const T*>(task.p.b + k * plan_.b.row_step + col * plan_.b.col_step);
    return call;
  }

  // A piece of k of a panel: all tiles of the task's rows.
  void run_piece(Task& task, int64_t k, int64_t vectors, int64_t col) const {
    TileCall<T> call = call_of(task, k, vectors, col);
    if (s_.packs_b) {
      T* const copy = whole_b(task.p, s_.along_rows ? col : 0);
      if (!task.b_copied) pack_b(call, copy, vectors * kernels_.lanes);
      call.b = copy;
      call.b_row = vectors * kernels_.lanes;
    }
    const T* const a = task.a + k * call.a_col;
    T* const c = task.past         ? task.past + col
                 : s_.through_sums ? sums(task.p)
                                   : reinterpret_cast<T*>(task.p.c + col * plan_.c.col_step);
    if (task.past) call.c_row = plan_.n;
    const int64_t rows = task.part.rows, height = strip_height(s_.shape, rows, vectors);
    const auto rest = task.fetches ? TileKind::fetching : TileKind::plain;
    const auto first =
        s_.fetches_first && task.part.row == 0 && !task.fetches ? TileKind::first : rest;
    for (int64_t row = 0; row < rows; row += height) {
      call.a = a + row * call.a_row;
      call.c = c + row * call.c_row;
      if (task.fetches) look_ahead(call, task.p, task.tile++);
      tile_of(row == 0 ? first : rest, call.cols, vectors, std::min(height, rows - row))(call);
    }
  }

  T* sums(const Pointers& p) const {
    return reinterpret_cast<T*>(p.workspace + s_.a_bytes + s_.b_bytes);
  }

  const T* pack_a(const Pointers& p, int64_t rows) const {
    T* const dst = reinterpret_cast<T*>(p.workspace);
    kernels_.pack[memory_index(plan_.a.dtype)](
        {p.a, plan_.a.row_step, plan_.a.col_step, rows, plan_.k, dst, plan_.k});
    return dst;
  }

  // Where the copy of the panel that begins at this column is, if all of them are kept.
  T* whole_b(const Pointers& p, int64_t col) const {
    return reinterpret_cast<T*>(p.workspace + s_.a_bytes) + col * plan_.k;
  }

  void pack_b(const TileCall<T>& call, T* dst, int64_t width) const {
    const int64_t unit = dtype_bytes(plan_.b.dtype);
    if (call.cols < width && plan_.b.row_step != unit && plan_.b.col_step != unit)
      std::fill_n(dst, call.k * width, T{0});
    kernels_.pack[memory_index(plan_.b.dtype)]({reinterpret_cast<const char*>(call.b),
                                                plan_.b.row_step, plan_.b.col_step, call.k,
                                                call.cols, dst, width});
  }

  // The tiles fetch the operands of the product that follows, a line for each k: first B, then A.
  void look_ahead(TileCall<T>& call, const Pointers& p, int64_t tile) const {
    const int64_t line = tile * plan_.k;
    const int64_t b_lines = round_up(plan_.k * plan_.n * int64_t{sizeof(T)} / line_bytes, plan_.k);
    call.ahead_step = line_bytes;
    call.ahead = line < b_lines ? p.b + plan_.b.batch_step + line * line_bytes
                                : p.a + plan_.a.batch_step + (line - b_lines) * line_bytes;
  }

  static const GemmKernels<T>& table(Isa set) {
    if constexpr (sizeof(T) == 8)
      return gemm_tables(set).f64;
    else
      return gemm_tables(set).f32;
  }

  const GemmKernels<T>& kernels_;
  const Schedule s_;
  std::vector<Listed> listed_;  // all tiles of a short product
  TileCall<T> call_{};          // what does not change from run to run
};

}  // namespace

Bid<GemmKernel> bid_direct(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Direct>(direct::estimate(target, plan, limit), plan);
}

}  // namespace infini::cpu
