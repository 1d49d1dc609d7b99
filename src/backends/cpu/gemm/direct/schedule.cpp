// Choosing the direct gemm's way, and parts of C for the threads.
#include "backends/cpu/gemm/direct/schedule.h"

#include <algorithm>
#include <cstdlib>

#include "base/dtype.h"

namespace infini::cpu::direct {
namespace {

constexpr int64_t most_b_bytes = 160 << 10;  // of the memory that B lies in
constexpr int64_t short_row = 1024,  // bytes: rows that long and less crowd the first cache less
    most_bytes_of_short_rows = 264 << 10;
constexpr int64_t short_k =
    64;  // B is read in place; with more C than near_bytes, C is written row by row
// A larger B is copied panel by panel if many rows meet it; otherwise it is read in place, in pieces of k
// whose panels stay in the first cache.
constexpr int64_t many_rows = 128, in_place_depth = 192, copied_depth = 1024;

// A C larger than the last cache is stored past it, a strip at a time: not with more arithmetic, which would have to wait.
constexpr int64_t most_past_k = 16, most_past_bytes = 256 << 10;

constexpr double cycles_of_turns =
    1e5;  // of a thread; from there on it takes turns with the others
constexpr int64_t most_row_parts = 8, turns = 4;
constexpr int64_t most_summed_rows = 512, summed_bytes = 48 << 10;  // half of it is used
constexpr int64_t near_bytes = 8 << 20;
constexpr int64_t most_whole_b = 512 << 10;  // a B that must be copied is then copied whole
constexpr int64_t first_cache_bytes = 40 << 10, second_cache_bytes = 1 << 20;
// What a turn costs; copying a panel, in rows that meet it; and how much of a turn the others wait for the last.
constexpr double turn_cycles = 400, rows_of_copying = 8, waits_at_end = 0.15;
constexpr double bytes_per_cycle = 5;  // of C, from and to memory

bool is_unit(int64_t extent, int64_t step, infiniDtype_t dtype) {
  return extent == 1 || step == dtype_bytes(dtype);
}

bool fits_in_place(const GemmPlan& plan) {
  if (plan.n > most_b_bytes || plan.k > most_b_bytes) return false;
  const int64_t row = std::max(std::abs(plan.b.row_step), plan.n * dtype_bytes(plan.b.dtype));
  return saturating_mul(plan.k, row) <=
         (row <= short_row ? most_bytes_of_short_rows : most_b_bytes);
}

int64_t depth_of(const Way& way) {
  const int64_t k = way.plan.k, most = way.packs_b   ? copied_depth
                                       : way.streams ? in_place_depth
                                                     : k;
  return ceil_div(k, ceil_div(k, most));
}

// Rows that are half a vector long are read and written by vectors of that size: every second wider one would cross two
// lines.
bool takes_half_vectors(const GemmTarget& target, const GemmPlan& plan) {
  return target.half_f32 != nullptr && 2 * plan.n == shape_of(target, plan).lanes &&
         plan.m > slim_rows;
}

Way way_of(const GemmTarget& target, const GemmPlan& plan) {
  Way way;
  way.plan = plan;
  way.half = takes_half_vectors(target, plan);
  way.shape = !way.half      ? shape_of(target, plan)
              : is_f64(plan) ? *target.half_f64
                             : *target.half_f32;
  const bool own_type = memory_index(plan.a.dtype) == 0;
  const bool b_unit = is_unit(plan.n, plan.b.col_step, plan.b.dtype),
             c_unit = is_unit(plan.n, plan.c.col_step, plan.c.dtype);
  const bool readable = own_type && b_unit && (way.shape.masks || plan.n % way.shape.lanes == 0);
  const bool large = !fits_in_place(plan);
  way.packs_a = !own_type;
  way.packs_b = !readable || (large && plan.m >= many_rows && plan.k > short_k);
  way.streams = large && !way.packs_b;
  way.through_sums = memory_index(plan.c.dtype) != 0 || !c_unit;
  way.past = plan.k <= most_past_k && !way.through_sums && !way.packs_a &&
             static_cast<double>(saturating_mul(plan.batch, plan.m, plan.n, way.shape.bytes)) >
                 target.facts->l3_bytes;
  way.depth = depth_of(way);
  way.cycles = cycles(way, target);
  if (!can_split(way)) return way;
  Way split = way;
  split.split = true;
  split.cycles = cycles(split, target);
  return split.cycles < way.cycles ? split : way;
}

// Of each product: a few products more than threads would leave some of these without work at the end.
int64_t parts_wanted(const Schedule& s) {
  const int64_t batch = s.plan.batch;
  int64_t parts = ceil_div(s.threads, batch);
  const auto idle = [&](int64_t p) { return round_up(batch * p, int64_t{s.threads}) - batch * p; };
  if (batch > 1)
    while (parts < s.threads && 8 * idle(parts) > batch * parts) ++parts;
  return parts;
}

void share_out(Schedule& s, int64_t wanted) {
  const int64_t strips = ceil_div(s.plan.m, s.shape.tile_rows),
                panels = ceil_div(s.vectors, s.unit);
  const bool by_cols = (s.plan.n >= s.plan.m && s.plan.k > short_k) || strips < 2 * wanted;
  s.col_parts = by_cols ? std::min(panels, wanted) : 1;
  s.row_parts = std::min(strips, ceil_div(wanted, s.col_parts));
  if (!by_cols) s.col_parts = std::min(panels, ceil_div(wanted, s.row_parts));
}

// Whole products or panels one by one, and cut into rows, too, where the threads would otherwise not end together.
void choose_turns(Schedule& s) {
  const int64_t strip = most_rows(s.shape, s.unit), strips = ceil_div(s.plan.m, strip),
                panels = ceil_div(s.vectors, s.unit);
  const double turn =
      2 * turn_cycles / static_cast<double>(saturating_mul(s.plan.k, s.unit));  // in rows
  double best = 1e300;
  for (const int64_t across : {int64_t{1}, panels})
    for (int64_t down = 1; down <= std::min<int64_t>(strips, most_row_parts); ++down) {
      const bool shares_copies = across == panels && s.depth == s.plan.k;
      const double copying =
          s.packs_b ? rows_of_copying / static_cast<double>(shares_copies ? down : 1) : 0;
      const double each =
          across == 1 ? static_cast<double>(s.vectors) / static_cast<double>(s.unit) : 1;  // panels
      const auto rounds =
          static_cast<double>(ceil_div(s.plan.batch * across * down, int64_t{s.threads}));
      const auto rows = static_cast<double>(ceil_div(strips, down) * strip);
      const double time = (rounds + waits_at_end) * (each * (rows + copying) + turn);
      if (time < best) best = time, s.row_parts = down, s.col_parts = across;
    }
}

// Rows of a strip of C that is stored past the caches.
int64_t past_rows_of(const Schedule& s) {
  const GemmPlan& plan = s.plan;
  const int64_t row = saturating_mul(plan.n, s.shape.bytes);
  if (!s.past || !s.along_rows || row > most_past_bytes) return 0;
  return std::min(most_past_bytes / row, most_rows(s.shape, std::min(s.unit, s.vectors)));
}

// Threads beyond the products share them; where there is much to do, in more parts than threads.
void choose_parts(Schedule& s, const GemmTarget& target, int64_t whole_b_bytes) {
  const GemmPlan& plan = s.plan;
  const double written =
      static_cast<double>(saturating_mul(plan.m, plan.n, dtype_bytes(plan.c.dtype))) /
      bytes_per_cycle;
  const double all = static_cast<double>(plan.batch) * std::max(s.cycles, written);
  s.threads = worthwhile_threads(target, all);
  const bool takes_turns = s.threads > 1 && all > s.threads * cycles_of_turns && !s.packs_a;
  const int64_t strips = ceil_div(plan.m, s.shape.tile_rows);
  s.along_rows = !s.through_sums && !s.packs_a && plan.k <= short_k && s.depth == plan.k &&
                 strips >= turns * s.threads &&
                 saturating_mul(plan.batch, plan.m, plan.n, s.shape.bytes) > near_bytes &&
                 (!s.packs_b || whole_b_bytes <= most_whole_b);
  s.past_rows = past_rows_of(s);
  if (s.along_rows)
    s.row_parts = takes_turns ? turns * s.threads : ceil_div(s.threads, plan.batch);
  else
    takes_turns ? choose_turns(s) : share_out(s, parts_wanted(s));
  if (s.through_sums && s.depth < plan.k)
    s.row_parts = round_up(std::max(s.row_parts, ceil_div(plan.m, most_summed_rows)), s.row_parts);
  s.keeps_panel =
      s.packs_b && s.depth == plan.k && !s.along_rows && s.col_parts == ceil_div(s.vectors, s.unit);
  s.threads = static_cast<int>(std::min<int64_t>(s.threads, s.tasks()));
}

void lay_out_workspace(Schedule& s, int64_t whole_b_bytes) {
  const GemmPlan& plan = s.plan;
  if (s.packs_a)
    s.a_bytes = round_up(saturating_add(saturating_mul(plan.m, plan.k, s.shape.bytes), line_bytes),
                         line_bytes);
  if (s.packs_b && s.along_rows)
    s.b_bytes = whole_b_bytes;
  else if (s.packs_b)
    s.b_bytes = (s.depth + 1) * (plan.m <= slim_rows ? most_tile_vectors : 4) * s.shape.lanes *
                s.shape.bytes;
  s.thread_bytes = saturating_add(saturating_add(s.a_bytes, s.b_bytes), s.past_bytes());
  if (s.through_sums)
    s.thread_bytes =
        saturating_add(s.thread_bytes, std::min(ceil_div(plan.m, s.row_parts), s.rows_together()) *
                                           s.sum_row() * s.shape.bytes);
}

}  // namespace

Part Schedule::part(int64_t index) const {
  if (parts() == 1) return {0, plan.m, 0, vectors};
  const int64_t down = index % row_parts, across = index / row_parts,
                panels = ceil_div(vectors, unit);
  const int64_t top = plan.m * down / row_parts, left = panels * across / col_parts * unit;
  return {top, plan.m * (down + 1) / row_parts - top, left,
          std::min(vectors, panels * (across + 1) / col_parts * unit) - left};
}

int64_t Schedule::rows_together() const {
  return depth < plan.k
             ? most_summed_rows
             : summed_bytes / (sum_row() * shape.bytes) / shape.tile_rows * shape.tile_rows;
}

std::optional<Way> make_way(const GemmTarget& target, const GemmPlan& plan) {
  if (!is_something(plan)) return std::nullopt;
  const Way way = way_of(target, plan);
  Way other = way_of(target, transposed(plan));
  other.swapped = true;
  return other.cycles < way.cycles ? other : way;
}

Schedule make_schedule(const GemmTarget& target, const Way& way) {
  Schedule s{way};
  const GemmPlan& plan = s.plan;
  s.vectors = ceil_div(plan.n, s.shape.lanes);
  s.unit = s.shape.wide_vectors != 0 && s.vectors % s.shape.wide_vectors == 0
               ? s.shape.wide_vectors
               : s.shape.tile_vectors;
  const int64_t whole_b_bytes = saturating_mul(plan.k, s.vectors, line_bytes);
  choose_parts(s, target, whole_b_bytes);
  lay_out_workspace(s, whole_b_bytes);
  // One or two rows of A keep the loads busy themselves, unless these cross lines, which is slow where lines are far.
  const bool loads_well = plan.m <= slim_rows && plan.b.row_step % line_bytes == 0;
  s.fetches_first = !s.packs_b && saturating_mul(plan.k, plan.n, s.shape.bytes) >
                                      (loads_well ? second_cache_bytes : first_cache_bytes);
  return s;
}

}  // namespace infini::cpu::direct
