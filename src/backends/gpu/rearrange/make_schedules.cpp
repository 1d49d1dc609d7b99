// Making row, shift, scatter, tiny and generic schedules.
#include "backends/gpu/rearrange/make_schedules.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();

// Multiplies `count` by `extent`; false when a grid cannot hold the result.
bool grow(int64_t& count, int64_t extent) {
  return checked_mul(count, extent, count) && count <= grid_limit;
}

GridLoop grid_loop(int64_t extent, int64_t dst_step, int64_t src_step) {
  return {make_fast_divisor(static_cast<uint32_t>(extent)), dst_step, src_step};
}

// The orders in which a block may take the loops: the smallest step in src first, with what src does not know first or
// last, or the smallest in dst. Among equal ones the smallest in dst.
enum class Order { src, src_that_moves, dst };

void order_loops(const UnitNest& nest, Order by, int* order) {
  for (int i = 0; i < nest.depth; ++i) order[i] = nest.depth - 1 - i;
  if (by == Order::dst) return;
  const auto key = [&](int i) {
    const int64_t step = std::abs(nest.loops[i].src_step);
    return step == 0 && by == Order::src_that_moves ? INT64_MAX : step;
  };
  std::stable_sort(order, order + nest.depth, [&](int a, int b) { return key(a) < key(b); });
}

// Bytes that the first warp of a block moves in whole sectors; those of dst are read before, too.
int64_t warp_sectors(const GenericSchedule& s) {
  constexpr uint32_t warp = 32;
  int64_t dst[warp], src[warp];
  const uint32_t threads = std::min(warp, s.block_units);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    const GenericPlace place = place_unit(s, 0, thread);
    dst[thread] = place.dst / sector_bytes;
    src[thread] = place.src / sector_bytes;
  }
  const auto distinct = [&](int64_t* sectors) {
    std::sort(sectors, sectors + threads);
    return std::unique(sectors, sectors + threads) - sectors;
  };
  return (2 * distinct(dst) + distinct(src)) * warp / threads;
}

// Rows are rounded up to sectors, which must not overflow.
constexpr int64_t longest_row = INT64_MAX - 2 * sector_bytes;

}  // namespace

std::optional<RowSchedule> make_row_schedule(const RearrangePlan& plan, int max_unit) {
  if (plan.atom_bytes > longest_row) return std::nullopt;
  RowSchedule s{};
  const UnitNest nest = make_unit_nest(plan, max_unit);
  int64_t rows = 1;
  s.runs_uniform = s.sides_even = 1;
  for (int i = plan.depth; i-- > 0;) {
    const Loop& loop = plan.loops[i];
    if (s.depth == max_grid_loops || !grow(rows, loop.extent)) return std::nullopt;
    s.loops[s.depth++] = grid_loop(loop.extent, loop.dst_step, loop.src_step);
    if (loop.dst_step % vector_bytes != 0) s.runs_uniform = 0;
    if ((loop.dst_step - loop.src_step) % vector_bytes != 0) s.sides_even = 0;
  }
  const int64_t vectors[2] = {ceil_div(plan.atom_bytes, vector_bytes),
                              ceil_div(plan.atom_bytes + vector_bytes - nest.unit, vector_bytes)};
  const int64_t segments = ceil_div(vectors[1], segment_vectors);
  for (int i = 0; i < 2; ++i)
    s.block_vectors[i] =
        make_fast_divisor(static_cast<uint32_t>(segments > 1 ? segment_vectors : vectors[i]));
  s.one_by_one = segments > 1;
  // Rows that repeat one source are written by the block that has just read it.
  const bool repeats = s.depth > 0 && s.loops[0].src_step == 0;
  const int64_t per_block = segments > 1 ? repeats ? 2 : 1 : ceil_div(segment_vectors, vectors[1]);
  int64_t blocks = ceil_div(rows, per_block);
  if (segments > grid_limit || !grow(blocks, segments)) return std::nullopt;
  s.unit = nest.unit;
  s.rows = static_cast<uint32_t>(rows);
  s.rows_per_block = static_cast<uint32_t>(per_block);
  s.blocks = static_cast<uint32_t>(blocks);
  s.segments = make_fast_divisor(static_cast<uint32_t>(segments));
  s.row_bytes = plan.atom_bytes;
  s.dst_offset = plan.dst_offset;
  s.src_offset = plan.src_offset;
  s.src_begin = nest.src_bytes.begin;
  s.src_end = nest.src_bytes.end;
  return s;
}

std::optional<ShiftSchedule> make_shift_schedule(const RearrangePlan& plan, int max_unit) {
  if (plan.atom_bytes > longest_row) return std::nullopt;
  ShiftSchedule s{};
  const UnitNest nest = make_unit_nest(plan, max_unit);
  int64_t rows = 1;
  for (int i = plan.depth; i-- > 0;) {
    const Loop& loop = plan.loops[i];
    if (s.depth == max_grid_loops || !grow(rows, loop.extent)) return std::nullopt;
    s.loops[s.depth++] = grid_loop(loop.extent, loop.dst_step, loop.src_step);
  }
  // A row that begins at the end of a sector takes the most vectors. Long rows are cut at lines.
  constexpr int64_t line_vectors = 8;
  int64_t vectors = ceil_div(plan.atom_bytes + sector_bytes - nest.unit, vector_bytes);
  const int64_t segments = ceil_div(vectors, int64_t{most_shift_vectors});
  if (segments > 1) vectors = round_up(ceil_div(vectors, segments), line_vectors);
  int64_t group = 1;  // of rows that repeat one
  for (int i = 0; i < s.depth && s.loops[i].src_step == 0; ++i) group *= s.loops[i].extent.divisor;
  const bool repeated = group > 1;
  // Neighbouring threads write sectors together, see before_row(), in all rows of a block.
  if (repeated) vectors = round_up(vectors, vectors < 8 * line_vectors ? int64_t{2} : line_vectors);
  if (!repeated) group = rows;
  const int64_t most = repeated ? most_repeated_vectors : most_shift_vectors;
  int64_t per_block =
      std::min({int64_t{most_shift_rows}, std::max(most / vectors, int64_t{1}), group});
  const int64_t parts = ceil_div(group, per_block);
  if (repeated) per_block = ceil_div(group, parts);
  int64_t blocks = rows / group * parts;
  if (segments > grid_limit || !grow(blocks, segments)) return std::nullopt;
  const bool shared = repeated && per_block > 1;
  // An even number: images lie in their sectors as rows do, see before_row().
  const int64_t image_vectors =
      round_up(vectors + (shared ? 2 : 1) * sector_bytes / vector_bytes, int64_t{2});
  s.unit = nest.unit;
  s.images = static_cast<uint32_t>(shared ? 1 : per_block);
  s.group = static_cast<uint32_t>(group);
  s.parts = make_fast_divisor(static_cast<uint32_t>(parts));
  s.rows_per_block = static_cast<uint32_t>(per_block);
  s.blocks = static_cast<uint32_t>(blocks);
  s.shared_bytes =
      static_cast<uint32_t>(s.images * image_vectors * vector_bytes +
                            (per_block + shared) * static_cast<int64_t>(sizeof(ShiftRow)));
  s.segments = make_fast_divisor(static_cast<uint32_t>(segments));
  s.vectors = make_fast_divisor(static_cast<uint32_t>(vectors));
  s.image_vectors = make_fast_divisor(static_cast<uint32_t>(image_vectors));
  s.row_bytes = plan.atom_bytes;
  s.dst_offset = plan.dst_offset;
  s.src_offset = plan.src_offset;
  s.src_begin = nest.src_bytes.begin;
  s.src_end = nest.src_bytes.end;
  return s;
}

std::optional<ScatterSchedule> make_scatter_schedule(const UnitNest& nest) {
  constexpr int64_t dense = 16;  // at least two units in a sector of 32 bytes
  if (nest.depth == 0) return std::nullopt;
  const Loop& inner = nest.loops[nest.depth - 1];
  if (inner.dst_step == nest.unit || inner.dst_step > dense || std::abs(inner.src_step) > dense ||
      inner.extent > grid_limit)
    return std::nullopt;
  ScatterSchedule s{};
  int64_t rows = 1;
  for (int i = nest.depth - 1; i-- > 0;) {
    const Loop& loop = nest.loops[i];
    if (s.depth == max_grid_loops || !grow(rows, loop.extent)) return std::nullopt;
    s.loops[s.depth++] = grid_loop(loop.extent, loop.dst_step, loop.src_step);
  }
  const int64_t share = scatter_units(nest.unit), part = std::min(inner.extent, share);
  const int64_t segments = ceil_div(inner.extent, part), per_block = share / part;
  int64_t blocks = ceil_div(rows, per_block);
  if (!grow(blocks, segments)) return std::nullopt;
  s.unit = nest.unit;
  s.rows = static_cast<uint32_t>(rows);
  s.rows_per_block = static_cast<uint32_t>(per_block);
  s.blocks = static_cast<uint32_t>(blocks);
  s.row_units = static_cast<uint32_t>(inner.extent);
  s.segments = make_fast_divisor(static_cast<uint32_t>(segments));
  s.part_units = make_fast_divisor(static_cast<uint32_t>(part));
  s.dst_step = inner.dst_step;
  s.src_step = inner.src_step;
  s.dst_offset = nest.dst_offset;
  s.src_offset = nest.src_offset;
  return s;
}

namespace {

TinyLoop tiny_loop(int64_t extent, int64_t dst_step, int64_t src_step) {
  return {make_fast_divisor(static_cast<uint32_t>(extent)), static_cast<int32_t>(dst_step),
          static_cast<int32_t>(src_step)};
}

// Where dst and src run in different directions, a block takes a patch of both: a sector of dst
// wide and as long as it has threads. Else each thread of a warp would read a sector of its own.
void cut_patches(TinySchedule& s) {
  const int64_t wide = std::max(1, 32 / s.unit), tall = tiny_threads / wide;
  int other = 1;
  while (other < s.depth && std::abs(s.loops[other].src_step) != s.unit) ++other;
  if (other >= s.depth || std::abs(s.loops[0].src_step) == s.unit || s.depth + 2 > max_tiny_loops)
    return;
  const TinyLoop x = s.loops[0], y = s.loops[other];
  if (x.extent.divisor % wide != 0 || y.extent.divisor % tall != 0) return;
  for (int i = s.depth - 1; i > 0; --i) s.loops[i + 2] = s.loops[i];
  s.loops[0] = tiny_loop(wide, x.dst_step, x.src_step);
  s.loops[1] = tiny_loop(tall, y.dst_step, y.src_step);
  s.loops[2] = tiny_loop(x.extent.divisor / wide, x.dst_step * wide, x.src_step * wide);
  s.loops[other + 2] = tiny_loop(y.extent.divisor / tall, y.dst_step * tall, y.src_step * tall);
  s.depth += 2;
}

}  // namespace

std::optional<TinySchedule> make_tiny_schedule(const UnitNest& nest) {
  TinySchedule s{};
  int64_t units = 1, reach = 0;
  for (int i = 0; i < nest.depth; ++i) {
    const Loop& loop = nest.loops[i];
    if (!checked_mul(units, loop.extent, units) || units > max_tiny_units) return std::nullopt;
    const int64_t longer = std::max(loop.dst_step, std::abs(loop.src_step));
    int64_t bytes = 0;
    if (!checked_mul(longer, loop.extent, bytes) || bytes > grid_limit - reach) return std::nullopt;
    reach += bytes;
  }
  if (nest.depth > max_tiny_loops) return std::nullopt;
  for (int i = nest.depth; i-- > 0;) {  // neighbouring threads write neighbouring units
    const Loop& loop = nest.loops[i];
    s.loops[s.depth++] = tiny_loop(loop.extent, loop.dst_step, loop.src_step);
  }
  s.unit = nest.unit;
  cut_patches(s);
  s.units = static_cast<uint32_t>(units);
  s.blocks = static_cast<uint32_t>(ceil_div(units, int64_t{tiny_threads}));
  return s;
}

namespace {

std::optional<GenericSchedule> make_generic_schedule(const UnitNest& nest, const int* order) {
  GenericSchedule s{};
  s.unit = nest.unit;
  s.dst_offset = nest.dst_offset;
  s.src_offset = nest.src_offset;
  int64_t units = 1, blocks = 1;
  bool full = false;
  for (int n = 0; n < nest.depth; ++n) {
    const Loop& loop = nest.loops[order[n]];
    const int64_t part = full ? 1 : std::min(loop.extent, generic_threads / units);
    if (part > 1) s.block[s.block_depth++] = grid_loop(part, loop.dst_step, loop.src_step);
    units *= part;
    if (part == loop.extent) continue;
    const int64_t pieces = ceil_div(loop.extent, part);
    if (pieces > grid_limit || !grow(blocks, pieces)) return std::nullopt;
    if (part > 1) {  // the cut loop: its pieces are grid loop 0
      s.cut = 1;
      s.last_extent = static_cast<uint32_t>(loop.extent - (pieces - 1) * part);
    }
    s.grid[s.grid_depth++] = grid_loop(pieces, loop.dst_step * part, loop.src_step * part);
    full = true;
  }
  s.block_units = static_cast<uint32_t>(units);
  s.blocks = static_cast<uint32_t>(blocks);
  return s;
}

}  // namespace

std::optional<GenericSchedule> make_generic_schedule(const UnitNest& nest) {
  std::optional<GenericSchedule> best;
  for (const Order by : {Order::src, Order::src_that_moves, Order::dst}) {
    int order[max_rank + 1];
    order_loops(nest, by, order);
    const auto s = make_generic_schedule(nest, order);
    if (s && (!best || warp_sectors(*s) < warp_sectors(*best))) best = s;
  }
  return best;
}

std::string to_string(const RowSchedule& s) {
  std::ostringstream text;
  text << s.rows << " rows of " << s.row_bytes << " B in " << s.blocks << " blocks";
  return text.str();
}

std::string to_string(const ShiftSchedule& s) {
  std::ostringstream text;
  text << "rows of " << s.row_bytes << " B, shifted, in " << s.blocks << " blocks of "
       << s.rows_per_block << " rows x " << s.vectors.divisor << " vectors";
  if (s.images < s.rows_per_block) text << ", which repeat one";
  return text.str();
}

std::string to_string(const ScatterSchedule& s) {
  std::ostringstream text;
  text << s.rows << " rows of " << s.row_units << " units of " << s.unit << " B, " << s.dst_step
       << " B apart in dst, in " << s.blocks << " blocks";
  return text.str();
}

std::string to_string(const TinySchedule& s) {
  std::ostringstream text;
  text << s.units << " units of " << s.unit << " B in " << s.blocks << " blocks";
  return text.str();
}

std::string to_string(const GenericSchedule& s) {
  std::ostringstream text;
  text << s.blocks << " blocks of " << s.block_units << " units of " << s.unit << " B";
  return text.str();
}

}  // namespace infini::gpu
