// Skinny products (decoding, matrix times vector): a few rows of A against a large B. They are
// bound by memory: B is read once, in its own type, in the order in which it lies.
#include <algorithm>
#include <atomic>
#include <sstream>

#include "backends/cpu/gemm/direct/way.h"
#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t sum_bytes = 24 << 10;         // a stretch of columns whose sums stay in L1
constexpr double bytes_per_thread = 128 << 10;  // of B; below this a thread does not pay
constexpr int64_t most_rows_across = 8, most_rows_along = 16;
constexpr int64_t cols_ahead = 4;  // of a B that is read along its columns once: 3 to 10 % at M = 1
constexpr int64_t rows_ahead = 8;  // of a B that is read across
constexpr int64_t rows_reread = 8;  // of B, which later rows of A read again across
// The k of a B that is read across is cut, so that many threads can stream long rows of it: a sixteenth of
// each row is up to a third slower. By the problem alone, since the cuts decide the bits.
constexpr int64_t cuts_of_k = 16, least_cut_bytes = 256 << 10, most_cut_sums = 128 << 10;
constexpr int64_t short_share = 1024;  // bytes of a row for each thread
// More rows than a kernel takes read B along its columns in pieces that stay in L1, and A's with them.
constexpr int64_t least_dot = 16;
constexpr double dot_call_cycles = 150, dots_cycles = 90,
                 row_cycles = 50;  // of a call; of adding the lanes of 4×4 or 1×8 sums
constexpr int64_t piece_bytes = 2048, piece_cols = 16, cols_together = 4, page_bytes = 4096;
constexpr int64_t near_a_bytes = 24 << 10;  // an A that stays in L1 needs no pieces
constexpr double near_b_bytes = 512 << 10;  // nothing of a B in the second cache is asked for ahead

enum class Walk { none, across, along };  // the contiguous direction of B: its rows or its columns

Walk walk_of(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.b.dtype);
  if (plan.b.row_step == bytes && plan.k > 1 && plan.m <= most_rows_along) return Walk::along;
  const bool rows_contiguous = plan.b.col_step == bytes && plan.n > 1;
  return rows_contiguous && plan.m <= most_rows_across ? Walk::across : Walk::none;
}

// How much of k is summed by itself.
int64_t cut_of(const GemmPlan& plan, Walk walk) {
  const int64_t cut = round_up(ceil_div(plan.k, cuts_of_k), rows_reread);
  const bool pays = saturating_mul(cut, plan.n, dtype_bytes(plan.b.dtype)) >= least_cut_bytes;
  return walk == Walk::across && pays && plan.m * plan.n <= most_cut_sums ? cut : plan.k;
}

template <class T>
class Skinny final : public CpuGemm {
 public:
  explicit Skinny(const GemmPlan& original)
      : CpuGemm(with_few_rows(original)),
        kernels_(this->template kernels<T>()),
        walk_(walk_of(plan_)),
        cut_(cut_of(plan_, walk_)),
        cuts_(ceil_div(plan_.k, cut_)) {
    swapped_ = !(plan_ == original);
    const double bytes = static_cast<double>(plan_.k) * static_cast<double>(plan_.n) *
                         static_cast<double>(dtype_bytes(plan_.b.dtype));
    far_ = bytes > near_b_bytes;
    turns_ = ceil_div(plan_.m, int64_t{kernels_.dot_rows});
    pieces_ = walk_ == Walk::along && plan_.m > most_skinny_rows &&
              (turns_ > 1 || saturating_mul(plan_.m, plan_.k, sizeof(T)) > near_a_bytes);
    const bool readable = memory_index(plan_.a.dtype) == 0 && plan_.a.col_step == sizeof(T);
    packs_a_ = !readable || (pieces_ && plan_.a.row_step % page_bytes == 0);
    together_ = packs_a_ || cuts_ > 1 ? 1 : plan_.batch;
    threads_ =
        static_cast<int>(std::clamp(static_cast<double>(together_) * bytes / bytes_per_thread, 1.0,
                                    static_cast<double>(available_threads())));
    const int64_t pad = line_bytes / int64_t{sizeof(T)};
    const int64_t room = plan_.m <= most_skinny_rows ? sum_bytes : 2 * sum_bytes;
    const int64_t stretch = round_up(room / (plan_.m * int64_t{sizeof(T)}), 2 * pad);
    shares_cuts_ = cuts_ > 1 && plan_.n * dtype_bytes(plan_.b.dtype) <= threads_ * short_share;
    const int64_t sharers = shares_cuts_ ? 1 : threads_;  // of a row
    const int64_t rounds =
        ceil_div(plan_.n, sharers * stretch);  // of each thread: they should end together
    cols_ = pieces_ ? piece_cols : round_up(ceil_div(plan_.n, sharers * rounds), 2 * pad);
    // Pieces of all rows of A share the first cache: they must not fall on the same places of it.
    a_row_ = pieces_ ? saturating_add(round_up(plan_.k, page_bytes / int64_t{sizeof(T)}),
                                      piece_bytes / int64_t{sizeof(T)})
                     : round_up(plan_.k, pad);
    if (!packs_a_)
      a_row_ = plan_.a.row_step / int64_t{sizeof(T)};
    else
      a_bytes_ = saturating_mul(plan_.m, a_row_, sizeof(T));
    sum_row_ = shares_cuts_ ? round_up(plan_.n, 2 * pad) + pad : cols_;
    if (pieces_)
      partial_bytes_ = plan_.m * cols_ * kernels_.lanes * int64_t{sizeof(T)};
    else if (cuts_ > 1 && !shares_cuts_)
      partial_bytes_ = plan_.m * cols_ * int64_t{sizeof(T)};
    scratch_bytes_ = partial_bytes_ + plan_.m * sum_row_ * int64_t{sizeof(T)};
    workspace_bytes_ = saturating_add(a_bytes_, (shares_cuts_ ? cuts_ : threads_) * scratch_bytes_);
  }

  const char* candidate() const override { return "skinny"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", b read " << (walk_ == Walk::across ? "across" : "along")
         << (pieces_ ? " in pieces" : "") << ", stretches of " << cols_ << " columns";
    if (cuts_ > 1) text << " and " << cut_ << " rows" << (shares_cuts_ ? "" : " in turn");
    text << " on " << threads_ << " threads" << (swapped_ ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (swapped_) std::swap(p.a, p.b);
    const int64_t stretches = ceil_div(plan_.n, cols_);
    if (threads_ == 1 && !packs_a_ && !shares_cuts_) {  // small products notice what surrounds them
      for (int64_t s = 0; s < plan_.batch * stretches; ++s)
        run_stretch(p, s / stretches, s % stretches * cols_, p.workspace, alpha, beta);
      return;
    }
    const int threads = std::min(threads_, available_threads());
    for (int64_t batch = 0; batch < plan_.batch; batch += together_) {
      if (packs_a_) pack_a(p, batch);
      if (shares_cuts_) {
        parallel_team(threads, [&](Team& team) { run_cuts(team, p, batch, alpha, beta); });
        continue;
      }
      std::atomic<int64_t> next{batch * stretches};
      parallel_for(threads, threads, [&](int64_t first, int64_t last) {
        char* scratch = p.workspace + a_bytes_ + first * scratch_bytes_;
        if (first == last) return;
        for (int64_t s;
             (s = next.fetch_add(1, std::memory_order_relaxed)) < (batch + together_) * stretches;)
          run_stretch(p, s / stretches, s % stretches * cols_, scratch, alpha, beta);
      });
    }
  }

 private:
  const T* rows_of_a(const Pointers& p, int64_t batch) const {
    return reinterpret_cast<const T*>(packs_a_ ? p.workspace : p.a + batch * plan_.a.batch_step);
  }

  void pack_a(const Pointers& p, int64_t batch) const {
    kernels_.pack[memory_index(plan_.a.dtype)]({p.a + batch * plan_.a.batch_step, plan_.a.row_step,
                                                plan_.a.col_step, plan_.m, plan_.k,
                                                reinterpret_cast<T*>(p.workspace), a_row_});
  }

  void add(T* total, const T* more, int64_t cols) const {
    for (int64_t row = 0; row < plan_.m; ++row)
      for (int64_t j = 0; j < cols; ++j) total[row * sum_row_ + j] += more[row * sum_row_ + j];
  }

  // Stretches of all cuts, one by one; then the columns of their sums, added in the order of k.
  void run_cuts(Team& team, const Pointers& p, int64_t batch, T alpha, T beta) const {
    const T* const a = rows_of_a(p, batch);
    T* const sums = reinterpret_cast<T*>(p.workspace + a_bytes_);
    const int64_t cut_sums = plan_.m * sum_row_, stretches = ceil_div(plan_.n, cols_);
    const char* const b = p.b + batch * plan_.b.batch_step;
    team.share(cuts_ * stretches, [&](int64_t s) {
      const int64_t k = s / stretches * cut_, col = s % stretches * cols_;
      run_across({std::min(cut_, plan_.k - k), std::min(cols_, plan_.n - col), a + k, a_row_,
                  b + k * plan_.b.row_step + col * plan_.b.col_step, plan_.b.row_step,
                  sums + s / stretches * cut_sums + col, sum_row_, 0});
    });
    team.wait();
    const int64_t lines = ceil_div(plan_.n, line_bytes),
                  shares = std::min<int64_t>(team.threads(), lines);
    team.share(shares, [&](int64_t share) {
      const int64_t first = lines * share / shares * line_bytes,
                    last = std::min(plan_.n, lines * (share + 1) / shares * line_bytes);
      for (int64_t cut = 1; cut < cuts_; ++cut)
        add(sums + first, sums + first + cut * cut_sums, last - first);
      finish(p, batch, sums + first, first, last - first, alpha, beta);
    });
  }

  void finish(const Pointers& p, int64_t batch, const T* sums, int64_t col, int64_t cols, T alpha,
              T beta) const {
    kernels_.finish[memory_index(plan_.c.dtype)](
        {sums, sum_row_, plan_.m, cols, p.c + batch * plan_.c.batch_step + col * plan_.c.col_step,
         plan_.c.row_step, plan_.c.col_step, alpha, beta});
  }

  void run_stretch(const Pointers& p, int64_t batch, int64_t col, char* scratch, T alpha,
                   T beta) const {
    const int64_t cols = std::min(cols_, plan_.n - col);
    T* const sums = reinterpret_cast<T*>(scratch + partial_bytes_);
    const SkinnyCall<T> call{plan_.k,
                             cols,
                             rows_of_a(p, batch),
                             a_row_,
                             p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
                             walk_ == Walk::across ? plan_.b.row_step : plan_.b.col_step,
                             sums,
                             cols_,
                             far_ ? cols_ahead * plan_.b.col_step : 0,
                             reinterpret_cast<T*>(scratch)};
    const SkinnySet<T>& set = kernels_.skinny[memory_index(plan_.b.dtype)];
    if (pieces_)
      run_pieces(set, call);
    else if (walk_ == Walk::across)
      run_cuts_in_turn(call);
    else
      set.along[plan_.m - 1](call);
    finish(p, batch, sums, col, cols, alpha, beta);
  }

  // The same sums as those of run_cuts.
  void run_cuts_in_turn(SkinnyCall<T> call) const {
    const SkinnyCall<T> all = call;
    for (int64_t k = 0; k < plan_.k; k += cut_) {
      call.k = std::min(cut_, plan_.k - k);
      call.a = all.a + k;
      call.b = all.b + k * plan_.b.row_step;
      call.sum = k == 0 ? all.sum : all.partial;
      run_across(call);
      if (k > 0) add(all.sum, all.partial, all.cols);
    }
  }

  // Later rows of A read the same few rows of B again.
  void run_across(SkinnyCall<T> call) const {
    const SkinnyCall<T> all = call;
    const SkinnySet<T>& set = kernels_.skinny[memory_index(plan_.b.dtype)];
    for (int64_t row = 0; row < plan_.m; ++row)
      std::fill_n(all.sum + row * all.sum_row, all.cols, T{0});
    const int64_t depth = plan_.m <= most_skinny_rows ? all.k : rows_reread;
    for (int64_t k = 0; k < all.k; k += depth)
      for (int64_t row = 0; row < plan_.m; row += most_skinny_rows) {
        call.k = std::min(depth, all.k - k);
        call.a = all.a + row * a_row_ + k;
        call.b = all.b + k * plan_.b.row_step;
        call.sum = all.sum + row * all.sum_row;
        call.ahead = row == 0 ? rows_ahead * plan_.b.row_step : 0;
        set.across[std::min<int64_t>(most_skinny_rows, plan_.m - row) - 1](call);
      }
  }

  // A few columns of a piece of B at a time, for which the rows of A take turns. Each turn asks for
  // some of the columns that follow, so that memory is never waited for.
  void run_pieces(const SkinnySet<T>& set, SkinnyCall<T> call) const {
    const SkinnyCall<T> all = call;
    const int64_t bytes = dtype_bytes(plan_.b.dtype), depth = piece_bytes / bytes;
    const int64_t height = ceil_div(plan_.m, turns_), share = ceil_div(cols_together, turns_);
    for (int64_t k = 0; k < plan_.k; k += depth) {
      call.k = std::min(depth, plan_.k - k);
      call.is_first = k == 0;
      call.is_last = k + depth >= plan_.k;
      for (int64_t col = 0; col < all.cols; col += cols_together) {
        call.cols = std::min(cols_together, all.cols - col);
        call.b = all.b + col * all.b_step + k * bytes;
        const int64_t next = col + cols_together < all.cols ? cols_together * all.b_step
                                                            : depth * bytes - col * all.b_step;
        for (int64_t row = 0, turn = 0; row < plan_.m; row += height, ++turn) {
          call.a = all.a + row * a_row_ + k;
          call.sum = all.sum + row * all.sum_row + col;
          call.partial = all.partial + (col * plan_.m + row * call.cols) * kernels_.lanes;
          call.ahead = next + turn * share * all.b_step;
          call.ahead_cols = static_cast<int>(std::min(share, cols_together - turn * share));
          set.piece[std::min(height, plan_.m - row) - 1](call);
        }
      }
    }
  }

  const GemmKernels<T>& kernels_;
  Walk walk_;
  int64_t cut_, cuts_;        // of k
  bool shares_cuts_ = false;  // the threads have cuts of k, not columns
  bool swapped_ = false;
  int threads_ = 1;
  bool pieces_ = false, packs_a_ = true;
  bool far_ = false;      // B comes from memory
  int64_t turns_ = 1;     // of the rows of A at a piece of B
  int64_t together_ = 1;  // products of the batch
  int64_t cols_ = 0, sum_row_ = 0, a_row_ = 0, a_bytes_ = 0, partial_bytes_ = 0, scratch_bytes_ = 0;
};

}  // namespace

bool prefers_dots(const GemmPlan& original) {
  const GemmPlan plan = with_few_rows(original);
  if (plan.b.row_step != dtype_bytes(plan.b.dtype) || plan.m > most_rows_along ||
      plan.k < least_dot)
    return false;
  const int64_t lanes = is_f64(plan) ? gemm_tables(isa()).f64.lanes : gemm_tables(isa()).f32.lanes;
  const int64_t turns = ceil_div(plan.m, int64_t{most_skinny_rows}), rows = ceil_div(plan.m, turns),
                cols = dot_cols(static_cast<int>(rows));
  const double step = std::max(4.0, static_cast<double>(rows * cols) / 2);
  double cycles = dot_call_cycles + static_cast<double>(turns * ceil_div(plan.n, cols)) *
                                        (static_cast<double>(ceil_div(plan.k, lanes)) * step +
                                         (rows == 1 ? row_cycles : dots_cycles));
  if (plan.a.col_step != dtype_bytes(plan.a.dtype))
    cycles += 1.5 * static_cast<double>(plan.m * plan.k);
  return cycles < direct_way(original).cycles;
}

// Small products go to other kernels, which have less to set up.
bool is_skinny(const infini::Device&, const GemmPlan& original) {
  const GemmPlan plan = with_few_rows(original);
  return prefers_dots(original) || (plan.k >= 64 && plan.n >= 64 && walk_of(plan) != Walk::none);
}

std::unique_ptr<GemmKernel> make_skinny(const infini::Device&, const GemmPlan& plan) {
  if (plan.k == 0 || walk_of(with_few_rows(plan)) == Walk::none) return nullptr;
  if (is_f64(plan)) return where_it_fits(std::make_unique<Skinny<double>>(plan));
  return where_it_fits(std::make_unique<Skinny<float>>(plan));
}

}  // namespace infini::cpu
