// The blocked gemm: any types and strides. C is cut into blocks, each a task for one thread; inside
// a block, strips of A and panels of B are packed so that the tiles read them from near caches.
//
// K is cut into pieces of fixed length and every element of C is summed by one thread in the order
// of k: the bits do not depend on the number of threads.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/gemm.h"
#include "backends/cpu/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t stack_bytes = 24 << 10;       // scratch up to here needs no workspace
constexpr double flops_per_thread = 2.0e6;      // below this a thread costs more than it saves
constexpr int64_t most_block_rows = 768, most_block_cols = 768;
constexpr int64_t rows_at_once = 162;           // rows of A packed at a time: 162×384 f32 are 243 KB
constexpr int64_t rows_packed_together = 8;
constexpr int64_t depth_bytes = 1536;           // a piece of k: 384 f32

// C must have unit columns to be written by the tiles; a C with unit rows is computed transposed.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_cols = plan.n == 1 || plan.c.col_step == bytes;
  const bool unit_rows = plan.m == 1 || plan.c.row_step == bytes;
  return !unit_cols && unit_rows ? transposed(plan) : plan;
}

struct Blocks {
  int64_t rows, cols, depth;  // of one task's block of C, and of a piece of k
};

template <class T>
class Blocked final : public CpuGemm {
 public:
  explicit Blocked(const GemmPlan& original) : CpuGemm(orient(original)), kernels_(this->template kernels<T>()) {
    swapped_ = !(plan_ == original);
    const int64_t vectors = ceil_div(plan_.n, kernels_.lanes);  // in panels of equal width
    panel_ = ceil_div(vectors, ceil_div(vectors, kernels_.tile_vectors)) * kernels_.lanes;
    direct_c_ = memory_index(plan_.c.dtype) == 0 && (plan_.n == 1 || plan_.c.col_step == sizeof(T));
    choose_blocks();
    choose_packing();
    lay_out_scratch();
  }

  const char* candidate() const override { return "blocked"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", blocks of " << blocks_.rows << "x" << blocks_.cols << ", pieces of k "
         << blocks_.depth << ", " << tasks_ << " tasks on " << threads_ << " threads"
         << (swapped_ ? ", transposed" : "") << (pack_a_ ? ", a packed" : "")
         << (pack_b_ ? ", b packed" : "") << (direct_c_ ? "" : ", c through sums");
    return text.str();
  }

 protected:
  void multiply(const Pointers& p, float alpha, float beta) const override;

 private:
  struct Block {  // one task's part of C
    char* c;
    const char *a, *b;
    int64_t rows, cols;
    T alpha, beta;
    T *packed_a, *packed_b, *sums;
  };
  struct Piece {  // one piece of k inside a block
    int64_t first, length;
    T *c;
    int64_t c_row;
    T alpha, beta;
  };

  void choose_blocks();
  void choose_packing();
  void lay_out_scratch();
  int64_t tasks() const {
    return plan_.batch * ceil_div(plan_.m, blocks_.rows) * ceil_div(plan_.n, blocks_.cols);
  }

  void run_task(int64_t task, const Pointers& p, char* scratch, T alpha, T beta) const;
  void run_block(const Block& block) const;
  void run_piece(const Block& block, const Piece& piece) const;
  void pack_panels(const Block& block, const Piece& piece) const;
  void run_rows(const Block& block, const Piece& piece, int64_t row, int64_t rows) const;
  void pack_strips(const char* a, const Piece& piece, int64_t rows, int64_t height, T* dst) const;
  bool reads_b_in_place(int64_t cols) const { return !pack_b_ && cols % kernels_.lanes == 0; }

  const GemmKernels<T>& kernels_;
  Blocks blocks_{};
  int64_t tasks_ = 1, row_blocks_ = 1, col_blocks_ = 1, panel_ = 0;
  int threads_ = 1;
  bool direct_c_ = false, pack_a_ = false, pack_b_ = false, swapped_ = false,
       on_stack_ = false;
  int64_t a_bytes_ = 0, b_bytes_ = 0, sum_bytes_ = 0, scratch_bytes_ = 0;
};

// Halves the longer side until every thread has work and a block's sums fit the cache.
template <class T>
void Blocked<T>::choose_blocks() {
  const double flops = 2.0 * static_cast<double>(plan_.batch) * static_cast<double>(plan_.m) *
                       static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
  threads_ = static_cast<int>(std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(available_threads())));
  blocks_ = {plan_.m, plan_.n, std::min<int64_t>(plan_.k, depth_bytes / int64_t{sizeof(T)})};
  const int64_t row_unit = kernels_.tile_rows, col_unit = panel_;
  const int64_t wanted = threads_ == 1 ? 1 : flops > 64 * flops_per_thread ? 4 * threads_ : threads_;
  const auto halve = [](int64_t extent, int64_t unit) {
    return std::max(unit, round_up(ceil_div(extent, 2), unit));
  };
  while (blocks_.rows > most_block_rows || blocks_.cols > most_block_cols || tasks() < wanted) {
    const bool rows_can = blocks_.rows > row_unit, cols_can = blocks_.cols > col_unit;
    if (!rows_can && !cols_can) break;
    const bool rows_next = rows_can && (!cols_can || blocks_.rows >= blocks_.cols);
    if (rows_next) blocks_.rows = halve(blocks_.rows, row_unit);
    else blocks_.cols = halve(blocks_.cols, col_unit);
  }
  tasks_ = tasks();
  row_blocks_ = ceil_div(plan_.m, blocks_.rows);
  col_blocks_ = ceil_div(plan_.n, blocks_.cols);
  threads_ = static_cast<int>(std::min<int64_t>(threads_, tasks_));
}

// Packing costs one pass over the operand and pays when the packed copy is read several times; an
// operand of another type, or a B without unit columns, has to be packed.
template <class T>
void Blocked<T>::choose_packing() {
  const bool narrow = memory_index(plan_.a.dtype) != 0;
  const bool b_unit = plan_.b.col_step == sizeof(T) || plan_.n == 1;
  pack_a_ = narrow || blocks_.cols > 2 * panel_;
  const bool small_b = plan_.k * std::abs(plan_.b.row_step) <= (128 << 10);
  pack_b_ = narrow || !b_unit || !small_b;
}

template <class T>
void Blocked<T>::lay_out_scratch() {
  const int64_t strips = ceil_div(std::min(blocks_.rows, rows_at_once), kernels_.tile_rows);
  const auto lines = [](int64_t elements) {
    return round_up(elements * int64_t{sizeof(T)}, line_bytes);
  };
  a_bytes_ = pack_a_ ? lines(strips * blocks_.depth * kernels_.tile_rows + kernels_.lanes) : 0;
  const bool overruns = plan_.n % kernels_.lanes != 0;
  const int64_t packed_cols = pack_b_ ? round_up(blocks_.cols, panel_) : overruns ? panel_ : 0;
  b_bytes_ = lines(blocks_.depth * packed_cols);
  sum_bytes_ = direct_c_ ? 0 : lines(blocks_.rows * blocks_.cols);
  scratch_bytes_ = a_bytes_ + b_bytes_ + sum_bytes_;
  on_stack_ = threads_ == 1 && scratch_bytes_ <= stack_bytes;
  workspace_bytes_ = on_stack_ ? 0 : static_cast<size_t>(scratch_bytes_ * threads_);
}

template <class T>
void Blocked<T>::multiply(const Pointers& given, float alpha, float beta) const {
  Pointers p = given;
  if (swapped_) std::swap(p.a, p.b);
  if (on_stack_) {
    alignas(line_bytes) char scratch[stack_bytes];
    for (int64_t task = 0; task < tasks_; ++task) run_task(task, p, scratch, alpha, beta);
    return;
  }
  const int threads = std::min(threads_, available_threads());
  std::atomic<int64_t> next{0};
  parallel_for(threads, threads, [&](int64_t first, int64_t last) {
    for (int64_t thread = first; thread < last; ++thread)
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
        run_task(task, p, p.workspace + thread * scratch_bytes_, alpha, beta);
  });
}

template <class T>
void Blocked<T>::run_task(int64_t task, const Pointers& p, char* scratch, T alpha, T beta) const {
  int64_t batch = 0, row = 0, col = 0;
  if (task > 0) {  // small products have one task, and divisions are what they would notice
    batch = task / (row_blocks_ * col_blocks_);
    row = task / col_blocks_ % row_blocks_ * blocks_.rows;
    col = task % col_blocks_ * blocks_.cols;
  }
  run_block({p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
             p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
             p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
             std::min(blocks_.rows, plan_.m - row), std::min(blocks_.cols, plan_.n - col), alpha,
             beta, reinterpret_cast<T*>(scratch), reinterpret_cast<T*>(scratch + a_bytes_),
             reinterpret_cast<T*>(scratch + a_bytes_ + b_bytes_)});
}

template <class T>
void Blocked<T>::run_block(const Block& block) const {
  for (int64_t first = 0; first < plan_.k; first += blocks_.depth) {
    const int64_t length = std::min(blocks_.depth, plan_.k - first);
    if (direct_c_)
      run_piece(block, {first, length, reinterpret_cast<T*>(block.c),
                        plan_.c.row_step / int64_t{sizeof(T)}, block.alpha,
                        first == 0 ? block.beta : T{1}});
    else
      run_piece(block, {first, length, block.sums, blocks_.cols, T{1}, first == 0 ? T{0} : T{1}});
  }
  if (!direct_c_)
    kernels_.finish[memory_index(plan_.c.dtype)]({block.sums, blocks_.cols, block.rows, block.cols,
                                                  block.c, plan_.c.row_step, plan_.c.col_step,
                                                  block.alpha, block.beta});
}

template <class T>
void Blocked<T>::run_piece(const Block& block, const Piece& piece) const {
  pack_panels(block, piece);
  const int64_t tile = kernels_.tile_rows;
  int64_t rows = block.rows;
  if (rows > rows_at_once)
    rows = std::min(rows_at_once, round_up(ceil_div(rows, ceil_div(rows, rows_at_once)), tile));
  for (int64_t row = 0; row < block.rows; row += rows)
    run_rows(block, piece, row, std::min(rows, block.rows - row));
}

// Panel by panel, each depth×panel and dense. Where B is read in place, only a panel that whole
// vectors would overrun is packed, at the front. A B with contiguous rows is read a few rows at a
// time across all panels, in the order in which it lies.
template <class T>
void Blocked<T>::pack_panels(const Block& block, const Piece& piece) const {
  const auto pack = kernels_.pack[memory_index(plan_.b.dtype)];
  const char* b = block.b + piece.first * plan_.b.row_step;
  const bool by_rows = plan_.b.col_step == dtype_bytes(plan_.b.dtype);
  const int64_t chunk = by_rows ? rows_packed_together : piece.length;
  for (int64_t row = 0; row < piece.length; row += chunk) {
    const int64_t rows = std::min(chunk, piece.length - row);
    for (int64_t col = 0; col < block.cols; col += panel_) {
      const int64_t cols = std::min(panel_, block.cols - col);
      if (reads_b_in_place(cols)) continue;
      T* dst = block.packed_b + (pack_b_ ? col * blocks_.depth : 0) + row * panel_;
      if (cols < panel_) std::fill_n(dst, rows * panel_, T{0});
      pack({b + row * plan_.b.row_step + col * plan_.b.col_step, plan_.b.row_step,
            plan_.b.col_step, rows, cols, dst, panel_});
    }
  }
}

// Strips of `height` rows, each [k][tile_rows] and dense.
template <class T>
void Blocked<T>::pack_strips(const char* a, const Piece& piece, int64_t rows, int64_t height,
                             T* dst) const {
  const auto pack = kernels_.pack[memory_index(plan_.a.dtype)];
  for (int64_t i = 0; i < rows; i += height, dst += piece.length * kernels_.tile_rows)
    pack({a + i * plan_.a.row_step, plan_.a.col_step, plan_.a.row_step, piece.length,
          std::min(height, rows - i), dst, kernels_.tile_rows});
}

template <class T>
void Blocked<T>::run_rows(const Block& block, const Piece& piece, int64_t row, int64_t rows) const {
  const int64_t tile = kernels_.tile_rows;
  const int64_t height = rows <= tile ? rows : ceil_div(rows, ceil_div(rows, tile));
  const char* source = block.a + row * plan_.a.row_step + piece.first * plan_.a.col_step;
  if (pack_a_) pack_strips(source, piece, rows, height, block.packed_a);
  TileCall<T> call{};
  call.k = piece.length;
  call.c_row = piece.c_row;
  call.alpha = piece.alpha;
  call.beta = piece.beta;
  call.a_row = plan_.a.row_step / int64_t{sizeof(T)};
  call.a_col = plan_.a.col_step / int64_t{sizeof(T)};
  const T* a = pack_a_ ? block.packed_a : reinterpret_cast<const T*>(source);
  const int64_t a_step = pack_a_ ? piece.length * kernels_.tile_rows : height * call.a_row;
  for (int64_t col = 0; col < block.cols; col += panel_) {
    call.cols = static_cast<int>(std::min(panel_, block.cols - col));
    const bool in_place = reads_b_in_place(call.cols);
    call.b = in_place ? reinterpret_cast<const T*>(block.b + piece.first * plan_.b.row_step) + col
                      : block.packed_b + (pack_b_ ? col * blocks_.depth : 0);
    call.b_row = in_place ? plan_.b.row_step / int64_t{sizeof(T)} : panel_;
    const auto& tiles = kernels_.tile[pack_a_][(call.cols - 1) / kernels_.lanes];
    call.a = a;
    for (int64_t i = 0; i < rows; i += height, call.a += a_step) {
      call.c = piece.c + (row + i) * piece.c_row + col;
      tiles[std::min(height, rows - i) - 1](call);
    }
  }
}

}  // namespace

std::unique_ptr<GemmKernel> make_blocked(const infini::Device&, const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<Blocked<double>>(plan);
  return std::make_unique<Blocked<float>>(plan);
}

}  // namespace infini::cpu
