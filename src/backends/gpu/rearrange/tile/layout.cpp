// Laying a tile out: grid, walks, images in shared memory, threads.
#include "backends/gpu/rearrange/tile/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "backends/gpu/rearrange/tile/cost.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();
constexpr uint32_t no_skew = 31;
constexpr int64_t most_table_units = 2560;

uint32_t bits_for(int64_t count) {  // the smallest b with 2^b >= count
  uint32_t bits = 0;
  while ((int64_t{1} << bits) < count) ++bits;
  return bits;
}

bool whole_vectors(const TileLoop* loops, int count) {
  return std::all_of(loops, loops + count,
                     [](const TileLoop& loop) { return loop.step % vector_bytes == 0; });
}

FastDivisor divisor_of(int64_t n) { return make_fast_divisor(static_cast<uint32_t>(n)); }

// The smallest number from `least` on that is `step` modulo the vector.
int64_t pitch_from(int64_t least, int64_t step) {
  const int64_t rest = (step - least) % vector_bytes;
  return least + (rest + vector_bytes) % vector_bytes;
}

class Layouter {
 public:
  Layouter(const UnitNest& nest, const TileShape& shape, const TileBudget& model, BestTile& best)
      : nest_(nest),
        shape_(shape),
        model_(model),
        best_(best),
        vector_units_(vector_bytes / nest.unit),
        run_cut_(cut_loop(shape.run_order, shape.run_length)),
        row_cut_(cut_loop(shape.row_order, shape.row_length)) {}

  void make() {
    if (shape_.row_bytes > model_.shared_bytes || !lay_grid() || !lay_walks()) return;
    count_parts(0);
    count_parts(1);
    s.unit = nest_.unit;
    s.whole_lines = nest_.whole_lines;
    s.dst_offset = nest_.dst_offset;
    s.src_offset = nest_.src_offset;
    s.src_begin = nest_.src_bytes.begin;
    s.src_end = nest_.src_bytes.end;
    lie_ = model_.bases_aligned ? lie_of(s) : Lie{Ends::units, Ends::units};
    if (single()) lie_.runs = Ends::vectors;  // as far as run_traffic() does not have it
    if (cost_of_block(least_work(), 1, nest_, model_.device) < best_.cost) lay_images();
  }

 private:
  bool single() const { return shape_.stores == Stores::single; }

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
    s.d_cut = s.s_cut = s.r_cut = -1;
    if (run_cut_ >= 0) {
      s.d_cut = s.grid_depth;
      if (!add_grid_loop(run_cut_)) return false;
    }
    if (row_cut_ >= 0) {
      s.s_cut = row_cut_ == run_cut_ ? s.d_cut : s.grid_depth;
      if (row_cut_ != run_cut_ && !add_grid_loop(row_cut_)) return false;
    }
    for (int i = nest_.depth; i-- > 0;) {
      if (shape_.take[i] == nest_.loops[i].extent || i == run_cut_ || i == row_cut_) continue;
      if (i == shape_.repeat) s.r_cut = s.grid_depth;
      if (!add_grid_loop(i)) return false;
    }
    s.tiles = static_cast<uint32_t>(tiles_);
    return true;
  }

  // The images' pitches come later: until then a step from row to row is 0.
  bool lay_walks() {
    for (int n = 0; n < shape_.run_length; ++n) {
      const int i = shape_.run_order[n];
      const Loop& loop = nest_.loops[i];
      if (s.run_depth == max_tile_loops) return false;
      TileLoop position{divisor_of(shape_.take[i]), 0, loop.dst_step};
      row_of_[s.run_depth] = -1;
      if (shape_.in_row[i]) {
        position.image = static_cast<int32_t>(loop.src_step);
      } else if (loop.src_step != 0) {
        row_of_[s.run_depth] = s.row_depth;
        s.row[s.row_depth++] = {position.extent, 0, loop.src_step};
        const int64_t reach = (shape_.take[i] - 1) * loop.src_step;
        (reach < 0 ? s.rows_low : s.rows_high) += reach;
      }
      s.run[s.run_depth++] = position;
    }
    for (int n = 0; n < shape_.row_length; ++n) {
      const int i = shape_.row_order[n];
      if (shape_.in_run[i]) continue;
      if (s.runs_depth == max_tile_loops) return false;
      s.many[s.runs_depth++] = {divisor_of(shape_.take[i]),
                                static_cast<int32_t>(nest_.loops[i].src_step),
                                nest_.loops[i].dst_step};
    }
    return shape_.stack < 0 || lay_stack(nest_.loops[shape_.stack]);
  }

  // The outermost loop of rows and of runs alike.
  bool lay_stack(const Loop& loop) {
    if (s.row_depth == max_tile_loops || s.runs_depth == max_tile_loops) return false;
    const FastDivisor extent = divisor_of(shape_.take[shape_.stack]);
    s.row[s.row_depth++] = {extent, 0, loop.src_step};
    s.many[s.runs_depth++] = {extent, 0, loop.dst_step};
    const int64_t reach = (shape_.take[shape_.stack] - 1) * loop.src_step;
    (reach < 0 ? s.rows_low : s.rows_high) += reach;
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
    if (shape_.stack >= 0) rows *= shape_.take[shape_.stack], runs *= shape_.take[shape_.stack];
    s.run_units[last] = static_cast<int32_t>(positions);
    s.rows[last] = static_cast<int32_t>(rows);
    s.runs[last] = static_cast<int32_t>(runs);
    s.row_bytes[last] = static_cast<int32_t>(bytes);
    s.below[last] = static_cast<int32_t>(below);
    const int repeat = shape_.repeat;
    s.repeats[last] = repeat < 0 ? 1 : static_cast<int32_t>(take(repeat, repeat, last));
    if (repeat >= 0) s.repeat_step = nest_.loops[repeat].dst_step;
    s.repeats_apart = shape_.stores == Stores::vectors && s.repeat_step % vector_bytes != 0;
  }

  // Rows that begin anywhere touch a vector more on either side.
  int64_t room_for_row() const {
    const int64_t more = vector_bytes - nest_.unit;
    return s.rows_even ? round_up(s.row_bytes[0] + more, vector_bytes) : s.row_bytes[0] + 2 * more;
  }

  // Pitches with `extra` vectors and, if so, a skew; false when shared memory is too small.
  bool set_pitches(int64_t extra, bool skew) {
    int64_t room = room_for_row();
    s.skew_bits = skew ? bits_for(vector_units_) : no_skew;
    for (int n = 0; n < s.row_depth; ++n) {
      TileLoop& loop = s.row[n];
      const int64_t pitch = pitch_from(room, loop.step) + (n == 0 ? extra * vector_bytes : 0);
      if (pitch > model_.shared_bytes) return false;
      loop.image = static_cast<int32_t>(pitch);
      room += (loop.extent.divisor - 1) * pitch;
      if (n == 0) room += skewed(s, loop.extent.divisor - 1);
      if (n + 1 < s.row_depth && !s.rows_even) room += vector_bytes;
    }
    for (int n = 0; n < s.run_depth; ++n)
      if (row_of_[n] >= 0) s.run[n].image = s.row[row_of_[n]].image;
    if (shape_.stack >= 0) s.many[s.runs_depth - 1].image = s.row[s.row_depth - 1].image;
    s.table_at = static_cast<uint32_t>(round_up(room, int64_t{vector_bytes})) + vector_bytes;
    return s.table_at <= static_cast<uint32_t>(model_.shared_bytes);
  }

  // What any layout of the shape does: its accesses to memory.
  BlockWork least_work() const {
    BlockWork work{};
    work.blocks = s.tiles, work.resident = 1, work.lie = lie_;
    if (shape_.stores == Stores::staged) work.lie.runs = std::min(lie_.runs, Ends::vectors);
    work.rows = s.rows[0], work.row_bytes = s.row_bytes[0];
    work.row_step = s.row_depth > 0 ? std::abs(static_cast<double>(s.row[0].step)) : INFINITY;
    work.runs = s.runs[0], work.repeats = s.repeats[0];
    work.run_bytes = work.piece = static_cast<double>(s.run_units[0]) * s.unit;
    work.run_traffic = run_traffic(s, single());
    work.bytes = work.run_bytes * work.runs * work.repeats;
    return work;
  }

  // Tries pitches until none can be better: the next ones differ in bank conflicts alone.
  void lay_images() {
    s.rows_even = whole_vectors(s.row, s.row_depth);
    const int64_t bytes = s.row_bytes[0];
    for (int i = 0; i < 2; ++i) {
      const int64_t touched = bytes + (i == 0 ? 0 : vector_bytes - nest_.unit);
      s.row_lanes[i] =
          divisor_of(std::min<int64_t>(ceil_div(touched, int64_t{vector_bytes}), tile_threads));
    }
    const bool can_skew = s.run_depth > 0 && row_of_[0] == 0 && vector_units_ > 1 && !single();
    const int64_t most = s.rows[0] > 1 ? 4 : 1;
    for (int64_t n = 0; n < most * (1 + can_skew); ++n)
      if (!set_pitches(n / (1 + can_skew), can_skew && n % 2 == 0) || !lay_threads()) return;
  }

  // Neighbouring runs lie side by side in the images, in whole words of 4 bytes.
  bool has_columns() const {
    const int32_t runs = 4 / nest_.unit;
    return nest_.unit < 4 && s.rows_even && s.runs_depth == 1 && s.many[0].image == nest_.unit &&
           s.runs[0] % runs == 0 && s.runs[1] % runs == 0 && s.run[0].image % 4 == 0 &&
           s.repeats[0] == 1 &&
           std::all_of(s.grid, s.grid + s.grid_depth,
                       [](const GridLoop& loop) { return loop.src_step % 4 == 0; });
  }

  // Offsets repeat after whole rounds of all loops but the run's outermost.
  void find_period() {
    int64_t inner = 1;
    for (int n = 0; n + 1 < s.run_depth; ++n) inner *= s.run[n].extent.divisor;
    const TileLoop outer = s.run_depth > 0 ? s.run[s.run_depth - 1] : TileLoop{};
    const int64_t period = std::lcm(inner, vector_units_), steps = period / inner;
    s.period = divisor_of(period);
    s.period_image = static_cast<int32_t>(steps * outer.image);
    if (s.run_depth == 1) s.period_image += static_cast<int32_t>(skewed(s, s.period.divisor));
    s.unit_image = outer.image;
  }

  // Tries numbers of threads along a run; false when not even perfect banks would make one cheaper
  // than the best so far.
  bool lay_threads() {
    find_period();
    promising_ = false;
    if (single()) return lay_single_units();
    if (shape_.stores == Stores::staged) {
      consider(Gather::staged, std::min<int64_t>(stage_vectors(), tile_threads));
      return promising_;
    }
    const bool linear = s.run_depth <= 1 && lie_.runs != Ends::units;
    const Gather kind =
        linear ? has_columns() ? Gather::columns : Gather::linear : Gather::prepared;
    const int64_t vectors = lie_.runs == Ends::units ? most_vectors() : run_vectors(s);
    const int64_t period = s.period.divisor / vector_units_;
    bool can = consider(kind, most_vectors());
    for (const int64_t wanted : {4, 8, 16, 32, 64, tile_threads}) {
      can |= consider(kind, std::min(wanted, vectors) / period * period);
      if (wanted >= vectors) break;
    }
    if (!can) consider(Gather::each, most_vectors());
    return promising_;
  }

  // Runs with gaps: threads along a run, the others at other runs.
  bool lay_single_units() {
    for (const int64_t wanted : {8, 16, 32, 64, tile_threads}) {
      consider(Gather::single, std::min<int64_t>(wanted, s.run_units[0]));
      if (wanted >= s.run_units[0]) break;
    }
    return promising_;
  }

  // False when threads cannot be laid so.
  bool consider(Gather gather, int64_t lanes) {
    if (!set_threads(gather, lanes)) return false;
    const BlockWork work = work_of(s, lie_);
    if (cost_of_block(work, 1, nest_, model_.device) >= best_.cost) return true;
    promising_ = true;
    const double cost = cost_of_block(work, bank_conflicts(s), nest_, model_.device);
    if (cost < best_.cost) best_.schedule = s, best_.cost = cost;
    return true;
  }

  // Vectors of a run's copy in shared memory, and of a run wherever the bases lie.
  int64_t stage_vectors() const { return ceil_div(int64_t{s.run_units[0]}, vector_units_); }
  int64_t most_vectors() const {
    return ceil_div(s.run_units[0] + vector_units_ - 1, vector_units_);
  }

  // At most so many runs at a time, such that the runs of a thread begin alike in their vectors.
  uint32_t alike(uint32_t runs) const {
    if (s.runs_depth != 1 || static_cast<int64_t>(runs) >= s.runs[0]) return runs;
    const auto step = static_cast<uint64_t>(std::abs(s.many[0].step));
    const auto granule =
        static_cast<uint32_t>(vector_bytes / std::gcd(uint64_t{vector_bytes}, step));
    return runs < granule ? runs : runs / granule * granule;
  }

  // So many threads side by side along a run; false when their offsets would not stay the same.
  bool set_threads(Gather gather, int64_t lanes) {
    if (lanes < 1 || (lanes > tile_threads && gather != Gather::each)) return false;
    const int64_t runs = gather == Gather::columns ? s.runs[0] / (4 / nest_.unit) : s.runs[0];
    s.gather = gather;
    s.lanes = divisor_of(lanes);
    s.run_threads = static_cast<uint32_t>(std::clamp(tile_threads / lanes, int64_t{1}, runs));
    if (gather == Gather::single) {
      s.table_units = 0;
      s.shared_bytes = s.table_at;
      s.run_threads =
          static_cast<uint32_t>(std::clamp(tile_threads / lanes, int64_t{1}, runs * s.repeats[0]));
      s.by_runs[0] = divisor_of(s.runs[0]), s.by_runs[1] = divisor_of(s.runs[1]);
      return list_runs();
    }
    s.run_threads = alike(s.run_threads);
    s.one_step = gather == Gather::each || gather == Gather::staged || lanes >= most_vectors();
    const int64_t period = s.period.divisor / vector_units_;
    s.lanes_image = static_cast<int32_t>(lanes / period * s.period_image);
    if (lanes % period != 0 && !s.one_step) return false;
    // Linear gathering becomes `prepared` where bases are odd.
    const int64_t entries =
        (s.one_step ? s.run_units[0] : s.period.divisor + vector_units_) + 2 * vector_units_;
    s.table_units = static_cast<uint32_t>(entries);
    s.shared_bytes =
        s.table_at + static_cast<uint32_t>(round_up(4 * entries, int64_t{vector_bytes}));
    if (gather == Gather::staged) lay_stage();
    if (entries > most_table_units || !list_runs()) return false;
    return gather == Gather::each || gather == Gather::staged ||
           whole_vectors(s.many, s.runs_depth) ||
           s.runs[0] <= static_cast<int64_t>(s.run_threads) ||
           (s.runs_depth == 1 && s.many[0].step * s.run_threads % vector_bytes == 0);
  }

  // Behind all else; false when shared memory is too small.
  bool list_runs() {
    s.runs_at = s.shared_bytes;
    if (lists_runs(s.gather) && s.runs_depth > 1)
      s.shared_bytes += static_cast<uint32_t>(s.runs[0] * sizeof(WalkPlace));
    return s.shared_bytes <= static_cast<uint32_t>(model_.shared_bytes);
  }

  // Behind the table.
  void lay_stage() {
    s.stage_at = s.shared_bytes;
    s.stage_vectors = static_cast<uint32_t>(stage_vectors());
    constexpr int64_t short_run = 192;  // bytes: of vectors too many would be partial
    const int64_t bytes = int64_t{s.run_units[0]} * nest_.unit;
    s.out_bytes = nest_.unit > 1 && bytes < short_run ? 4 : vector_bytes;
    s.out_pieces = divisor_of(ceil_div(bytes + s.out_bytes - nest_.unit, int64_t{s.out_bytes}));
    s.shared_bytes += (static_cast<uint32_t>(s.runs[0]) * s.stage_vectors + 2) * vector_bytes;
  }

  const UnitNest& nest_;
  const TileShape& shape_;
  const TileBudget& model_;
  BestTile& best_;
  TileSchedule s{};
  int64_t vector_units_;
  int run_cut_, row_cut_;
  int row_of_[max_tile_loops] = {};  // of a loop of the run: which loop of the rows it is, or -1
  int64_t tiles_ = 1;
  Lie lie_;
  bool promising_ = false;
};

}  // namespace

bool runs_aligned(const TileSchedule& s) {
  return whole_vectors(s.many, s.runs_depth) && s.repeat_step % vector_bytes == 0 &&
         std::all_of(s.grid, s.grid + s.grid_depth,
                     [](const GridLoop& loop) { return loop.dst_step % vector_bytes == 0; });
}

int64_t run_vectors(const TileSchedule& s) {
  const int64_t units = vector_bytes / s.unit, more = runs_aligned(s) ? 0 : units - 1;
  return ceil_div(s.run_units[0] + more, units);
}

void lay_out_tile(const UnitNest& nest, const TileShape& shape, const TileBudget& model,
                  BestTile& best) {
  Layouter(nest, shape, model, best).make();
}

}  // namespace infini::gpu
