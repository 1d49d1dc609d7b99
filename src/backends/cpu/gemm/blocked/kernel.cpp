// The blocked gemm: running a schedule.
#include "backends/cpu/gemm/blocked/kernel.h"

#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t rows_packed_together = 8;

}  // namespace

template <class T>
std::string Blocked<T>::schedule() const {
  std::ostringstream text;
  text << isa_name(isa_) << ", groups of " << s_.group << (s_.by_rows ? " rows" : " columns")
       << ", pieces of k " << s_.depth << ", " << s_.threads << " threads"
       << (s_.team == s_.threads ? " together" : " with blocks of their own")
       << (s_.swapped ? ", transposed" : "") << (s_.direct_c ? "" : ", c through sums");
  return text.str();
}

template <class T>
void Blocked<T>::multiply(const Pointers& given, double alpha, double beta) const {
  Pointers p = given;
  if (s_.swapped) std::swap(p.a, p.b);
  const int threads = std::min(s_.threads, available_threads());
  if (s_.team > 1 || s_.threads == 1) {
    return parallel_team(threads, [&](Team& team) {
      Work work{p, static_cast<T>(alpha), static_cast<T>(beta), team};
      for (int64_t block = 0; block < s_.blocks(); ++block) run_block(work, block);
    });
  }
  parallel_team(threads, [&](Team& team) {
    Team::Progress progress;
    Team alone(0, 1, progress);
    Pointers mine = p;
    mine.workspace += team.rank() * s_.team_bytes;
    Work work{mine, static_cast<T>(alpha), static_cast<T>(beta), alone};
    team.share(s_.blocks(), [&](int64_t block) { run_block(work, block); });
  });
}

template <class T>
void Blocked<T>::run_block(Work& work, int64_t index) const {
  const auto [batch, top, left, rows, cols] = s_.block(index);
  const int64_t bottom = top + rows, right = left + cols;
  for (int64_t col = left; col < right; col += s_.region_cols)
    for (int64_t row = top; row < bottom; row += s_.region_rows) {
      const Region region{
          work.p.c + batch * plan_.c.batch_step + row * plan_.c.row_step + col * plan_.c.col_step,
          work.p.a + batch * plan_.a.batch_step + row * plan_.a.row_step,
          work.p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
          std::min(s_.region_rows, bottom - row), std::min(s_.region_cols, right - col)};
      s_.by_rows ? run_by_rows(work, region) : run_by_cols(work, region);
    }
}

// Two buffers in turn: what is packed for the next piece is not what a slower thread still reads.
template <class T>
void Blocked<T>::run_by_rows(Work& work, const Region& region) const {
  char* const workspace = work.p.workspace;
  T* const sums = reinterpret_cast<T*>(workspace + s_.buffers * s_.shared_bytes);
  T* const mine = reinterpret_cast<T*>(workspace + s_.buffers * s_.shared_bytes + s_.sum_bytes +
                                       work.team.rank() * s_.private_bytes);
  const int64_t panels = ceil_div(region.cols, s_.panel);
  for (int64_t first = 0; first < plan_.k; first += s_.depth, ++work.step) {
    const int64_t length = std::min(s_.depth, plan_.k - first);
    T* const packed = reinterpret_cast<T*>(workspace + work.step % s_.buffers * s_.shared_bytes);
    const int64_t shares = std::min<int64_t>(work.team.threads(), panels);
    work.team.share(shares, [&](int64_t share) {
      const int64_t from = panels * share / shares * s_.panel,
                    to = std::min(region.cols, panels * (share + 1) / shares * s_.panel);
      pack_panels(region.b + first * plan_.b.row_step + from * plan_.b.col_step, length, to - from,
                  packed + from * s_.depth);
    });
    work.team.wait();
    const bool last = first + s_.depth >= plan_.k;
    work.team.share(ceil_div(region.rows, s_.group), [&](int64_t group) {
      const int64_t row = group * s_.group, rows = std::min(s_.group, region.rows - row);
      const char* a = region.a + row * plan_.a.row_step + first * plan_.a.col_step;
      if (s_.pack_a) pack_strips(a, length, rows, 0, s_.strips(rows), mine);
      Part part = part_of(work, region, first, length, sums, s_.region_cols);
      part.c += row * part.c_row;
      run_tiles(part,
                {s_.pack_a ? mine : reinterpret_cast<const T*>(a), packed, rows, region.cols});
      if (last && !s_.direct_c)
        finish(work, region.c + row * plan_.c.row_step, sums + row * s_.region_cols, s_.region_cols,
               rows, region.cols);
    });
  }
}

template <class T>
void Blocked<T>::run_by_cols(Work& work, const Region& region) const {
  char* const workspace = work.p.workspace;
  T* const packed = reinterpret_cast<T*>(workspace + work.step % s_.buffers * s_.shared_bytes);
  char* const own = workspace + s_.buffers * s_.shared_bytes +
                    work.team.rank() * (s_.private_bytes + s_.sum_bytes);
  T *const mine = reinterpret_cast<T*>(own), *const sums =
                                                 reinterpret_cast<T*>(own + s_.private_bytes);
  const int64_t count = s_.strips(region.rows),
                shares = std::min<int64_t>(work.team.threads(), count);
  work.team.share(shares, [&](int64_t share) {
    for (int64_t first = 0, at = 0; first < plan_.k; first += s_.depth) {
      const int64_t length = std::min(s_.depth, plan_.k - first);
      pack_strips(region.a + first * plan_.a.col_step, length, region.rows, count * share / shares,
                  count * (share + 1) / shares, packed + at);
      at += count * s_.strip_step(length);
    }
  });
  work.team.wait();
  work.team.share(ceil_div(region.cols, s_.group), [&](int64_t group) {
    const int64_t col = group * s_.group, cols = std::min(s_.group, region.cols - col);
    const char* b = region.b + col * plan_.b.col_step;
    int64_t at = 0;
    for (int64_t first = 0; first < plan_.k; first += s_.depth) {
      const int64_t length = std::min(s_.depth, plan_.k - first);
      pack_panels(b + first * plan_.b.row_step, length, cols, mine);
      Part part = part_of(work, region, first, length, sums, s_.group);
      if (s_.direct_c) part.c += col;
      run_tiles(part, {packed + at, mine, region.rows, cols});
      at += count * s_.strip_step(length);
    }
    if (!s_.direct_c)
      finish(work, region.c + col * plan_.c.col_step, sums, s_.group, region.rows, cols);
  });
  ++work.step;
}

// Where the tiles of one piece of k put their results: into C itself, or into sums.
template <class T>
typename Blocked<T>::Part Blocked<T>::part_of(const Work& work, const Region& region, int64_t first,
                                              int64_t length, T* sums, int64_t sum_row) const {
  if (!s_.direct_c) return {length, sums, sum_row, T{1}, first == 0 ? T{0} : T{1}};
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
    for (int64_t col = 0; col < cols; col += s_.panel) {
      const int64_t count = std::min(s_.panel, cols - col);
      T* place = dst + col * s_.depth + row * s_.panel;
      if (count < s_.panel) std::fill_n(place, rows * s_.panel, T{0});
      pack({b + row * plan_.b.row_step + col * plan_.b.col_step, plan_.b.row_step, plan_.b.col_step,
            rows, count, place, s_.panel});
    }
  }
}

// Of all strips, each [k][tile_rows] and dense, some. An A with contiguous columns is read a few of its k at a time across
// all strips, in the order in which it lies. (What is written behind a row of a strip the row that follows overwrites.)
template <class T>
void Blocked<T>::pack_strips(const char* a, int64_t length, int64_t rows, int64_t first,
                             int64_t last, T* dst) const {
  const auto pack = kernels_.pack[memory_index(plan_.a.dtype)];
  const bool by_rows = plan_.a.row_step == dtype_bytes(plan_.a.dtype);
  const int64_t chunk = by_rows ? rows_packed_together : length;
  const int64_t left = s_.strip_row(rows, first), right = s_.strip_row(rows, last);
  for (int64_t k = 0; k < length; k += chunk) {
    if (by_rows)
      for (int64_t next = k + chunk; next < std::min(k + 2 * chunk, length); ++next)
        for (int64_t at = left * plan_.a.row_step; at < right * plan_.a.row_step; at += line_bytes)
          __builtin_prefetch(a + next * plan_.a.col_step + at);
    for (int64_t strip = first; strip < last; ++strip) {
      const int64_t row = s_.strip_row(rows, strip);
      pack({a + row * plan_.a.row_step + k * plan_.a.col_step, plan_.a.col_step, plan_.a.row_step,
            std::min(chunk, length - k), s_.strip_row(rows, strip + 1) - row,
            dst + strip * s_.strip_step(length) + k * s_.strip, s_.strip});
    }
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
  call.b_row = s_.panel;
  call.a_row = plan_.a.row_step / int64_t{sizeof(T)};
  call.a_col = plan_.a.col_step / int64_t{sizeof(T)};
  const int64_t count = s_.strips(x.rows);
  if (s_.strip_stays(x.cols)) {
    for (int64_t strip = 0; strip < count; ++strip)
      for (int64_t col = 0; col < x.cols; col += s_.panel)
        run_tile(call, part, x, strip, col, col / s_.panel);
    return;
  }
  const int64_t most = s_.strips_together(part.length);
  for (int64_t top = 0; top < count; top += most)
    for (int64_t col = 0; col < x.cols; col += s_.panel)
      for (int64_t strip = top; strip < std::min(count, top + most); ++strip)
        run_tile(call, part, x, strip, col, strip - top);
}

template <class T>
void Blocked<T>::run_tile(TileCall<T>& call, const Part& part, const Operands& x, int64_t strip,
                          int64_t col, int64_t tile) const {
  const int64_t row = s_.strip_row(x.rows, strip);
  call.cols = static_cast<int>(std::min(s_.panel, x.cols - col));
  call.a = x.a + (s_.pack_a ? strip * s_.strip_step(call.k) : row * call.a_row);
  call.b = x.b + col * s_.depth;
  call.c = part.c + row * part.c_row + col;
  look_ahead(call, x, col, tile);
  const TileKind kind = s_.pack_a ? TileKind::packed : TileKind::fetching;
  kernels_.tile[static_cast<int>(kind)][true][(call.cols - 1) / kernels_.lanes]
               [s_.strip_row(x.rows, strip + 1) - row - 1](call);
}
// Of what stays, the first tiles fetch what comes after it, line by line: the next panel or the next strip. The other
// tiles of a panel fetch the next strip of an A that was packed whole. (B's source is not fetched: asking for it is as
// slow as reading it.)
template <class T>
void Blocked<T>::look_ahead(TileCall<T>& call, const Operands& x, int64_t col, int64_t tile) const {
  const bool stays = s_.strip_stays(x.cols);
  const T *const strip = call.a + s_.strip_step(call.k), *const panel =
                                                             call.b + s_.panel * s_.depth;
  const int64_t line = tile * call.k * line_bytes,
                bytes = call.k * (stays ? s_.strip : s_.panel) * int64_t{sizeof(T)};
  const auto fetch = [&](const T* from, int64_t offset, int64_t step) {
    call.ahead = reinterpret_cast<const char*>(from) + offset;
    call.ahead_step = step;
  };
  if (line < bytes && (stays || col + s_.panel < x.cols))
    fetch(stays ? strip : panel, line, line_bytes);
  else if (s_.by_rows || stays)
    fetch(call.b, 0, 0);
  else
    fetch(strip, 0, s_.strip * int64_t{sizeof(T)});
}

template class Blocked<float>;
template class Blocked<double>;

Bid<GemmKernel> bid_blocked(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Blocked>(blocked::estimate(target, plan, limit), plan);
}

}  // namespace infini::cpu
