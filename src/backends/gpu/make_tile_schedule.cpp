// Making a tile schedule: try shapes, lay each out, keep the cheapest.
#include "backends/gpu/make_tile_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <sstream>

#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();
constexpr uint32_t thread_bits = 8;
static_assert(tile_threads == 1 << thread_bits);

uint32_t bits_for(int64_t count) {  // the smallest b with 2^b >= count
  uint32_t bits = 0;
  while ((int64_t{1} << bits) < count) ++bits;
  return bits;
}

bool multiple_of_vector(const TileLoop* loops, int count) {
  return std::all_of(loops, loops + count,
                     [](const TileLoop& loop) { return loop.step % vector_bytes == 0; });
}

// Fills a schedule from a nest and a shape, step by step.
class Layouter {
 public:
  Layouter(const UnitNest& nest, const TileShape& shape) : nest_(nest), shape_(shape) {}

  bool make(const DeviceModel& model) {
    if (!fits_loops() || !lay_grid()) return false;
    lay_loops();
    count_parts();
    lay_rows();
    lay_threads();
    return lay_shared(model);
  }

  TileSchedule s{};

 private:
  bool fits_loops() const {
    return shape_.run_length <= max_tile_loops && shape_.row_length <= max_tile_loops &&
           shape_.row_bytes <= 65536 && shape_.units <= 65536;
  }

  // Blocks that follow one another share the edges of runs, then of rows: cut loops go fastest.
  bool lay_grid() {
    s.d_cut = s.s_cut = -1;
    int64_t tiles = 1;
    const auto add = [&](int i) {
      const Loop& loop = nest_.loops[i];
      const int64_t extent = ceil_div(loop.extent, shape_.take[i]);
      if (extent > grid_limit || !checked_mul(tiles, extent, tiles) || tiles > grid_limit)
        return false;
      s.grid[s.grid_depth++] = {make_fast_divisor(static_cast<uint32_t>(extent)),
                                loop.dst_step * shape_.take[i], loop.src_step * shape_.take[i]};
      return true;
    };
    const int run_cut = cut_loop(shape_.run_order, shape_.run_length);
    const int row_cut = cut_loop(shape_.row_order, shape_.row_length);
    if (run_cut >= 0) {
      s.d_cut = s.grid_depth;
      if (!add(run_cut)) return false;
    }
    if (row_cut >= 0) {
      s.s_cut = row_cut == run_cut ? s.d_cut : s.grid_depth;
      if (row_cut != run_cut && !add(row_cut)) return false;
    }
    for (int i = nest_.depth; i-- > 0;)
      if (shape_.take[i] < nest_.loops[i].extent && i != run_cut && i != row_cut && !add(i))
        return false;
    s.tiles = static_cast<uint32_t>(tiles);
    return true;
  }

  // The loop of a chain that the tile takes a part of: only ever the chain's outermost.
  int cut_loop(const int* order, int length) const {
    if (length == 0) return -1;
    const int outer = order[length - 1];
    return shape_.take[outer] < nest_.loops[outer].extent ? outer : -1;
  }

  void lay_loops() {
    uint32_t rows = 1;
    for (int n = 0; n < shape_.run_length; ++n) {
      const int i = shape_.run_order[n];
      const Loop& loop = nest_.loops[i];
      TileLoop position{make_fast_divisor(static_cast<uint32_t>(shape_.take[i])), 0, 0, 0};
      if (shape_.in_row[i]) {
        position.image = static_cast<int32_t>(loop.src_step);
      } else if (loop.src_step != 0) {
        position.rows = rows;
        s.row[s.row_depth++] = {position.extent, rows, 0, loop.src_step};
        rows *= position.extent.divisor;
      }
      s.run[s.run_depth++] = position;
    }
    for (int n = 0; n < shape_.row_length; ++n) {
      const int i = shape_.row_order[n];
      if (shape_.in_run[i]) continue;
      s.many[s.runs_depth++] = {make_fast_divisor(static_cast<uint32_t>(shape_.take[i])), 0,
                                static_cast<int32_t>(nest_.loops[i].src_step),
                                nest_.loops[i].dst_step};
    }
    s.rows_uniform = multiple_of_vector(s.row, s.row_depth);
    s.runs_uniform = multiple_of_vector(s.many, s.runs_depth);
  }

  // The part of a loop that the last tile takes.
  int64_t last_take(int i) const {
    return nest_.loops[i].extent - (ceil_div(nest_.loops[i].extent, shape_.take[i]) - 1) * shape_.take[i];
  }

  void count_parts() {
    const int run_cut = cut_loop(shape_.run_order, shape_.run_length);
    const int row_cut = cut_loop(shape_.row_order, shape_.row_length);
    for (int last = 0; last < 2; ++last) {
      const auto take = [&](int i, int cut) {
        return last && i == cut ? last_take(i) : shape_.take[i];
      };
      int64_t positions = 1, rows = 1, runs = 1, bytes = nest_.unit, below = 0;
      for (int n = 0; n < shape_.run_length; ++n) {
        const int i = shape_.run_order[n];
        positions *= take(i, run_cut);
        if (!shape_.in_row[i] && nest_.loops[i].src_step != 0) rows *= take(i, run_cut);
      }
      for (int n = 0; n < shape_.row_length; ++n) {
        const int i = shape_.row_order[n];
        const int64_t reach = (take(i, row_cut) - 1) * nest_.loops[i].src_step;
        bytes += std::abs(reach);
        below += reach < 0 ? -reach : 0;
        if (!shape_.in_run[i]) runs *= take(i, row_cut);
      }
      s.run_units[last] = static_cast<int32_t>(positions);
      s.rows[last] = static_cast<int32_t>(rows);
      s.runs[last] = static_cast<int32_t>(runs);
      s.row_bytes[last] = static_cast<int32_t>(bytes);
      s.below[last] = static_cast<int32_t>(below);
    }
  }

  // From loop `collinear` on, a run's positions lie evenly: its loops go on where the one inside ends.
  int first_collinear() const {
    int n = s.run_depth - 1;
    while (n > 0) {
      const TileLoop &outer = s.run[n], &inner = s.run[n - 1];
      const auto extent = static_cast<int32_t>(inner.extent.divisor);
      if (outer.rows != inner.rows * inner.extent.divisor || outer.image != inner.image * extent)
        break;
      --n;
    }
    return std::max(n, 0);
  }

  void lay_rows() {
    const int64_t vector_units = vector_bytes / nest_.unit;
    int64_t inner = 1;  // positions inside the evenly lying loops
    const int even = first_collinear();
    for (int n = 0; n < even; ++n) inner *= s.run[n].extent.divisor;
    const int64_t period = std::lcm(inner, vector_units);
    const TileLoop step = s.run_depth > 0 ? s.run[even] : TileLoop{};
    const int64_t steps = period / inner;
    const int64_t group = step.rows > 0 ? step.rows * steps : vector_units;
    // A group of rows is an odd number of vectors long, so 8 groups start in 8 different quarters of
    // the banks' 128 bytes.
    const int64_t room = s.row_bytes[0] + vector_bytes - nest_.unit;
    s.row_pitch = static_cast<uint32_t>(round_up(room, group % 2 == 0 ? vector_bytes : 2 * vector_bytes));
    s.row_group = make_fast_divisor(static_cast<uint32_t>(group));
    s.row_vectors[0] = make_fast_divisor(static_cast<uint32_t>(ceil_div(s.row_bytes[0], vector_bytes)));
    s.row_vectors[1] = make_fast_divisor(static_cast<uint32_t>(ceil_div(room, vector_bytes)) );
    s.period_units = static_cast<int32_t>(period);
    s.period_image = static_cast<int32_t>(steps * step.image);
    if (step.rows > 0) s.period_image += static_cast<int32_t>(group * s.row_pitch + vector_bytes);
  }

  void lay_threads() {
    const int64_t vector_units = vector_bytes / nest_.unit;
    const int64_t vectors = ceil_div(s.run_units[0], vector_units);
    const int64_t period = s.period_units / vector_units;
    const uint32_t run_bits = std::min(2u, bits_for(s.runs[0]));
    s.v_bits = std::min(thread_bits - run_bits, bits_for(vectors));
    const int64_t threads = int64_t{1} << s.v_bits;
    const int64_t periods = threads / period;
    if (periods > 0) {
      s.v_stride = static_cast<uint32_t>(periods * period);
      s.v_image = static_cast<int32_t>(periods) * s.period_image;
    } else if (vectors < threads) {  // one step per run; the first vector may be partial
      s.v_stride = static_cast<uint32_t>(threads);
    } else {
      s.rows_uniform = 0;  // no even step: use the table
    }
    s.v_low_bits = std::min(3u, bits_for(vectors + 1));
    if (uniform()) s.v_low_bits = std::min(3u, s.v_bits);
    s.c_low_bits = uniform() ? std::min(2u, thread_bits - s.v_bits) : 5 - s.v_low_bits;
    s.run_groups = make_fast_divisor(
        static_cast<uint32_t>(ceil_div(vectors + 1, int64_t{1} << s.v_low_bits)));
  }

  bool uniform() const { return s.rows_uniform && s.runs_uniform; }

  bool lay_shared(const DeviceModel& model) {
    const int64_t image = row_image(s, static_cast<uint32_t>(s.rows[0])) + vector_bytes;
    const int64_t bytes = image + (uniform() ? 0 : round_up(2 * s.run_units[0], vector_bytes));
    s.table_offset = static_cast<uint32_t>(image);
    s.shared_bytes = static_cast<uint32_t>(bytes);
    s.unit = nest_.unit;
    s.dst_offset = nest_.dst_offset;
    s.src_offset = nest_.src_offset;
    s.src_begin = nest_.src_bytes.begin;
    s.src_end = nest_.src_bytes.end;
    return bytes <= model.shared_bytes;
  }

  const UnitNest& nest_;
  const TileShape& shape_;
};

// Estimated time in multiples of the time that the bytes alone need.
double cost_of_shape(const UnitNest& nest, const TileShape& shape) {
  double waste = 1;
  for (int i = 0; i < nest.depth; ++i)
    waste *= static_cast<double>(ceil_div(nest.loops[i].extent, shape.take[i]) * shape.take[i]) /
             static_cast<double>(nest.loops[i].extent);
  const auto run = static_cast<double>(shape.run_units * nest.unit);
  const auto bytes = static_cast<double>(shape.units * nest.unit);
  return waste * (1 + 8 / static_cast<double>(shape.reach_bytes) + 8 / run + 1024 / bytes);
}

double cost_of_layout(const TileSchedule& s) {
  const bool uniform = s.rows_uniform && s.runs_uniform;
  const double units = 16.0 / s.unit;
  const double per_row = s.row_vectors[s.rows_uniform ? 0 : 1].divisor * 16.0 / s.row_bytes[0];
  const double gathers = units * (bank_conflicts(s) + (uniform ? 0 : 1)) + 4 + 8 * per_row;
  return 0.2 * (per_row - 1) + std::max(0.0, gathers * 0.02 - 0.5) + (uniform ? 0 : 8.0 / s.row_bytes[0] + 8.0 / (s.run_units[0] * s.unit));
}

}  // namespace

int bank_conflicts(const TileSchedule& s) {
  constexpr int banks = 32, bank_bytes = 4;
  const int lanes = std::min(banks, banks * bank_bytes / std::max(s.unit, bank_bytes));
  const int units = vector_bytes / s.unit;
  int32_t words[banks][banks], count[banks] = {};
  int worst = 1;
  for (int lane = 0; lane < lanes; ++lane) {
    const uint32_t v = lane & ((1u << s.v_low_bits) - 1);
    const uint32_t c = (lane >> s.v_low_bits) & ((1u << s.c_low_bits) - 1);
    const uint32_t high = static_cast<uint32_t>(lane) >> (s.v_low_bits + s.c_low_bits);
    const int32_t at = uniform_image(s, static_cast<int32_t>((v + (high << s.v_low_bits))) * units, 0) +
                       place_run(s, c).image + s.below[0];
    const int32_t word = at / bank_bytes, bank = word & (banks - 1);
    if (std::find(words[bank], words[bank] + count[bank], word) != words[bank] + count[bank])
      continue;
    words[bank][count[bank]++] = word;
    worst = std::max(worst, count[bank]);
  }
  return worst;
}

std::optional<TileSchedule> make_tile_schedule(const UnitNest& nest, const DeviceModel& model) {
  std::optional<TileSchedule> best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t run = 32; run <= model.tile_bytes; run *= 2) {
    for (int64_t row = 32; row <= model.tile_bytes; row *= 2) {
      TileShape shape = grow_tile(nest, run, row);
      if (shape.units * nest.unit > model.tile_bytes * 5 / 4) continue;
      const double cost = cost_of_shape(nest, shape);
      if (cost >= best_cost) continue;
      do {
        Layouter layouter(nest, shape);
        if (!layouter.make(model)) continue;
        const double total = cost + cost_of_layout(layouter.s);
        if (total >= best_cost) continue;
        best_cost = total;
        best = layouter.s;
      } while (demote_row_loop(nest, shape));
    }
  }
  return best;
}

std::string to_string(const TileSchedule& s) {
  std::ostringstream text;
  text << s.tiles << " tiles of " << s.runs[0] << " runs x " << s.run_units[0] * s.unit
       << " B gathered in units of " << s.unit << " B from " << s.rows[0] << " rows x "
       << s.row_bytes[0] << " B, " << s.shared_bytes << " B shared, "
       << (s.rows_uniform && s.runs_uniform ? "uniform" : "table");
  return text.str();
}

}  // namespace infini::gpu
