// Laying a tile out: grid, walks, images in shared memory, threads.
#include "backends/gpu/rearrange/tile/layout.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "backends/gpu/rearrange/tile/cost.h"
#include "backends/gpu/rearrange/tile/walks.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

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

bool whole_sectors(const TileLoop* loops, int count) {
  return std::all_of(loops, loops + count,
                     [](const TileLoop& loop) { return loop.step % sector_bytes == 0; });
}

// The smallest number from `least` on that is `step` modulo the sector.
int64_t pitch_from(int64_t least, int64_t step) {
  const int64_t rest = (step - least) % sector_bytes;
  return least + (rest + sector_bytes) % sector_bytes;
}

class Layouter : TileWalks {
 public:
  Layouter(const UnitNest& nest, const TileShape& shape, const TileBudget& model, BestTile& best)
      : TileWalks(nest, shape),
        model_(model),
        best_(best),
        vector_units_(vector_bytes / nest.unit) {}

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
    s.table_at = static_cast<uint32_t>(round_up(room, int64_t{vector_bytes})) + sector_bytes;
    return s.table_at <= static_cast<uint32_t>(model_.shared_bytes);
  }

  // What any layout of the shape does: its accesses to memory.
  BlockWork least_work() const {
    BlockWork work{};
    work.blocks = s.tiles, work.resident = 1, work.lie = lie_;
    if (shape_.stores == Stores::staged || shape_.stores == Stores::words)
      work.lie.runs = std::min(lie_.runs, Ends::vectors);
    work.rows = s.rows[0], work.row_bytes = s.row_bytes[0];
    work.row_step = s.row_depth > 0 ? std::abs(static_cast<double>(s.row[0].step)) : INFINITY;
    work.runs = s.runs[0], work.repeats = s.repeats[0];
    work.run_bytes = work.piece = static_cast<double>(s.run_units[0]) * s.unit;
    work.run_traffic = run_traffic(s, single());
    work.bytes = work.run_bytes * work.runs * work.repeats;
    return work;
  }

  // Tries pitches. A larger one differs in bank conflicts and in how many blocks are resident, and fewer of those may be
  // cheaper, too: their tail is shorter.
  void lay_images() {
    s.rows_even = whole_vectors(s.row, s.row_depth);
    s.rows_sectored = whole_sectors(s.row, s.row_depth);
    for (int i = 0; i < 2; ++i)
      s.row_lanes[i] = divisor_of(std::min<int64_t>(
          walk_lanes(s.row_bytes[0], i == 0 ? 0 : sector_bytes - nest_.unit), tile_threads));
    const bool can_skew = s.run_depth > 0 && row_of_[0] == 0 && vector_units_ > 1 && !single();
    const int64_t most = s.rows[0] > 1 ? 4 : 1;
    for (int64_t extra = 0; extra < most; ++extra)
      for (const bool skew : {true, false})
        if ((can_skew || !skew) && set_pitches(extra, skew)) lay_threads();
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

  // Tries numbers of threads along a run.
  void lay_threads() {
    find_period();
    if (single()) return lay_single_units();
    if (shape_.stores == Stores::staged) {
      consider(Gather::staged, std::min<int64_t>(stage_vectors(), tile_threads));
      return;
    }
    if (shape_.stores == Stores::words) {
      const int64_t words = run_words();
      consider(Gather::words, std::min<int64_t>(words, tile_threads));
      for (const int64_t wanted : {16, 32, 64, 128}) {
        if (wanted < words) consider(Gather::words, wanted);
        if (wanted < words) consider(Gather::words, ceil_div(words, ceil_div(words, wanted)));
      }
      return;
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
  }

  // Runs with gaps: threads along a run, the others at other runs.
  void lay_single_units() {
    for (const int64_t wanted : {8, 16, 32, 64, tile_threads}) {
      consider(Gather::single, std::min<int64_t>(wanted, s.run_units[0]));
      if (wanted >= s.run_units[0]) break;
    }
  }

  // False when threads cannot be laid so.
  bool consider(Gather gather, int64_t lanes) {
    if (!set_threads(gather, lanes)) return false;
    const BlockWork work = work_of(s, lie_, model_.device.rearrange->tile);
    if (cost_of_block(work, 1, nest_, model_.device) >= best_.cost) return true;
    const double cost = cost_of_block(work, bank_conflicts(s), nest_, model_.device);
    if (cost < best_.cost) best_.schedule = s, best_.cost = cost;
    return true;
  }

  // Vectors of a run's copy in shared memory, and of a run wherever the bases lie.
  int64_t stage_vectors() const { return ceil_div(int64_t{s.run_units[0]}, vector_units_); }
  int64_t run_words() const {
    return ceil_div(int64_t{s.run_units[0]} * nest_.unit + 4 - nest_.unit, int64_t{4});
  }
  int64_t most_vectors() const {
    return ceil_div(s.run_units[0] + vector_units_ - 1, vector_units_);
  }

  // At most so many runs at a time, such that the runs of a thread begin alike in their vectors, or words.
  uint32_t alike(uint32_t runs, uint64_t bytes) const {
    if (s.runs_depth != 1 || static_cast<int64_t>(runs) >= s.runs[0]) return runs;
    const auto step = static_cast<uint64_t>(std::abs(s.many[0].step));
    const auto granule = static_cast<uint32_t>(bytes / std::gcd(bytes, step));
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
      // Fewer are not worth a round that begins before them.
      constexpr int64_t least_rounds = 2;
      const bool by_sectors = s.run_depth == 1 && s.run[0].step <= sector_bytes &&
                              lanes * s.run[0].step >= sector_bytes &&
                              s.run_units[0] >= least_rounds * lanes;
      s.per_place =
          by_sectors ? static_cast<int32_t>(ceil_div(int64_t{1} << 16, s.run[0].step)) : 0;
      return list_runs();
    }
    s.run_threads = alike(s.run_threads, gather == Gather::words ? 4 : vector_bytes);
    s.runs_alike = s.runs[0] <= static_cast<int64_t>(s.run_threads) ||
                   (s.runs_depth == 1 && s.many[0].step * s.run_threads % 4 == 0) ||
                   std::all_of(s.many, s.many + s.runs_depth,
                               [](const TileLoop& loop) { return loop.step % 4 == 0; });
    // Of one loop they can be, by fewer threads along a run.
    if (gather == Gather::words && s.runs_depth <= 1 && !s.runs_alike) return false;
    s.one_step = gather == Gather::each || gather >= Gather::staged || lanes >= most_vectors();
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
    if (gather == Gather::words) s.out_pieces = divisor_of(run_words());
    if (entries > most_table_units || !list_runs()) return false;
    return gather == Gather::each || gather >= Gather::staged ||
           whole_vectors(s.many, s.runs_depth) ||
           s.runs[0] <= static_cast<int64_t>(s.run_threads) ||
           (s.runs_depth == 1 && s.many[0].step * s.run_threads % vector_bytes == 0);
  }

  // Behind all else; false when shared memory is too small.
  bool list_runs() {
    constexpr int64_t several = 3;  // of a thread
    s.rows_at = s.shared_bytes;
    s.rows_listed = s.gather == Gather::words && s.row_depth > 1 &&
                    s.rows[0] >= several * divide(tile_threads, s.row_lanes[1]);
    if (s.rows_listed) s.shared_bytes += static_cast<uint32_t>(s.rows[0] * sizeof(WalkPlace));
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

  const TileBudget& model_;
  BestTile& best_;
  int64_t vector_units_;
  Lie lie_;
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
