// Cutting a skinny product into stretches of columns and cuts of k.
#include "backends/cpu/gemm/skinny/schedule.h"

#include <algorithm>

#include "backends/cpu/gemm/costs.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu::skinny {
namespace {

constexpr int64_t line_bytes = 64, page_bytes = 4096;
constexpr int64_t sum_bytes = 24 << 10;  // a stretch of columns whose sums stay in L1
constexpr int64_t rows_reread = 8;
// The k of a B that is read across is cut, so that many threads can stream long rows of it: a sixteenth of
// each row is up to a third slower. By the problem alone, since the cuts decide the bits.
constexpr int64_t cuts_of_k = 16, least_cut_bytes = 256 << 10, most_cut_sums = 128 << 10;
constexpr int64_t short_share = 1024;  // bytes of a row for each thread
// More rows than a kernel takes read B along its columns in pieces that stay in L1, and A's with them. While a stretch is
// read, the next one comes nearer.
constexpr int64_t stretch_cols = 16, few_wide_turns = 3;
constexpr int64_t near_a_bytes = 24 << 10;  // an A that stays in L1 needs no pieces
constexpr double near_b_bytes = 512 << 10;  // nothing of a B in the second cache is asked for ahead

// How much of k is summed by itself.
int64_t cut_of(const GemmPlan& plan, Walk walk) {
  const int64_t cut = round_up(ceil_div(plan.k, cuts_of_k), rows_reread);
  const bool pays = saturating_mul(cut, plan.n, dtype_bytes(plan.b.dtype)) >= least_cut_bytes;
  return walk == Walk::across && pays && plan.m * plan.n <= most_cut_sums ? cut : plan.k;
}

void choose_ways(Schedule& s, const KernelShape& shape, double b_bytes) {
  const GemmPlan& plan = s.plan;
  s.cut = cut_of(plan, s.walk);
  s.cuts = ceil_div(plan.k, s.cut);
  s.far = b_bytes > near_b_bytes;
  s.turns = ceil_div(plan.m, int64_t{shape.dot_rows});
  const bool many_rows = plan.m > (s.far ? slim_rows : most_skinny_rows);
  s.pieces = s.walk == Walk::along && many_rows &&
             (s.turns > 1 || saturating_mul(plan.m, plan.k, s.bytes) > near_a_bytes);
  s.wide_pieces = s.pieces && plan.m <= few_wide_turns * shape.wide_piece_rows;
  if (s.wide_pieces) s.turns = ceil_div(plan.m, int64_t{shape.wide_piece_rows});
  const bool readable = memory_index(plan.a.dtype) == 0 && plan.a.col_step == s.bytes;
  s.packs_a = !readable || (s.pieces && (s.far || plan.a.row_step % page_bytes == 0));
  s.together = s.packs_a || s.cuts > 1 ? 1 : plan.batch;
}

void share_out(Schedule& s, const GemmTarget& target) {
  const GemmPlan& plan = s.plan;
  s.threads = worthwhile_threads(target, as_double(s.together) * cycles(s, target));
  const int64_t pad = line_bytes / s.bytes;
  const int64_t room = plan.m <= most_skinny_rows ? sum_bytes : 2 * sum_bytes;
  const int64_t stretch = round_up(room / (plan.m * s.bytes), 2 * pad);
  s.shares_cuts =
      s.cuts > 1 && (s.far || plan.n * dtype_bytes(plan.b.dtype) <= s.threads * short_share);
  const int64_t sharers = s.shares_cuts ? 1 : s.threads;  // of a row
  // Of each thread: they should end together. Whole rows come from memory faster than parts of them.
  const int64_t rounds = s.shares_cuts && s.far ? 1 : ceil_div(plan.n, sharers * stretch);
  s.cols = s.pieces ? (s.wide_pieces ? wide_piece_cols : stretch_cols)
                    : round_up(ceil_div(plan.n, sharers * rounds), 2 * pad);
  s.sum_row = s.shares_cuts ? round_up(plan.n, 2 * pad) + pad : s.cols;
}

void lay_out_workspace(Schedule& s, int lanes) {
  const GemmPlan& plan = s.plan;
  const int64_t pad = line_bytes / s.bytes;
  s.a_row = !s.packs_a ? plan.a.row_step / s.bytes : round_up(plan.k, pad);
  // Packing writes less than a vector behind the last row.
  if (s.packs_a) s.a_bytes = saturating_add(saturating_mul(plan.m, s.a_row, s.bytes), line_bytes);
  if (s.pieces)
    s.partial_bytes = plan.m * s.cols * lanes * s.bytes;
  else if (s.cuts > 1 && !s.shares_cuts)
    s.partial_bytes = plan.m * s.cols * s.bytes;
  s.scratch_bytes = s.partial_bytes + plan.m * s.sum_row * s.bytes;
}

}  // namespace

int64_t Schedule::workspace_bytes() const {
  return saturating_add(a_bytes, (shares_cuts ? cuts : threads) * scratch_bytes);
}

Walk walk_of(const GemmPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.b.dtype);
  if (plan.b.row_step == bytes && plan.k > 1 && plan.m <= most_rows_along) return Walk::along;
  const bool rows_contiguous = plan.b.col_step == bytes && plan.n > 1;
  return rows_contiguous && plan.m <= most_rows_across ? Walk::across : Walk::none;
}

std::optional<Schedule> make_schedule(const GemmTarget& target, const GemmPlan& given) {
  Schedule s;
  s.plan = with_few_rows(given);
  s.walk = walk_of(s.plan);
  if (!is_something(s.plan) || s.walk == Walk::none) return std::nullopt;
  s.swapped = given.m > given.n;
  const KernelShape& shape = shape_of(target, s.plan);
  s.bytes = shape.bytes;
  const double b_bytes = static_cast<double>(s.plan.k) * static_cast<double>(s.plan.n) *
                         static_cast<double>(dtype_bytes(s.plan.b.dtype));
  choose_ways(s, shape, b_bytes);
  share_out(s, target);
  lay_out_workspace(s, shape.lanes);
  return s.workspace_bytes() <= most_workspace_bytes ? std::optional(s) : std::nullopt;
}

}  // namespace infini::cpu::skinny
