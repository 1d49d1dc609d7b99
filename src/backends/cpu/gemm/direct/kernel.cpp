// The direct gemm: tiles straight from the operands' own memory, for products that are small or whose k
// is. What the tiles cannot read (16-bit types, columns that are contiguous) is copied panel by panel,
// by each thread for itself; preparing more would cost more than it saves.
#include <algorithm>
#include <sstream>
#include <vector>

#include "backends/cpu/gemm/direct/way.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr double cycles_per_thread = 10e3;  // below this a thread costs more than it saves
constexpr double cycles_of_turns =
    1e5;  // of a thread; from there on it takes turns with the others
constexpr int64_t most_row_parts = 8, turns = 4;
constexpr int64_t most_summed_rows = 512, summed_bytes = 48 << 10;  // half of it is used
constexpr int64_t short_k = 64,
                  near_bytes = 8 << 20;      // with less k and more C, C is written row by row
constexpr int64_t most_whole_b = 512 << 10;  // and a B that must be copied is copied whole
constexpr int64_t first_cache_bytes = 40 << 10, second_cache_bytes = 1 << 20;
// What a turn costs; copying a panel, in rows that meet it; and how much of a turn the others wait for the last.
constexpr double turn_cycles = 400, rows_of_copying = 8, waits_at_end = 0.15;
constexpr int64_t most_listed_tiles = 256;
constexpr double bytes_per_cycle = 5;  // of C, from and to memory

template <class T>
class Direct final : public CpuGemm {
 public:
  explicit Direct(const GemmPlan& original, const DirectWay& way)
      : CpuGemm(way.swapped ? transposed(original) : original),
        kernels_(direct_kernels<T>(isa_, plan_)),
        way_(way) {
    vectors_ = ceil_div(plan_.n, kernels_.lanes);
    choose_parts();
    // One or two rows of A keep the loads busy themselves, unless these cross lines, which is slow where lines are far.
    const bool loads_well = plan_.m <= slim_rows && plan_.b.row_step % line_bytes == 0;
    call_.k = plan_.k;
    call_.a_row = way_.packs_a ? plan_.k : plan_.a.row_step / int64_t{sizeof(T)};
    call_.a_col = way_.packs_a ? 1 : plan_.a.col_step / int64_t{sizeof(T)};
    call_.b_row = plan_.b.row_step / int64_t{sizeof(T)};
    call_.c_row = plan_.c.row_step / int64_t{sizeof(T)};
    call_.cols = static_cast<int>(plan_.n);
    if (way_.packs_a)
      a_bytes_ = round_up(saturating_add(saturating_mul(plan_.m, plan_.k, sizeof(T)), line_bytes),
                          line_bytes);
    if (way_.packs_b && along_rows_)
      b_bytes_ = whole_b_bytes_;
    else if (way_.packs_b)
      b_bytes_ = (way_.depth + 1) * (plan_.m <= slim_rows ? most_tile_vectors : 4) *
                 kernels_.lanes * int64_t{sizeof(T)};
    fetches_first_ = !way_.packs_b && saturating_mul(plan_.k, plan_.n, sizeof(T)) >
                                          (loads_well ? second_cache_bytes : first_cache_bytes);
    thread_bytes_ = saturating_add(a_bytes_, b_bytes_);
    if (way_.through_sums)
      thread_bytes_ =
          saturating_add(thread_bytes_, std::min(ceil_div(plan_.m, row_parts_), rows_together()) *
                                            sum_row * int64_t{sizeof(T)});
    workspace_bytes_ = saturating_mul(threads_, thread_bytes_);
    if (way_.through_sums) call_.c_row = sum_row;
    if (thread_bytes_ == 0 && threads_ == 1 && way_.depth == plan_.k && !along_rows_) list_tiles();
  }

  const char* candidate() const override { return "direct"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", " << plan_.batch * row_parts_ * col_parts_ << " tasks on "
         << threads_ << " threads" << (way_.swapped ? ", transposed" : "")
         << (way_.packs_a ? ", a copied" : "") << (way_.packs_b ? ", b copied" : "");
    if (way_.depth < plan_.k) text << ", pieces of k " << way_.depth;
    text << (way_.through_sums ? ", c through sums" : "");
    return text.str();
  }
  std::string arithmetic() const override {
    return chain_arithmetic(", pieces of " + std::to_string(way_.depth) +
                            (way_.swapped ? ", transposed" : ""));
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    if (!listed_.empty()) return run_listed(given, alpha, beta);
    Pointers p = given;
    if (way_.swapped) std::swap(p.a, p.b);
    const int64_t tasks = plan_.batch * row_parts_ * col_parts_;
    if (threads_ == 1) {
      Thread alone{p};
      for (int64_t task = 0; task < tasks; ++task)
        run_task(alone, task, alpha, beta, task + 1 < tasks);
      return;
    }
    const int threads = std::min(threads_, available_threads());
    Shares shares(tasks, threads);
    parallel_for(threads, threads, [&](int64_t first, int64_t) {
      Thread mine{p};
      mine.p.workspace += first * thread_bytes_;
      shares.take(first, [&](int64_t task, bool more) { run_task(mine, task, alpha, beta, more); });
    });
  }

 private:
  static constexpr int64_t sum_row = most_tile_vectors * line_bytes / int64_t{sizeof(T)};
  struct Part {  // of C
    int64_t row, rows, vector, vectors;
  };
  struct Thread {
    Pointers p;
    int64_t copied = -1;  // which panel of which product it has a copy of
  };

  // Threads beyond the products share them; where there is much to do, in more parts than threads.
  void choose_parts() {
    const auto batch = static_cast<double>(plan_.batch);
    const double written =
        static_cast<double>(saturating_mul(plan_.m, plan_.n, dtype_bytes(plan_.c.dtype))) /
        bytes_per_cycle;
    const double cycles = batch * std::max(way_.cycles, written);
    threads_ = static_cast<int>(
        std::clamp(cycles / cycles_per_thread, 1.0, static_cast<double>(available_threads())));
    const bool takes_turns = threads_ > 1 && cycles > threads_ * cycles_of_turns && !way_.packs_a;
    unit_ = kernels_.wide_vectors != 0 && vectors_ % kernels_.wide_vectors == 0
                ? kernels_.wide_vectors
                : kernels_.tile_vectors;
    const int64_t strips = ceil_div(plan_.m, kernels_.tile_rows);
    whole_b_bytes_ = saturating_mul(plan_.k, vectors_, line_bytes);
    along_rows_ = !way_.through_sums && !way_.packs_a && plan_.k <= short_k &&
                  way_.depth == plan_.k && strips >= turns * threads_ &&
                  saturating_mul(plan_.batch, plan_.m, plan_.n, sizeof(T)) > near_bytes &&
                  (!way_.packs_b || whole_b_bytes_ <= most_whole_b);
    if (along_rows_)
      row_parts_ = takes_turns ? turns * threads_ : ceil_div(threads_, plan_.batch);
    else
      takes_turns ? choose_turns() : share_out(parts_wanted());
    if (way_.through_sums && way_.depth < plan_.k)
      row_parts_ = round_up(std::max(row_parts_, ceil_div(plan_.m, most_summed_rows)), row_parts_);
    keeps_panel_ = way_.packs_b && way_.depth == plan_.k && !along_rows_ &&
                   col_parts_ == ceil_div(vectors_, unit_);
    threads_ = static_cast<int>(std::min<int64_t>(threads_, row_parts_ * col_parts_ * plan_.batch));
  }

  // Of each product: a few products more than threads would leave some of these without work at the end.
  int64_t parts_wanted() const {
    int64_t parts = ceil_div(threads_, plan_.batch);
    const auto idle = [&](int64_t p) {
      return round_up(plan_.batch * p, int64_t{threads_}) - plan_.batch * p;
    };
    if (plan_.batch > 1)
      while (parts < threads_ && 8 * idle(parts) > plan_.batch * parts) ++parts;
    return parts;
  }

  void share_out(int64_t wanted) {
    const int64_t strips = ceil_div(plan_.m, kernels_.tile_rows),
                  panels = ceil_div(vectors_, unit_);
    const bool by_cols = (plan_.n >= plan_.m && plan_.k > short_k) || strips < 2 * wanted;
    col_parts_ = by_cols ? std::min(panels, wanted) : 1;
    row_parts_ = std::min(strips, ceil_div(wanted, col_parts_));
    if (!by_cols) col_parts_ = std::min(panels, ceil_div(wanted, row_parts_));
  }

  // Whole products or panels one by one, and cut into rows, too, where the threads would otherwise not end together.
  void choose_turns() {
    const int64_t strip = most_rows(kernels_, unit_), strips = ceil_div(plan_.m, strip),
                  panels = ceil_div(vectors_, unit_);
    const double turn =
        2 * turn_cycles / static_cast<double>(saturating_mul(plan_.k, unit_));  // in rows
    double best = 1e300;
    for (const int64_t across : {int64_t{1}, panels})
      for (int64_t down = 1; down <= std::min<int64_t>(strips, most_row_parts); ++down) {
        const bool shares_copies = across == panels && way_.depth == plan_.k;
        const double copying =
            way_.packs_b ? rows_of_copying / static_cast<double>(shares_copies ? down : 1) : 0;
        const double each =
            across == 1 ? static_cast<double>(vectors_) / static_cast<double>(unit_) : 1;  // panels
        const auto rounds =
            static_cast<double>(ceil_div(plan_.batch * across * down, int64_t{threads_}));
        const auto rows = static_cast<double>(ceil_div(strips, down) * strip);
        const double time = (rounds + waits_at_end) * (each * (rows + copying) + turn);
        if (time < best) best = time, row_parts_ = down, col_parts_ = across;
      }
  }

  Part part_of(int64_t part) const {
    if (row_parts_ * col_parts_ == 1) return {0, plan_.m, 0, vectors_};
    const int64_t down = part % row_parts_, across = part / row_parts_,
                  panels = ceil_div(vectors_, unit_);
    const int64_t top = plan_.m * down / row_parts_, left = panels * across / col_parts_ * unit_;
    return {top, plan_.m * (down + 1) / row_parts_ - top, left,
            std::min(vectors_, panels * (across + 1) / col_parts_ * unit_) - left};
  }

  struct Listed {
    void (*tile)(const TileCall<T>&);
    int64_t a, b, c;  // elements from the product's first
    int cols;
  };

  // Short products notice every nanosecond between their tiles. (In a batch the tiles fetch, see below.)
  void list_tiles() {
    const int64_t least_tiles =
        saturating_mul(ceil_div(plan_.m, most_tile_rows), ceil_div(vectors_, most_tile_vectors));
    if (least_tiles > most_listed_tiles) return;
    each_panel({0, plan_.m, 0, vectors_}, [&](int64_t vectors, int64_t col) {
      const int cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
      const int64_t height = strip_height(kernels_, plan_.m, vectors);
      for (int64_t row = 0; row < plan_.m; row += height)
        listed_.push_back({tile_of(row == 0 && fetches_first_ ? TileKind::first : TileKind::plain,
                                   cols, vectors, std::min(height, plan_.m - row)),
                           row * call_.a_row, col, row * call_.c_row + col, cols});
    });
    const auto count = static_cast<int64_t>(listed_.size());
    if (count > most_listed_tiles || (count > 1 && plan_.batch > 1)) listed_.clear();
  }

  void run_listed(const Pointers& p, T alpha, T beta) const {
    TileCall<T> call = call_;
    const T* a = reinterpret_cast<const T*>(way_.swapped ? p.b : p.a);
    const T* b = reinterpret_cast<const T*>(way_.swapped ? p.a : p.b);
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
    const bool whole = way_.packs_b || cols == vectors * kernels_.lanes;
    return kernels_.tile[static_cast<int>(kind)][whole][vectors - 1][rows - 1];
  }

  struct Task {
    Pointers p;  // of its product, and of its rows
    Part part;   // its rows are counted from there
    const T* a;
    T alpha, beta;
    bool fetches;  // the operands of the task that follows
    bool b_copied = false;
    int64_t tile = 0;  // how many were computed
  };

  void run_task(Thread& mine, int64_t index, T alpha, T beta, bool more) const {
    const Pointers& all = mine.p;
    const int64_t parts = row_parts_ * col_parts_, batch = parts == 1 ? index : index / parts;
    const Part part = part_of(index - batch * parts);
    const Pointers p{all.workspace,
                     all.c + batch * plan_.c.batch_step + part.row * plan_.c.row_step,
                     all.a + batch * plan_.a.batch_step + part.row * plan_.a.row_step,
                     all.b + batch * plan_.b.batch_step};
    Task task{p,
              {0, part.rows, part.vector, part.vectors},
              reinterpret_cast<const T*>(p.a),
              alpha,
              beta,
              more && parts == 1 && thread_bytes_ == 0 && way_.depth == plan_.k && !along_rows_};
    if (way_.packs_a) task.a = pack_a(p, part.rows);
    if (keeps_panel_) {
      const int64_t panel = index / row_parts_;
      task.b_copied = panel == mine.copied;
      mine.copied = panel;
    }
    if (along_rows_) return run_along_rows(task, part);
    if (!way_.through_sums)
      return each_piece([&](int64_t k) {
        each_panel(part, [&](int64_t vectors, int64_t col) { run_piece(task, k, vectors, col); });
      });
    each_panel(part, [&](int64_t vectors, int64_t col) {
      for (int64_t row = 0; row < part.rows; row += rows_together()) {
        Task some = rows_of(
            task, {row, std::min(rows_together(), part.rows - row), part.vector, part.vectors},
            row > 0 || task.b_copied);
        each_piece([&](int64_t k) { run_piece(some, k, vectors, col); });
        kernels_.finish[memory_index(plan_.c.dtype)](
            {sums(p), sum_row, some.part.rows, std::min(vectors * kernels_.lanes, plan_.n - col),
             some.p.c + col * plan_.c.col_step, plan_.c.row_step, plan_.c.col_step, alpha, beta});
      }
    });
  }

  // Rows whose sums stay in the first cache; all of a task where B would be copied again for the next ones.
  int64_t rows_together() const {
    return way_.depth < plan_.k ? most_summed_rows
                                : summed_bytes / (sum_row * int64_t{sizeof(T)}) /
                                      kernels_.tile_rows * kernels_.tile_rows;
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
    if (way_.packs_b)
      each_panel(part, [&](int64_t vectors, int64_t col) {
        TileCall<T> call = call_of(task, 0, vectors, col);
        pack_b(call, whole_b(task.p, col), vectors * kernels_.lanes);
      });
    each_strip(part, [&](const Part& strip) {
      Task some = rows_of(task, strip, true);
      each_panel(part, [&](int64_t vectors, int64_t col) { run_piece(some, 0, vectors, col); });
    });
  }

  template <class Body>
  void each_piece(const Body& body) const {
    for (int64_t k = 0; k < plan_.k; k += way_.depth) body(k);
  }

  template <class Body>
  void each_strip(const Part& part, const Body& body) const {
    const int64_t height = strip_height(kernels_, part.rows, std::min(unit_, part.vectors));
    for (int64_t row = 0; row < part.rows; row += height)
      body(Part{row, std::min(height, part.rows - row), part.vector, part.vectors});
  }

  template <class Body>
  void each_panel(const Part& part, const Body& body) const {
    for (int64_t left = part.vectors, at = part.vector; left > 0;) {
      const int64_t vectors = panel_vectors(kernels_, part.rows, part.vectors, left);
      body(vectors, at * kernels_.lanes);
      left -= vectors;
      at += vectors;
    }
  }

  TileCall<T> call_of(const Task& task, int64_t k, int64_t vectors, int64_t col) const {
    TileCall<T> call = call_;
    call.k = std::min(way_.depth, plan_.k - k);
    call.alpha = way_.through_sums ? T{1} : task.alpha;
    call.beta = k > 0 ? T{1} : way_.through_sums ? T{0} : task.beta;
    call.cols = static_cast<int>(std::min(vectors * kernels_.lanes, plan_.n - col));
    call.b = reinterpret_cast<const T*>(task.p.b + k * plan_.b.row_step + col * plan_.b.col_step);
    return call;
  }

  // A piece of k of a panel: all tiles of the task's rows.
  void run_piece(Task& task, int64_t k, int64_t vectors, int64_t col) const {
    TileCall<T> call = call_of(task, k, vectors, col);
    if (way_.packs_b) {
      T* const copy = whole_b(task.p, along_rows_ ? col : 0);
      if (!task.b_copied) pack_b(call, copy, vectors * kernels_.lanes);
      call.b = copy;
      call.b_row = vectors * kernels_.lanes;
    }
    const T* const a = task.a + k * call.a_col;
    T* const c =
        way_.through_sums ? sums(task.p) : reinterpret_cast<T*>(task.p.c + col * plan_.c.col_step);
    const int64_t rows = task.part.rows, height = strip_height(kernels_, rows, vectors);
    const auto rest = task.fetches ? TileKind::fetching : TileKind::plain;
    const auto first =
        fetches_first_ && task.part.row == 0 && !task.fetches ? TileKind::first : rest;
    for (int64_t row = 0; row < rows; row += height) {
      call.a = a + row * call.a_row;
      call.c = c + row * call.c_row;
      if (task.fetches) look_ahead(call, task.p, task.tile++);
      tile_of(row == 0 ? first : rest, call.cols, vectors, std::min(height, rows - row))(call);
    }
  }

  T* sums(const Pointers& p) const {
    return reinterpret_cast<T*>(p.workspace + a_bytes_ + b_bytes_);
  }

  const T* pack_a(const Pointers& p, int64_t rows) const {
    T* const dst = reinterpret_cast<T*>(p.workspace);
    kernels_.pack[memory_index(plan_.a.dtype)](
        {p.a, plan_.a.row_step, plan_.a.col_step, rows, plan_.k, dst, plan_.k});
    return dst;
  }

  // Where the copy of the panel that begins at this column is, if all of them are kept.
  T* whole_b(const Pointers& p, int64_t col) const {
    return reinterpret_cast<T*>(p.workspace + a_bytes_) + col * plan_.k;
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

  const GemmKernels<T>& kernels_;
  const DirectWay way_;
  int threads_ = 1;
  std::vector<Listed> listed_;             // all tiles of a short product
  int64_t vectors_ = 0;                    // of n
  int64_t row_parts_ = 1, col_parts_ = 1;  // of one product
  int64_t unit_ = 1;                       // vectors that stay together
  bool along_rows_ = false;
  bool keeps_panel_ = false;    // a task has one panel, whose copy serves the next task, too
  bool fetches_first_ = false;  // the first tile of a panel finds it beyond the first cache
  int64_t whole_b_bytes_ = 0;   // of a copy of all of B
  int64_t a_bytes_ = 0, b_bytes_ = 0,
          thread_bytes_ = 0;  // of a thread's copies, and of all that it has
  TileCall<T> call_{};        // what does not change from run to run
};

}  // namespace

std::unique_ptr<GemmKernel> make_direct(const infini::Device&, const GemmPlan& plan) {
  const DirectWay way = direct_way(plan);
  if (is_f64(plan)) return where_it_fits(std::make_unique<Direct<double>>(plan, way));
  return where_it_fits(std::make_unique<Direct<float>>(plan, way));
}

}  // namespace infini::cpu
