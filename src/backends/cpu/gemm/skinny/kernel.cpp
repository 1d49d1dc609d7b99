// Skinny products: running a schedule.
#include <algorithm>
#include <sstream>

#include "backends/cpu/gemm/gemm.h"
#include "backends/cpu/gemm/skinny/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

using skinny::Schedule, skinny::Walk;

constexpr int64_t line_bytes = 64;
constexpr int64_t rows_reread = 8;  // of B, which later rows of A read again across

template <class T>
class Skinny final : public CpuGemm {
 public:
  explicit Skinny(const Schedule& schedule)
      : CpuGemm(schedule.plan), kernels_(this->template kernels<T>()), s_(schedule) {
    workspace_bytes_ = s_.workspace_bytes();
  }

  const char* candidate() const override { return "skinny"; }
  std::string schedule() const override {
    std::ostringstream text;
    text << isa_name(isa_) << ", b read " << (s_.walk == Walk::across ? "across" : "along")
         << (s_.pieces ? " in pieces" : "") << ", stretches of " << s_.cols << " columns";
    if (s_.cuts > 1) text << " and " << s_.cut << " rows" << (s_.shares_cuts ? "" : " in turn");
    text << " on " << s_.threads << " threads" << (s_.swapped ? ", transposed" : "");
    return text.str();
  }

 protected:
  void multiply(const Pointers& given, double alpha, double beta) const override {
    Pointers p = given;
    if (s_.swapped) std::swap(p.a, p.b);
    const int64_t stretches = s_.stretches();
    if (s_.threads == 1 && !s_.packs_a &&
        !s_.shares_cuts) {  // small products notice what surrounds them
      for (int64_t s = 0; s < plan_.batch * stretches; ++s)
        run_stretch(p, s / stretches, s % stretches * s_.cols, p.workspace, alpha, beta);
      return;
    }
    const int threads = std::min(s_.threads, available_threads());
    for (int64_t batch = 0; batch < plan_.batch; batch += s_.together) {
      if (s_.packs_a) pack_a(p, batch);
      if (s_.shares_cuts) {
        parallel_team(threads, [&](Team& team) { run_cuts(team, p, batch, alpha, beta); });
        continue;
      }
      Shares shares(s_.together * stretches, threads);
      parallel_for(threads, threads, [&](int64_t first, int64_t) {
        char* const scratch = p.workspace + s_.a_bytes + first * s_.scratch_bytes;
        shares.take(first, [&](int64_t s, bool) {
          run_stretch(p, batch + s / stretches, s % stretches * s_.cols, scratch, alpha, beta);
        });
      });
    }
  }

 private:
  const T* rows_of_a(const Pointers& p, int64_t batch) const {
    return reinterpret_cast<const T*>(s_.packs_a ? p.workspace : p.a + batch * plan_.a.batch_step);
  }

  // For pieces of k one after the other, each of all rows: these share the first cache and must not fall on the same places.
  void pack_a(const Pointers& p, int64_t batch) const {
    const int64_t depth = s_.pieces ? s_.piece() : plan_.k;
    const char* const a = p.a + batch * plan_.a.batch_step;
    T* const dst = reinterpret_cast<T*>(p.workspace);
    for (int64_t k = 0; k < plan_.k; k += depth) {
      const int64_t length = std::min(depth, plan_.k - k);
      kernels_.pack[memory_index(plan_.a.dtype)](
          {a + k * plan_.a.col_step, plan_.a.row_step, plan_.a.col_step, plan_.m, length,
           dst + k * plan_.m, s_.pieces ? length : s_.a_row});
    }
  }

  void add(T* total, const T* more, int64_t cols) const {
    for (int64_t row = 0; row < plan_.m; ++row)
      for (int64_t j = 0; j < cols; ++j) total[row * s_.sum_row + j] += more[row * s_.sum_row + j];
  }

  // Stretches of all cuts, one by one; then the columns of their sums, added in the order of k.
  void run_cuts(Team& team, const Pointers& p, int64_t batch, T alpha, T beta) const {
    const T* const a = rows_of_a(p, batch);
    T* const sums = reinterpret_cast<T*>(p.workspace + s_.a_bytes);
    const int64_t cut_sums = plan_.m * s_.sum_row, stretches = s_.stretches();
    const char* const b = p.b + batch * plan_.b.batch_step;
    team.share(s_.cuts * stretches, [&](int64_t s) {
      const int64_t k = s / stretches * s_.cut, col = s % stretches * s_.cols;
      run_across({std::min(s_.cut, plan_.k - k), std::min(s_.cols, plan_.n - col), a + k, s_.a_row,
                  b + k * plan_.b.row_step + col * plan_.b.col_step, plan_.b.row_step,
                  sums + s / stretches * cut_sums + col, s_.sum_row, 0});
    });
    team.wait();
    const int64_t lines = ceil_div(plan_.n, line_bytes),
                  shares = std::min<int64_t>(team.threads(), lines);
    team.share(shares, [&](int64_t share) {
      const int64_t first = lines * share / shares * line_bytes,
                    last = std::min(plan_.n, lines * (share + 1) / shares * line_bytes);
      for (int64_t cut = 1; cut < s_.cuts; ++cut)
        add(sums + first, sums + first + cut * cut_sums, last - first);
      finish(p, batch, sums + first, first, last - first, alpha, beta);
    });
  }

  void finish(const Pointers& p, int64_t batch, const T* sums, int64_t col, int64_t cols, T alpha,
              T beta) const {
    kernels_.finish[memory_index(plan_.c.dtype)](
        {sums, s_.sum_row, plan_.m, cols, p.c + batch * plan_.c.batch_step + col * plan_.c.col_step,
         plan_.c.row_step, plan_.c.col_step, alpha, beta});
  }

  void run_stretch(const Pointers& p, int64_t batch, int64_t col, char* scratch, T alpha,
                   T beta) const {
    const int64_t cols = std::min(s_.cols, plan_.n - col);
    T* const sums = reinterpret_cast<T*>(scratch + s_.partial_bytes);
    const SkinnyCall<T> call{plan_.k,
                             cols,
                             rows_of_a(p, batch),
                             s_.a_row,
                             p.b + batch * plan_.b.batch_step + col * plan_.b.col_step,
                             s_.walk == Walk::across ? plan_.b.row_step : plan_.b.col_step,
                             sums,
                             s_.cols,
                             s_.far,
                             reinterpret_cast<T*>(scratch)};
    const SkinnySet<T>& set = kernels_.skinny[memory_index(plan_.b.dtype)];
    if (s_.pieces)
      run_pieces(set, call);
    else if (s_.walk == Walk::across)
      run_cuts_in_turn(call);
    else
      set.along[plan_.m - 1](call);
    finish(p, batch, sums, col, cols, alpha, beta);
  }

  // The same sums as those of run_cuts.
  void run_cuts_in_turn(SkinnyCall<T> call) const {
    const SkinnyCall<T> all = call;
    for (int64_t k = 0; k < plan_.k; k += s_.cut) {
      call.k = std::min(s_.cut, plan_.k - k);
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
        call.a = all.a + row * s_.a_row + k;
        call.b = all.b + k * plan_.b.row_step;
        call.sum = all.sum + row * all.sum_row;
        call.fetches = s_.far && row == 0;
        set.across[std::min<int64_t>(most_skinny_rows, plan_.m - row) - 1](call);
      }
  }

  // A few columns of a piece of B at a time, for which the rows of A take turns. Each turn asks for its share of the stretch
  // that follows, in the order in which that lies, so that memory is never waited for.
  void run_pieces(const SkinnySet<T>& set, SkinnyCall<T> call) const {
    const SkinnyCall<T> all = call;
    const int64_t bytes = dtype_bytes(plan_.b.dtype), depth = s_.piece(), wide = s_.cols_together();
    const int64_t height = ceil_div(plan_.m, s_.turns), column = plan_.k * bytes;
    const int64_t calls = ceil_div(plan_.k, depth) * ceil_div(all.cols, wide) * s_.turns,
                  share = round_up(ceil_div(all.cols * column, calls), line_bytes);
    const int64_t lines = ceil_div(share * kernels_.lanes, line_bytes * depth);
    call.ahead_lines = all.fetches ? static_cast<int>(lines) : 0;
    int64_t fetched = 0;
    for (int64_t k = 0; k < plan_.k; k += depth) {
      call.k = std::min(depth, plan_.k - k);
      call.is_first = k == 0;
      call.is_last = k + depth >= plan_.k;
      const T* const a = s_.packs_a ? all.a + k * plan_.m : all.a + k;
      if (s_.packs_a) call.a_row = call.k;
      for (int64_t col = 0; col < all.cols; col += wide) {
        call.cols = std::min(wide, all.cols - col);
        call.b = all.b + col * all.b_step + k * bytes;
        for (int64_t row = 0; row < plan_.m; row += height, fetched += share) {
          call.a = a + row * call.a_row;
          call.sum = all.sum + row * all.sum_row + col;
          call.partial = all.partial + (col * plan_.m + row * call.cols) * kernels_.lanes;
          call.ahead = all.b + (all.cols + fetched / column) * all.b_step + fetched % column;
          const int64_t rows = std::min(height, plan_.m - row);
          (s_.wide_pieces ? set.wide_piece : set.piece)[rows - 1](call);
        }
      }
    }
  }

  const GemmKernels<T>& kernels_;
  const Schedule s_;
};

}  // namespace

Bid<GemmKernel> bid_skinny(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return bid_of<Skinny>(skinny::estimate(target, plan, limit), plan);
}

}  // namespace infini::cpu
