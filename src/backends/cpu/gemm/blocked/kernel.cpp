// The blocked gemm: any types and strides. Strips of A and panels of B are packed (and widened to
// the type of the arithmetic), so that the tiles read them from near caches.
//
// Each operand is packed once. Where C has enough rows, all threads pack a piece of B together and
// then take groups of rows, packing A's part for themselves; otherwise A is packed together, whole,
// and the threads take groups of columns. K is cut into pieces of fixed length and every element of
// C is summed in the order of k, so that the bits do not depend on the number of threads.
#include "backends/cpu/gemm/blocked/blocked.h"

#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr double flops_per_thread = 2.0e6;  // below this a thread costs more than it saves
constexpr int64_t most_depth = 512;         // a piece of k
// With few rows of A, B comes from memory: longer rows of it, because each is in another page and makes
// the processor's own fetching start anew. With some, too, but C must not come and go too often.
constexpr int64_t few_rows = 24, few_rows_depth = 96;
constexpr int64_t some_rows = 64, some_rows_depth = 192;
constexpr int64_t more_rows = 512, more_rows_depth = 256;
constexpr int64_t most_group_bytes = 112 << 10;  // of an A that is used again and again
// Rows of all panels of a group of columns, 192 bytes each: a strip of f64 is twice as long, and should meet more panels.
constexpr int64_t most_panel_rows = 12 * more_rows_depth,
                  most_panel_rows_f64 = 16 * more_rows_depth;
constexpr int64_t most_cols_along = 96;     // of a group whose columns are contiguous
constexpr int64_t most_region_cols = 3072;  // of the B that is packed together
constexpr int64_t most_a_bytes = 16 << 20;  // of the A that is packed together
constexpr int most_team = 4;                // threads that wait for each other at every piece of k
constexpr int64_t most_block = 768;         // rows or columns of a block that one thread has
constexpr int64_t most_sum_bytes = 8 << 20;
constexpr int64_t rows_packed_together = 8;
constexpr int64_t most_unpacked_cols =
    1024;  // an A that meets more is packed, even if it need not be

// C must have unit columns to be written by the tiles; a C with unit rows is computed transposed.
GemmPlan orient(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.c.dtype);
  const bool unit_cols = plan.n == 1 || plan.c.col_step == bytes;
  const bool unit_rows = plan.m == 1 || plan.c.row_step == bytes;
  return !unit_cols && unit_rows ? transposed(plan) : plan;
}

// The length of the pieces of k. It decides the bits, and must not depend on the threads.
int64_t depth_of(const GemmPlan& plan) {
  if (plan.m <= few_rows) return few_rows_depth;
  const bool b_across = plan.b.col_step == dtype_bytes(plan.b.dtype);
  if (!b_across || plan.m > more_rows || plan.n < 4 * plan.m) return most_depth;
  if (plan.m <= some_rows) return some_rows_depth;
  return more_rows_depth;
}

// Units per task: the tasks should end together (the last one may be smaller), and fewer are
// better.
int64_t best_group(int64_t units, int64_t least, int64_t most, int threads) {
  int64_t best = std::max<int64_t>(1, std::min(units, most));
  double best_cost = 1e300;
  for (int64_t size = best; size >= std::min(least, best); --size) {
    const int64_t whole = units / size, rest = units % size, rounds = whole / threads;
    const int64_t longest = rounds * size + (whole % threads ? size : rest);
    const double cost =
        static_cast<double>(longest) + 0.15 * static_cast<double>(ceil_div(units, size)) / threads;
    if (cost < best_cost) best = size, best_cost = cost;
  }
  return best;
}

}  // namespace

template <class T>
Blocked<T>::Blocked(const GemmPlan& original)
    : CpuGemm(orient(original)), kernels_(this->template kernels<T>()) {
  swapped_ = !(plan_ == original);
  const int64_t vectors = ceil_div(plan_.n, kernels_.lanes);  // in panels of equal width
  panel_ = ceil_div(vectors, ceil_div(vectors, kernels_.tile_vectors)) * kernels_.lanes;
  strip_ = kernels_.tile_rows;
  depth_ = std::clamp<int64_t>(plan_.k, 1, depth_of(plan_));
  direct_c_ = memory_index(plan_.c.dtype) == 0 && (plan_.n == 1 || plan_.c.col_step == sizeof(T));
  choose_threads();
  by_rows_ ? split_rows() : split_cols();
  pack_a_ = !by_rows_ || memory_index(plan_.a.dtype) != 0 || plan_.a.col_step != sizeof(T) ||
            block_cols_ > most_unpacked_cols;
  lay_out_workspace();
}

// A few threads share each product. Many threads, or many products, are better off alone: C is cut
// into blocks, halving the longer side, until there are enough of them.
template <class T>
void Blocked<T>::choose_threads() {
  const double flops = 2.0 * static_cast<double>(plan_.batch) * static_cast<double>(plan_.m) *
                       static_cast<double>(plan_.n) * static_cast<double>(plan_.k);
  threads_ = static_cast<int>(
      std::clamp(flops / flops_per_thread, 1.0, static_cast<double>(available_threads())));
  block_rows_ = plan_.m, block_cols_ = plan_.n;
  const bool many_products = plan_.batch >= 2 * threads_;
  team_ = threads_ > most_team || many_products ? 1 : threads_;
  const int64_t wanted = flops > 64 * flops_per_thread ? 4 * threads_ : threads_;
  const auto halve = [](int64_t extent, int64_t unit) {
    return std::max(unit, round_up(ceil_div(extent, 2), unit));
  };
  const bool streams =
      plan_.m <= few_rows && plan_.batch == 1;  // then a block each: long rows of B, A packed once
  if (team_ < threads_ && streams)
    block_cols_ = std::max(panel_, round_up(ceil_div(plan_.n, threads_), kernels_.lanes));
  while (team_ < threads_ && !streams &&
         (blocks() < wanted || block_rows_ > most_block || block_cols_ > most_block)) {
    if (block_rows_ <= strip_ && block_cols_ <= panel_) break;
    if (block_rows_ > strip_ && (block_cols_ <= panel_ || block_rows_ >= block_cols_))
      block_rows_ = halve(block_rows_, strip_);
    else
      block_cols_ = halve(block_cols_, panel_);
  }
  if (team_ == 1)
    threads_ = static_cast<int>(std::min<int64_t>(threads_, std::max<int64_t>(1, blocks())));
  const bool many_rows = block_rows_ >= 4 * strip_ * team_ && 4 * block_rows_ >= block_cols_;
  // Of an A that is packed whole, not even one strip may be too long.
  by_rows_ =
      many_rows || strip_ * int64_t{sizeof(T)} > most_a_bytes / std::max<int64_t>(1, plan_.k);
}

template <class T>
int64_t Blocked<T>::blocks() const {
  return plan_.batch * ceil_div(plan_.m, block_rows_) * ceil_div(plan_.n, block_cols_);
}

template <class T>
void Blocked<T>::split_rows() {
  region_cols_ = round_up(std::min(block_cols_, most_region_cols), panel_);
  region_rows_ = block_rows_;
  if (!direct_c_)
    region_rows_ = std::min(block_rows_,
                            round_up(most_sum_bytes / (region_cols_ * int64_t{sizeof(T)}), strip_));
  const int64_t most =
      std::max<int64_t>(1, most_group_bytes / (depth_ * strip_ * int64_t{sizeof(T)}));
  group_ = strip_ *
           best_group(ceil_div(region_rows_, strip_), std::max<int64_t>(1, most / 4), most, team_);
}

template <class T>
void Blocked<T>::split_cols() {
  const int64_t row_bytes = std::max<int64_t>(1, plan_.k) * int64_t{sizeof(T)};
  region_rows_ =
      std::min(block_rows_, round_up(std::max(strip_, most_a_bytes / row_bytes), strip_));
  if (!direct_c_) region_rows_ = std::min<int64_t>(region_rows_, strip_ * 64);
  region_cols_ = block_cols_;
  const bool b_along = plan_.b.row_step == dtype_bytes(plan_.b.dtype) && plan_.k > 1;
  const int64_t panel_rows = is_f64(plan_) ? most_panel_rows_f64 : most_panel_rows;
  const int64_t most =
      b_along ? ceil_div(most_cols_along, panel_) : panel_rows / std::max(depth_, few_rows_depth);
  group_ = panel_ * best_group(ceil_div(block_cols_, panel_), 1, most, team_);
}

template <class T>
void Blocked<T>::lay_out_workspace() {
  const auto lines = [](int64_t elements) {
    return round_up(elements * int64_t{sizeof(T)}, line_bytes);
  };
  const int64_t strips = ceil_div(region_rows_, strip_);
  shared_bytes_ = by_rows_ ? lines(depth_ * region_cols_)
                           : lines(strips * ceil_div(plan_.k, depth_) * strip_step(depth_));
  private_bytes_ = by_rows_ ? lines(group_ / strip_ * strip_step(depth_)) : lines(depth_ * group_);
  if (!direct_c_) sum_bytes_ = lines(region_rows_ * (by_rows_ ? region_cols_ : group_));
  buffers_ = team_ == 1 ? 1 : 2;
  team_bytes_ =
      buffers_ * shared_bytes_ + team_ * private_bytes_ + (by_rows_ ? 1 : team_) * sum_bytes_;
  workspace_bytes_ = threads_ / team_ * team_bytes_;
}

template <class T>
std::string Blocked<T>::schedule() const {
  std::ostringstream text;
  text << isa_name(isa_) << ", groups of " << group_ << (by_rows_ ? " rows" : " columns")
       << ", pieces of k " << depth_ << ", " << threads_ << " threads"
       << (team_ == threads_ ? " together" : " with blocks of their own")
       << (swapped_ ? ", transposed" : "") << (direct_c_ ? "" : ", c through sums");
  return text.str();
}

template <class T>
void Blocked<T>::multiply(const Pointers& given, double alpha, double beta) const {
  Pointers p = given;
  if (swapped_) std::swap(p.a, p.b);
  const int threads = std::min(threads_, available_threads());
  if (team_ > 1 || threads_ == 1) {
    return parallel_team(threads, [&](Team& team) {
      Work work{p, static_cast<T>(alpha), static_cast<T>(beta), team};
      for (int64_t block = 0; block < blocks(); ++block) run_block(work, block);
    });
  }
  parallel_team(threads, [&](Team& team) {
    Team::Progress progress;
    Team alone(0, 1, progress);
    Pointers mine = p;
    mine.workspace += team.rank() * team_bytes_;
    Work work{mine, static_cast<T>(alpha), static_cast<T>(beta), alone};
    team.share(blocks(), [&](int64_t block) { run_block(work, block); });
  });
}

template <class T>
void Blocked<T>::run_block(Work& work, int64_t block) const {
  const int64_t across = ceil_div(plan_.n, block_cols_), down = ceil_div(plan_.m, block_rows_);
  const int64_t batch = block / (across * down), top = block / across % down * block_rows_,
                left = block % across * block_cols_;
  const int64_t bottom = std::min(plan_.m, top + block_rows_),
                right = std::min(plan_.n, left + block_cols_);
  for (int64_t col = left; col < right; col += region_cols_)
    for (int64_t row = top; row < bottom; row += region_rows_) {
      const Region region{
          work.p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
          work.p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
          work.p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
          std::min(region_rows_, bottom - row), std::min(region_cols_, right - col)};
      by_rows_ ? run_by_rows(work, region) : run_by_cols(work, region);
    }
}

// Two buffers in turn: what is packed for the next piece is not what a slower thread still reads.
template <class T>
void Blocked<T>::run_by_rows(Work& work, const Region& region) const {
  char* const workspace = work.p.workspace;
  T* const sums = reinterpret_cast<T*>(workspace + buffers_ * shared_bytes_);
  T* const mine = reinterpret_cast<T*>(workspace + buffers_ * shared_bytes_ + sum_bytes_ +
                                       work.team.rank() * private_bytes_);
  const int64_t panels = ceil_div(region.cols, panel_);
  for (int64_t first = 0; first < plan_.k; first += depth_, ++work.step) {
    const int64_t length = std::min(depth_, plan_.k - first);
    T* const packed = reinterpret_cast<T*>(workspace + work.step % buffers_ * shared_bytes_);
    const int64_t shares = std::min<int64_t>(work.team.threads(), panels);
    work.team.share(shares, [&](int64_t share) {
      const int64_t from = panels * share / shares * panel_,
                    to = std::min(region.cols, panels * (share + 1) / shares * panel_);
      pack_panels(region.b + first * plan_.b.row_step + from * plan_.b.col_step, length, to - from,
                  packed + from * depth_);
    });
    work.team.wait();
    const bool last = first + depth_ >= plan_.k;
    work.team.share(ceil_div(region.rows, group_), [&](int64_t group) {
      const int64_t row = group * group_, rows = std::min(group_, region.rows - row);
      const char* a = region.a + row * plan_.a.row_step + first * plan_.a.col_step;
      if (pack_a_) pack_strips(a, length, rows, 0, strips(rows), mine);
      Part part = part_of(work, region, first, length, sums, region_cols_);
      part.c += row * part.c_row;
      run_tiles(part, {pack_a_ ? mine : reinterpret_cast<const T*>(a), packed, rows, region.cols});
      if (last && !direct_c_)
        finish(work, region.c + row * plan_.c.row_step, sums + row * region_cols_, region_cols_,
               rows, region.cols);
    });
  }
}

template <class T>
void Blocked<T>::run_by_cols(Work& work, const Region& region) const {
  char* const workspace = work.p.workspace;
  T* const packed = reinterpret_cast<T*>(workspace + work.step % buffers_ * shared_bytes_);
  char* const own =
      workspace + buffers_ * shared_bytes_ + work.team.rank() * (private_bytes_ + sum_bytes_);
  T *const mine = reinterpret_cast<T*>(own), *const sums =
                                                 reinterpret_cast<T*>(own + private_bytes_);
  const int64_t count = strips(region.rows), shares = std::min<int64_t>(work.team.threads(), count);
  work.team.share(shares, [&](int64_t share) {
    for (int64_t first = 0, at = 0; first < plan_.k; first += depth_) {
      const int64_t length = std::min(depth_, plan_.k - first);
      pack_strips(region.a + first * plan_.a.col_step, length, region.rows, count * share / shares,
                  count * (share + 1) / shares, packed + at);
      at += count * strip_step(length);
    }
  });
  work.team.wait();
  work.team.share(ceil_div(region.cols, group_), [&](int64_t group) {
    const int64_t col = group * group_, cols = std::min(group_, region.cols - col);
    const char* b = region.b + col * plan_.b.col_step;
    int64_t at = 0;
    for (int64_t first = 0; first < plan_.k; first += depth_) {
      const int64_t length = std::min(depth_, plan_.k - first);
      pack_panels(b + first * plan_.b.row_step, length, cols, mine);
      Part part = part_of(work, region, first, length, sums, group_);
      if (direct_c_) part.c += col;
      run_tiles(part, {packed + at, mine, region.rows, cols});
      at += count * strip_step(length);
    }
    if (!direct_c_)
      finish(work, region.c + col * plan_.c.col_step, sums, group_, region.rows, cols);
  });
  ++work.step;
}

// Where the tiles of one piece of k put their results: into C itself, or into sums.
template <class T>
typename Blocked<T>::Part Blocked<T>::part_of(const Work& work, const Region& region, int64_t first,
                                              int64_t length, T* sums, int64_t sum_row) const {
  if (!direct_c_) return {length, sums, sum_row, T{1}, first == 0 ? T{0} : T{1}};
  return {length, reinterpret_cast<T*>(region.c), plan_.c.row_step / int64_t{sizeof(T)}, work.alpha,
          first == 0 ? work.beta : T{1}};
}

template <class T>
void Blocked<T>::finish(const Work& work, char* c, const T* sums, int64_t sum_row, int64_t rows,
                        int64_t cols) const {
  kernels_.finish[memory_index(plan_.c.dtype)](
      {sums, sum_row, rows, cols, c, plan_.c.row_step, plan_.c.col_step, work.alpha, work.beta});
}

// Panel by panel, each depth×panel and dense. A B with contiguous rows is read a few rows at a time
// across all panels, in the order in which it lies.
template <class T>
void Blocked<T>::pack_panels(const char* b, int64_t length, int64_t cols, T* dst) const {
  const auto pack = kernels_.pack[memory_index(plan_.b.dtype)];
  const bool by_rows = plan_.b.col_step == dtype_bytes(plan_.b.dtype);
  const int64_t chunk = by_rows ? rows_packed_together : length;
  for (int64_t row = 0; row < length; row += chunk) {
    const int64_t rows = std::min(chunk, length - row);
    for (int64_t col = 0; col < cols; col += panel_) {
      const int64_t count = std::min(panel_, cols - col);
      T* place = dst + col * depth_ + row * panel_;
      if (count < panel_) std::fill_n(place, rows * panel_, T{0});
      pack({b + row * plan_.b.row_step + col * plan_.b.col_step, plan_.b.row_step, plan_.b.col_step,
            rows, count, place, panel_});
    }
  }
}

// Of all strips, each [k][tile_rows] and dense, some.
template <class T>
void Blocked<T>::pack_strips(const char* a, int64_t length, int64_t rows, int64_t first,
                             int64_t last, T* dst) const {
  const auto pack = kernels_.pack[memory_index(plan_.a.dtype)];
  for (int64_t strip = first; strip < last; ++strip) {
    const int64_t row = strip_row(rows, strip);
    pack({a + row * plan_.a.row_step, plan_.a.col_step, plan_.a.row_step, length,
          strip_row(rows, strip + 1) - row, dst + strip * strip_step(length), strip_});
  }
}

// A strip stays in the first cache while many panels pass by. Where there are few, it is a panel that stays, for a
// few strips that stay in the second cache.
template <class T>
void Blocked<T>::run_tiles(const Part& part, const Operands& x) const {
  TileCall<T> call{};
  call.k = part.length;
  call.c_row = part.c_row;
  call.alpha = part.alpha;
  call.beta = part.beta;
  call.b_row = panel_;
  call.a_row = plan_.a.row_step / int64_t{sizeof(T)};
  call.a_col = plan_.a.col_step / int64_t{sizeof(T)};
  const int64_t count = strips(x.rows);
  if (strip_stays(x)) {
    for (int64_t strip = 0; strip < count; ++strip)
      for (int64_t col = 0; col < x.cols; col += panel_)
        run_tile(call, part, x, strip, col, col / panel_);
    return;
  }
  const int64_t most =
      std::max<int64_t>(1, most_group_bytes / (strip_step(part.length) * int64_t{sizeof(T)}));
  for (int64_t top = 0; top < count; top += most)
    for (int64_t col = 0; col < x.cols; col += panel_)
      for (int64_t strip = top; strip < std::min(count, top + most); ++strip)
        run_tile(call, part, x, strip, col, strip - top);
}

template <class T>
void Blocked<T>::run_tile(TileCall<T>& call, const Part& part, const Operands& x, int64_t strip,
                          int64_t col, int64_t tile) const {
  const int64_t row = strip_row(x.rows, strip);
  call.cols = static_cast<int>(std::min(panel_, x.cols - col));
  call.a = x.a + (pack_a_ ? strip * strip_step(call.k) : row * call.a_row);
  call.b = x.b + col * depth_;
  call.c = part.c + row * part.c_row + col;
  look_ahead(call, x, col, tile);
  const TileKind kind = pack_a_ ? TileKind::packed : TileKind::fetching;
  kernels_.tile[static_cast<int>(kind)][true][(call.cols - 1) / kernels_.lanes]
               [strip_row(x.rows, strip + 1) - row - 1](call);
}
// Of what stays, the first tiles fetch what comes after it, line by line: the next panel or the next strip. The other
// tiles of a panel fetch the next strip of an A that was packed whole. (B's source is not fetched: asking for it is as
// slow as reading it.)
template <class T>
void Blocked<T>::look_ahead(TileCall<T>& call, const Operands& x, int64_t col, int64_t tile) const {
  const bool stays = strip_stays(x);
  const T *const strip = call.a + strip_step(call.k), *const panel = call.b + panel_ * depth_;
  const int64_t line = tile * call.k * line_bytes,
                bytes = call.k * (stays ? strip_ : panel_) * int64_t{sizeof(T)};
  const auto fetch = [&](const T* from, int64_t offset, int64_t step) {
    call.ahead = reinterpret_cast<const char*>(from) + offset;
    call.ahead_step = step;
  };
  if (line < bytes && (stays || col + panel_ < x.cols))
    fetch(stays ? strip : panel, line, line_bytes);
  else if (by_rows_ || stays)
    fetch(call.b, 0, 0);
  else
    fetch(strip, 0, strip_ * int64_t{sizeof(T)});
}

template class Blocked<float>;
template class Blocked<double>;

std::unique_ptr<GemmKernel> make_blocked(const infini::Device&, const GemmPlan& plan) {
  if (is_f64(plan)) return std::make_unique<Blocked<double>>(plan);
  return std::make_unique<Blocked<float>>(plan);
}

}  // namespace infini::cpu
