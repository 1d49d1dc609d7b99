// Laying a tile out: grid, walks, images in shared memory, threads.
#include "backends/gpu/tile_layout.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();
constexpr uint32_t thread_bits = 8;
constexpr uint32_t max_table_units = 2048;
static_assert(tile_threads == 1 << thread_bits);

uint32_t bits_for(int64_t count) {  // the smallest b with 2^b >= count
  uint32_t bits = 0;
  while ((int64_t{1} << bits) < count) ++bits;
  return bits;
}

bool whole_vectors(const TileLoop* loops, int count) {
  return std::all_of(loops, loops + count,
                     [](const TileLoop& loop) { return loop.step % vector_bytes == 0; });
}

// Appends a loop to a walk, or prolongs the last one when the new loop goes on where it ends.
bool append(TileLoop* walk, int32_t& depth, const TileLoop& loop) {
  if (depth > 0) {
    TileLoop& inner = walk[depth - 1];
    const int64_t extent = inner.extent.divisor;
    if (loop.rows == inner.rows * extent && loop.image == inner.image * extent &&
        loop.step == inner.step * extent) {
      inner.extent = make_fast_divisor(inner.extent.divisor * loop.extent.divisor);
      return true;
    }
  }
  if (depth == max_tile_loops) return false;
  walk[depth++] = loop;
  return true;
}

class Layouter {
 public:
  Layouter(const UnitNest& nest, const TileShape& shape, const DeviceModel& model)
      : nest_(nest),
        shape_(shape),
        model_(model),
        vector_units_(vector_bytes / nest.unit),
        run_cut_(cut_loop(shape.run_order, shape.run_length)),
        row_cut_(cut_loop(shape.row_order, shape.row_length)) {}

  bool make() {
    if (shape_.row_bytes > model_.shared_bytes || !lay_grid() || !lay_walks()) return false;
    count_parts(0);
    count_parts(1);
    lay_images();
    lay_threads();
    return lay_shared();
  }

  TileSchedule s{};

 private:
  // The loop of a chain that the tile takes a part of: only ever the chain's outermost.
  int cut_loop(const int* order, int length) const {
    if (length == 0) return -1;
    const int outer = order[length - 1];
    return shape_.take[outer] < nest_.loops[outer].extent ? outer : -1;
  }

  bool add_grid_loop(int i) {
    const Loop& loop = nest_.loops[i];
    const int64_t extent = ceil_div(loop.extent, shape_.take[i]);
    if (s.grid_depth == max_grid_loops || extent > grid_limit ||
        !checked_mul(tiles_, extent, tiles_) || tiles_ > grid_limit)
      return false;
    s.grid[s.grid_depth++] = {make_fast_divisor(static_cast<uint32_t>(extent)),
                              loop.dst_step * shape_.take[i], loop.src_step * shape_.take[i]};
    return true;
  }

  // Blocks that follow one another share the edges of runs, then of rows: cut loops go fastest.
  bool lay_grid() {
    s.d_cut = s.s_cut = -1;
    if (run_cut_ >= 0) {
      s.d_cut = s.grid_depth;
      if (!add_grid_loop(run_cut_)) return false;
    }
    if (row_cut_ >= 0) {
      s.s_cut = row_cut_ == run_cut_ ? s.d_cut : s.grid_depth;
      if (row_cut_ != run_cut_ && !add_grid_loop(row_cut_)) return false;
    }
    for (int i = nest_.depth; i-- > 0;)
      if (shape_.take[i] < nest_.loops[i].extent && i != run_cut_ && i != row_cut_ &&
          !add_grid_loop(i))
        return false;
    s.tiles = static_cast<uint32_t>(tiles_);
    return true;
  }

  bool lay_walks() {
    uint32_t rows = 1;
    for (int n = 0; n < shape_.run_length; ++n) {
      const int i = shape_.run_order[n];
      const Loop& loop = nest_.loops[i];
      TileLoop position{make_fast_divisor(static_cast<uint32_t>(shape_.take[i])), 0, 0, 0};
      if (shape_.in_row[i]) {
        position.image = static_cast<int32_t>(loop.src_step);
      } else if (loop.src_step != 0) {
        position.rows = rows;
        if (!append(s.row, s.row_depth, {position.extent, 0, 0, loop.src_step})) return false;
        rows *= position.extent.divisor;
        const int64_t reach = (shape_.take[i] - 1) * loop.src_step;
        (reach < 0 ? s.rows_low : s.rows_high) += reach;
      }
      if (!append(s.run, s.run_depth, position)) return false;
    }
    for (int n = 0; n < shape_.row_length; ++n) {
      const int i = shape_.row_order[n];
      if (!shape_.in_run[i] &&
          !append(s.many, s.runs_depth,
                  {make_fast_divisor(static_cast<uint32_t>(shape_.take[i])), 0,
                   static_cast<int32_t>(nest_.loops[i].src_step), nest_.loops[i].dst_step}))
        return false;
    }
    return true;
  }

  // The part of a loop that a tile takes, or that the last tile takes.
  int64_t take(int i, int cut, int last) const {
    if (!last || i != cut) return shape_.take[i];
    const int64_t extent = nest_.loops[i].extent;
    return extent - (ceil_div(extent, shape_.take[i]) - 1) * shape_.take[i];
  }

  void count_parts(int last) {
    int64_t positions = 1, rows = 1, runs = 1, bytes = nest_.unit, below = 0;
    for (int n = 0; n < shape_.run_length; ++n) {
      const int i = shape_.run_order[n];
      positions *= take(i, run_cut_, last);
      if (!shape_.in_row[i] && nest_.loops[i].src_step != 0) rows *= take(i, run_cut_, last);
    }
    for (int n = 0; n < shape_.row_length; ++n) {
      const int i = shape_.row_order[n];
      const int64_t reach = (take(i, row_cut_, last) - 1) * nest_.loops[i].src_step;
      bytes += std::abs(reach);
      below += reach < 0 ? -reach : 0;
      if (!shape_.in_run[i]) runs *= take(i, row_cut_, last);
    }
    s.run_units[last] = static_cast<int32_t>(positions);
    s.rows[last] = static_cast<int32_t>(rows);
    s.runs[last] = static_cast<int32_t>(runs);
    s.row_bytes[last] = static_cast<int32_t>(bytes);
    s.below[last] = static_cast<int32_t>(below);
  }

  // Positions of a run repeat evenly: position q + period_ lies period_image_ bytes after q in the
  // images and period_step_ bytes after it in src, if that is one number at all.
  void lay_images() {
    int64_t inner = 1;  // positions inside the outermost loop of the walk
    for (int n = 0; n + 1 < s.run_depth; ++n) inner *= s.run[n].extent.divisor;
    const TileLoop outer = s.run_depth > 0 ? s.run[s.run_depth - 1] : TileLoop{};
    period_ = std::lcm(inner, vector_units_);
    const int64_t steps = period_ / inner;
    const int64_t group = outer.rows > 0 ? outer.rows * steps : vector_units_;
    // A group of rows is an odd number of vectors long, so 8 groups start in 8 different quarters
    // of the banks' 128 bytes.
    const int64_t room = s.row_bytes[0] + vector_bytes - nest_.unit;
    const int64_t pitch = round_up(room, group % 2 == 0 ? vector_bytes : 2 * vector_bytes);
    s.row_pitch = static_cast<uint32_t>(pitch);
    s.row_group = make_fast_divisor(static_cast<uint32_t>(group));
    period_image_ = steps * outer.image + (outer.rows > 0 ? group * pitch + vector_bytes : 0);
    int64_t inner_rows = 1;
    for (int n = 0; n + 1 < s.row_depth; ++n) inner_rows *= s.row[n].extent.divisor;
    if (outer.rows > 0)
      period_step_ = outer.rows == inner_rows ? steps * s.row[s.row_depth - 1].step : uneven;
    s.unit_image = outer.rows > 0 ? static_cast<int32_t>(pitch) : outer.image;
    s.period = make_fast_divisor(static_cast<uint32_t>(period_));
    s.period_image = static_cast<int32_t>(period_image_);
    s.rows_even = rows_even();
    s.row_lane_bits = std::min(
        thread_bits, bits_for(ceil_div(rows_even() ? s.row_bytes[0] : room, vector_bytes)));
  }

  bool rows_even() const { return whole_vectors(s.row, s.row_depth); }

  // All addresses of dst's runs are multiples of the vector when the base is.
  bool runs_aligned() const {
    return whole_vectors(s.many, s.runs_depth) &&
           std::all_of(s.grid, s.grid + s.grid_depth,
                       [](const GridLoop& loop) { return loop.dst_step % vector_bytes == 0; });
  }

  // Neighbouring runs lie side by side in the images, in whole words of 4 bytes.
  bool has_columns() const {
    const int32_t runs = 4 / nest_.unit;
    if (nest_.unit > 2 || s.runs_depth == 0 || s.many[0].image != nest_.unit) return false;
    if (s.many[0].extent.divisor % runs != 0 || s.runs[0] % runs != 0 || s.runs[1] % runs != 0)
      return false;
    return s.below[0] == 0 && s.unit_image % 4 == 0 &&
           std::all_of(s.many + 1, s.many + s.runs_depth,
                       [](const TileLoop& loop) { return loop.image % 4 == 0; }) &&
           std::all_of(s.grid, s.grid + s.grid_depth,
                       [](const GridLoop& loop) { return loop.src_step % 4 == 0; });
  }

  void lay_threads() {
    const int64_t vectors = ceil_div(s.run_units[0], vector_units_);
    const bool linear = s.run_depth <= 1 && rows_even() && runs_aligned();
    s.gather = linear ? has_columns() ? Gather::columns : Gather::linear : Gather::prepared;
    const int64_t columns = s.gather == Gather::columns ? 4 / nest_.unit : 1;
    const uint32_t run_bits = std::min(2u, bits_for(s.runs[0] / columns));
    const int64_t wanted =
        runs_aligned() ? vectors : ceil_div(s.run_units[0] + vector_units_ - 1, vector_units_);
    s.v_bits = std::min(thread_bits - run_bits, bits_for(wanted));
    const int64_t threads = int64_t{1} << s.v_bits;
    const int64_t periods = threads / (period_ / vector_units_);
    s.v_stride = static_cast<uint32_t>(periods > 0 ? periods * (period_ / vector_units_) : threads);
    s.v_image = static_cast<int32_t>(periods * period_image_);
    s.v_low_bits = std::min(3u, s.v_bits);
    s.c_low_bits = std::min(bits_for(model_.warp_threads) - 3, thread_bits - s.v_bits);
    s.v_turn = runs_aligned() ? 0 : (1u << s.v_bits) - 1;
    s.one_step = vectors < s.v_stride;
    const bool rows_stay =
        rows_even() || (period_step_ != uneven && period_step_ * periods % vector_bytes == 0);
    const bool runs_stay =
        whole_vectors(s.many, s.runs_depth) ||
        (s.runs_depth == 1 && s.many[0].step * (tile_threads >> s.v_bits) % vector_bytes == 0);
    s.table_units = static_cast<uint32_t>(
        vector_units_ +
        (s.rows_even ? period_ : std::min<int64_t>(s.v_stride * vector_units_, s.run_units[0])));
    if (s.table_units > max_table_units || !runs_stay ||
        (!s.one_step && (periods == 0 || !rows_stay)))
      use_table(vectors);
  }

  void use_table(int64_t vectors) {
    s.gather = Gather::table;
    s.v_low_bits = std::min(3u, bits_for(vectors + 1));
    s.c_low_bits = bits_for(model_.warp_threads) - s.v_low_bits;
    s.run_groups =
        make_fast_divisor(static_cast<uint32_t>(ceil_div(vectors + 1, int64_t{1} << s.v_low_bits)));
  }

  bool lay_shared() {
    int64_t bytes = row_image(s, static_cast<uint32_t>(s.rows[0])) + vector_bytes;
    const auto reserve = [&](bool needed, int64_t size) {
      const auto at = static_cast<uint32_t>(bytes);
      if (needed) bytes += round_up(size, vector_bytes);
      return at;
    };
    s.rows_at = reserve(s.row_depth > 1, s.rows[0] * static_cast<int64_t>(sizeof(int64_t)));
    s.runs_at = reserve(s.runs_depth > 1, s.runs[0] * static_cast<int64_t>(sizeof(RunPlace)));
    s.table_at = reserve(
        true, s.gather == Gather::table ? s.run_units[0] * int64_t{2} : s.table_units * int64_t{4});
    s.shared_bytes = static_cast<uint32_t>(bytes);
    s.unit = nest_.unit;
    s.dst_offset = nest_.dst_offset;
    s.src_offset = nest_.src_offset;
    s.src_begin = nest_.src_bytes.begin;
    s.src_end = nest_.src_bytes.end;
    return bytes <= model_.shared_bytes;
  }

  static constexpr int64_t uneven = 1;  // no multiple of anything that matters

  const UnitNest& nest_;
  const TileShape& shape_;
  const DeviceModel& model_;
  int64_t vector_units_;
  int run_cut_, row_cut_;
  int64_t tiles_ = 1, period_ = 1, period_image_ = 0, period_step_ = 0;
};

}  // namespace

std::optional<TileSchedule> lay_out_tile(const UnitNest& nest, const TileShape& shape,
                                         const DeviceModel& model) {
  Layouter layouter(nest, shape, model);
  if (!layouter.make()) return std::nullopt;
  return layouter.s;
}

}  // namespace infini::gpu
