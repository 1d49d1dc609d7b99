// Making a transpose schedule: two chains of loops, then windows and stretches of them.
#include "backends/gpu/rearrange/transpose/make_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "backends/gpu/rearrange/transpose/cost.h"
#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t grid_limit = std::numeric_limits<int32_t>::max();
constexpr int64_t chain_limit = 1 << 30;
constexpr int64_t longest_window = int64_t{vector_bytes} * transpose_threads / 2;
constexpr int64_t longest_image = longest_window, usual_image = 256;
constexpr uint32_t bank_bytes = 128;  // what shared memory gives at a time
// Of runs shorter than this, and easy to find, the ends cost less by words: to L2 a store is a sector, however narrow (H200).
constexpr int64_t short_run_bytes = 256;
// A longer chain brings nothing.
constexpr int64_t short_chain_bytes = 256, most_chain_bytes = 4096;

uint32_t bits_for(int64_t count) {  // the smallest b with 2^b >= count
  uint32_t bits = 0;
  while ((int64_t{1} << bits) < count) ++bits;
  return bits;
}

uint32_t floor_log2(int64_t n) { return bits_for(n + 1) - 1; }

class Maker {
 public:
  Maker(const UnitNest& nest, const TileBudget& model, bool bases_aligned)
      : nest_(nest), model_(model), bases_aligned_(bases_aligned) {}

  bool make() {
    if (!find_first_column()) return false;
    grow_chains();
    const int64_t least = std::min(64, model_.tile_bytes / 64);
    if (run_bytes() < least || row_bytes() < least) return false;
    choose_ends();
    choose_shape();
    const bool fits = lay_out();
    find_better(fits);
    return best_cost_ < std::numeric_limits<double>::infinity();
  }

  TransposeSchedule best{};

 private:
  enum class Use : uint8_t { grid, position, column };

  int64_t run_bytes() const { return positions_ * nest_.unit; }
  int64_t row_bytes() const { return columns_ * nest_.unit; }

  // The loop that src's rows begin with must not be the one that dst's runs begin with.
  bool find_first_column() {
    std::fill_n(use_, nest_.depth, Use::grid);
    for (int i = 0; i < nest_.depth; ++i)
      if (nest_.loops[i].src_step == nest_.unit) first_column_ = i;
    return first_column_ >= 0 && nest_.loops[first_column_].dst_step != nest_.unit;
  }

  template <class Fits>
  int find(const Fits& fits) const {
    for (int i = 0; i < nest_.depth; ++i)
      if (use_[i] == Use::grid && fits(nest_.loops[i])) return i;
    return -1;
  }

  // dst's runs first, then always the shorter chain: both may want the same loop.
  void grow_chains() {
    bool run_grows = true, row_grows = true;
    while (run_bytes() < short_chain_bytes && grow_run()) {
    }
    while (run_grows || row_grows) {
      if (run_grows && (!row_grows || run_bytes() < row_bytes()))
        run_grows = run_bytes() < most_chain_bytes && grow_run();
      else
        row_grows = row_bytes() < most_chain_bytes && grow_row();
    }
  }

  bool grow_run() {
    const int i = find([&](const Loop& loop) { return loop.dst_step == run_bytes(); });
    if (i < 0 || i == first_column_ || nest_.loops[i].src_step == 0) return false;
    return add(i, Use::position, nest_.loops[i].src_step, s.position, s.position_depth, positions_);
  }

  bool grow_row() {
    const int i = find([&](const Loop& loop) { return loop.src_step == row_bytes(); });
    if (i < 0) return false;
    return add(i, Use::column, nest_.loops[i].dst_step, s.column, s.column_depth, columns_);
  }

  bool add(int i, Use use, int64_t step, ChainLoop* chain, int32_t& depth, int64_t& count) {
    const int64_t extent = nest_.loops[i].extent;
    if (depth == max_chain_loops || extent > chain_limit / count) return false;
    chain[depth++] = {make_fast_divisor(static_cast<uint32_t>(extent)), step};
    count *= extent;
    use_[i] = use;
    return true;
  }

  // True when the step of every loop that is not `inside` keeps 16-byte boundaries.
  template <class Step>
  bool even(Use inside, const Step& step) const {
    for (int i = 0; i < nest_.depth; ++i)
      if (use_[i] != inside && step(nest_.loops[i]) % vector_bytes != 0) return false;
    return bases_aligned_;
  }

  // Where rows are dear to find, a block that has found them should move more.
  bool rows_are_dear() const {
    return nest_.unit >= 4 && s.position_depth > 1 && row_bytes() >= 8 * usual_image &&
           usual_tiles() >= model_.many_tiles;
  }

  // By words, a quarter of a warp writes 128 bytes of a run, a half of it 256: that is worth
  // larger tiles where their number does not matter.
  bool windows_are_short() const {
    return nest_.unit == 2 && s.by_words &&
           (usual_tiles() >= 4 * int64_t{model_.many_tiles} || runs_are_far());
  }

  // Neighbouring runs lie so far apart that every place a warp writes to counts.
  bool runs_are_far() const {
    return s.column[0].step >= 128 * 1024 && row_bytes() >= usual_image &&
           usual_tiles() >= model_.many_tiles;
  }

  int64_t usual_tiles() const {
    int64_t bytes = nest_.unit;
    for (int i = 0; i < nest_.depth; ++i) bytes *= nest_.loops[i].extent;
    return bytes / model_.tile_bytes;
  }

  // How rows and runs begin and end, and what follows from it.
  void choose_ends() {
    s.unit = nest_.unit;
    s.rows_even = row_bytes() % vector_bytes == 0 &&
                  even(Use::column, [](const Loop& loop) { return loop.src_step; });
    const auto dst_step = [](const Loop& loop) { return loop.dst_step; };
    const bool runs_even = even(Use::position, dst_step);
    s.by_words = nest_.unit < 4 && s.rows_even && runs_even && columns_ % (4 / nest_.unit) == 0;
    s.skew = runs_even ? vector_bytes : sector_bytes;
    s.lead_rows = runs_even ? 0 : s.skew / static_cast<uint32_t>(nest_.unit) - 1;
    whole_run_ = round_up(run_bytes() + s.lead_rows * int64_t{nest_.unit}, int64_t{vector_bytes});
  }

  // What is usually best.
  void choose_shape() {
    // Bytes of an image's row times bytes of a window.
    const bool dear = rows_are_dear(), larger = dear || windows_are_short();
    // Rows in many places are read whole, one block after another, before the next ones.
    s.windows_last = dear && s.lead_rows == 0;
    const int64_t area = int64_t{model_.tile_bytes} * (larger ? 4 : 3) / 3 * nest_.unit;
    int64_t image = int64_t{1} << (bits_for(area) + 1) / 2;
    image =
        std::min(std::max<int64_t>(image, 2 * vector_bytes), dear ? 2 * usual_image : usual_image);
    if (nest_.unit == 1 && s.by_words && runs_are_far()) image = 3 * usual_image / 4;
    if (dear && !s.rows_even) image -= slack();  // six such blocks fit into a processor
    int64_t run = window_beside(area, std::min(image, round_up(row_bytes(), vector_bytes)));
    if (s.lead_rows > 0) run = std::max(run, skewed_window(image));
    if (row_bytes() <= 2 * image && row_bytes() * run <= area * 4 / 3) image = row_bytes();
    image = even_part(row_bytes(), image, s.rows_even ? sector_bytes : nest_.unit);
    if (whole_run_ < run) {
      const int64_t most = std::min(int64_t{1} << floor_log2(area / whole_run_), longest_image);
      image = even_part(row_bytes(), most, s.rows_even ? sector_bytes : nest_.unit);
    }
    run = even_part(whole_run_, run, vector_bytes);
    image = std::min(image, fitting_image(run / nest_.unit + s.lead_rows));
    set_shape(run, image);
  }

  void set_shape(int64_t run, int64_t image) {
    s.window = static_cast<uint32_t>(run / nest_.unit);
    s.stretch = static_cast<uint32_t>(std::min(image, row_bytes()) / nest_.unit);
  }

  // Other shapes, where the model of a processor says that one is cheaper. (Of words it knows too
  // little.)
  void find_better(bool fits) {
    constexpr int64_t sizes[] = {64, 96, 128, 192, 256, 320, 384, 512, 768, 1024};
    const double habit = s.lead_rows > 0 ? 0.96 : 0.88;  // what is usually best, when in doubt
    if (fits) keep_if_cheaper(habit);
    if (s.by_words) return;
    for (const int64_t window : sizes) {
      for (const int64_t image : sizes) {
        const int64_t bytes = std::min(window, whole_run_) * std::min(image, row_bytes());
        if (bytes < 4096 * nest_.unit || bytes > 2 * int64_t{model_.tile_bytes} * nest_.unit)
          continue;
        set_shape(std::min(window, whole_run_), image);
        if (lay_out()) keep_if_cheaper(1);
        if (image >= row_bytes()) break;
      }
      if (window >= whole_run_) break;
    }
  }

  bool lay_out() {
    if (ceil_div(s.stretch * int64_t{nest_.unit} + vector_bytes, int64_t{vector_bytes}) >
        transpose_threads)
      return false;
    lay_images();
    return lay_grid() && lay_shared();
  }

  void keep_if_cheaper(double factor) {
    const BlockWork work = work_of(s, *model_.device.rearrange);
    if (factor * cost_of_block(work, 1, nest_, model_.device) >= best_cost_) return;
    const double cost = factor * cost_of_block(work, bank_conflicts(s), nest_, model_.device);
    if (cost >= best_cost_) return;
    best = s;
    best_cost_ = cost;
  }

  int64_t window_beside(int64_t area, int64_t image) const {
    const int64_t run = std::min(int64_t{1} << floor_log2(area / image), longest_window);
    return std::max<int64_t>(run, vector_bytes);
  }

  // Equal parts of a row of which so many fit into shared memory.
  int64_t fitting_image(int64_t rows) const {
    const int64_t granule = s.rows_even ? sector_bytes : nest_.unit;
    const int64_t most =
        int64_t{model_.shared_bytes} * 7 / 8 / rows - (s.rows_even ? 0 : slack() + granule);
    return round_up(ceil_div(row_bytes(), ceil_div(row_bytes(), std::max(most, granule))), granule);
  }

  // Every skewed window reads lead_rows rows of the one before: the smaller the units, the more it
  // matters that windows are long.
  int64_t skewed_window(int64_t& image) const {
    const int64_t scale = model_.tile_bytes / 8;
    if (nest_.unit == 1) image = std::min(image, scale / 16);
    return nest_.unit > 2 ? 0 : round_up(scale / (nest_.unit == 1 ? 20 : 16), vector_bytes);
  }

  // About `wanted` of `bytes`, in multiples of `granule`: that, or where the last part would be a
  // small rest of few, nearly equal ones.
  static int64_t even_part(int64_t bytes, int64_t wanted, int64_t granule) {
    wanted = std::max(wanted / granule * granule, granule);
    const auto whole = static_cast<double>(bytes / wanted);
    const double rest = static_cast<double>(bytes % wanted) / static_cast<double>(wanted);
    if (rest == 0 || whole + 0.35 + 0.65 * rest < 1.08 * (whole + rest)) return wanted;
    const int64_t parts = std::max<int64_t>((bytes + wanted / 2) / wanted, 1);
    return round_up(ceil_div(bytes, parts), granule);
  }

  // A row that may begin anywhere takes more than its bytes: on either side, and more where the
  // shift changes from row to row.
  int64_t slack() const { return (s.position_depth > 1 ? 3 : 2) * (vector_bytes - nest_.unit); }

  static void share_threads(int64_t lanes, FastDivisor& side_by_side, uint32_t& others) {
    side_by_side = make_fast_divisor(static_cast<uint32_t>(lanes));
    others = static_cast<uint32_t>(transpose_threads / lanes);
  }

  void lay_images() {
    const int64_t units = vector_bytes / nest_.unit, bytes = int64_t{s.stretch} * nest_.unit;
    const int64_t more = vector_bytes - nest_.unit;  // a row may begin anywhere, the next one too
    int64_t pitch = round_up(bytes, int64_t{vector_bytes});
    if (!s.rows_even) {
      pitch = bytes + slack();
      const int64_t rest = (s.position[0].step - pitch) % vector_bytes;
      pitch += (rest + vector_bytes) % vector_bytes;
    }
    s.row_pitch = static_cast<uint32_t>(pitch);
    share_threads(ceil_div(bytes + (s.rows_even ? 0 : more), int64_t{vector_bytes}), s.row_lanes,
                  s.row_threads);
    share_threads(s.window / units, s.run_lanes, s.run_threads);
    s.group_bits = bits_for(units);
    s.ends_by_words = s.unit < 4 && s.position_depth == 1 && run_bytes() < short_run_bytes;
    s.pieces_long = s.position_depth == 1 || s.rows_even || s.position[0].extent.divisor >= units;
    // The rows of a vector take an odd number of 16 bytes: 8 vectors begin in 8 different quarters.
    // (Half a warp writes 256 bytes of one run: the fewer places an instruction writes to, the
    // better where runs lie megabytes apart. Reading shared memory twice as long does not matter.)
    s.group_skew = units * pitch % (2 * vector_bytes) == 0 ? vector_bytes : 0;
    // By words: the banks of one vector's threads are followed by those of the next vector's.
    if (s.by_words)
      s.group_skew = (std::max<uint32_t>(bank_bytes >> std::min(4u, bits_for(s.window / units)),
                                         vector_bytes) -
                      static_cast<uint32_t>(units) * s.row_pitch) %
                     bank_bytes;
  }

  bool lay_grid() {
    const int64_t windows = ceil_div(positions_ + s.lead_rows, int64_t{s.window});
    const int64_t stretches = ceil_div(columns_, int64_t{s.stretch});
    int64_t tiles = 1;
    s.grid_depth = 0;
    const auto grow = [&](int64_t extent) {
      return checked_mul(tiles, extent, tiles) && tiles <= grid_limit;
    };
    if (!grow(windows) || !grow(stretches)) return false;
    for (int i = nest_.depth; i-- > 0;) {
      const Loop& loop = nest_.loops[i];
      if (use_[i] != Use::grid) continue;
      if (s.grid_depth == max_grid_loops || loop.extent > grid_limit || !grow(loop.extent))
        return false;
      s.grid[s.grid_depth++] = {make_fast_divisor(static_cast<uint32_t>(loop.extent)),
                                loop.dst_step, loop.src_step};
    }
    s.windows = make_fast_divisor(static_cast<uint32_t>(windows));
    s.stretches = make_fast_divisor(static_cast<uint32_t>(stretches));
    s.tiles = static_cast<uint32_t>(tiles);
    return true;
  }

  bool lay_shared() {
    s.rows_at = static_cast<uint32_t>(round_up(
        int64_t{transpose_image(s, transpose_rows(s))} + 3 * vector_bytes, int64_t{vector_bytes}));
    const uint32_t listed = s.position_depth > 1 ? transpose_rows(s) : 0;
    s.places_at = s.rows_at + listed * sizeof(int64_t);
    s.runs_at = static_cast<uint32_t>(
        round_up(s.places_at + (s.unit < 4 && !s.rows_even ? listed * sizeof(RowImage) : 0),
                 sizeof(int64_t)));
    s.shared_bytes = s.runs_at + (s.column_depth > 1 ? s.stretch * sizeof(int64_t) : 0);
    s.whole_lines = nest_.whole_lines;
    s.positions = static_cast<uint32_t>(positions_);
    s.columns = static_cast<uint32_t>(columns_);
    s.dst_offset = nest_.dst_offset;
    s.src_offset = nest_.src_offset;
    s.src_begin = nest_.src_bytes.begin;
    s.src_end = nest_.src_bytes.end;
    s.rows_low = s.rows_high = 0;
    for (int i = 0; i < s.position_depth; ++i) {
      const int64_t reach = (int64_t{s.position[i].extent.divisor} - 1) * s.position[i].step;
      (reach < 0 ? s.rows_low : s.rows_high) += reach;
    }
    return s.rows_at <= UINT16_MAX && s.shared_bytes <= static_cast<uint32_t>(model_.shared_bytes);
  }

  const UnitNest& nest_;
  const TileBudget& model_;
  bool bases_aligned_;
  int first_column_ = -1;
  Use use_[max_rank + 1];
  int64_t positions_ = 1, columns_ = 1, whole_run_ = 0;
  TransposeSchedule s{};
  double best_cost_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::optional<TransposeSchedule> make_transpose_schedule(const UnitNest& nest,
                                                         const TileBudget& model,
                                                         bool bases_aligned) {
  Maker maker(nest, model, bases_aligned);
  if (!maker.make()) return std::nullopt;
  return maker.best;
}

std::string to_string(const TransposeSchedule& s) {
  std::ostringstream text;
  text << s.tiles << " tiles of " << s.stretch << " runs x " << s.window * s.unit
       << " B, gathered in units of " << s.unit << " B from " << transpose_rows(s) << " rows x "
       << s.stretch * s.unit << " B, " << s.shared_bytes << " B shared";
  if (s.lead_rows > 0) text << ", windows skewed to " << s.skew << " B";
  return text.str();
}

}  // namespace infini::gpu
