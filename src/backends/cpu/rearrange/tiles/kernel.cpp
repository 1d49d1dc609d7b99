// The tiled rearrangement: panels of in-register transposes along strips of src.
#include <algorithm>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/tiles/far_rows.h"
#include "backends/cpu/rearrange/tiles/reader.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

using Store = TileSchedule::Store;

class Tiles final : public Kernel, public ReadTiles {
 public:
  Tiles(TileSchedule schedule, int64_t bytes, int threads, Isa level, bool reads)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        kernels_(panel_kernels(level, static_cast<int>(schedule_.word))),
        level_(level),
        threads_(threads),
        strips_(schedule_.strips()),
        panels_(schedule_.panels()),
        small_(!reads && schedule_.goes_whole(threads)),
        uniform_(small_ && kernels_.uniform != nullptr && schedule_.is_uniform()) {}

  const char* candidate() const override { return "tiles"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), level_, threads_);
  }

  std::string way(const char* dst) const override {
    static constexpr const char* names[] = {"uniform", "small",  "cached",         "streamed",
                                            "paired",  "skewed", "skewed in pairs"};
    return names[static_cast<int>(way_of(dst + schedule_.dst_offset))];
  }

  void execute(char* dst, const char* src) const override { run_by(dst, src, nullptr); }
  void run_with(char* dst, const char* src, const RowReader& reader) const override {
    run_by(dst, src, &reader);
  }

 private:
  // Without a reader rows are moved as they are.
  void run_by(char* dst, const char* src, const RowReader* reader) const {
    dst += schedule_.dst_offset;
    src += schedule_.src_offset;
    const Way way = way_of(dst);
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    if (small_)
      return parallel_for(schedule_.outer_count, threads, [&](int64_t begin, int64_t end) {
        way == Way::uniform ? run_uniform(dst, src, begin, end) : run_small(dst, src, begin, end);
      });
    const Ends ends{dst, src, reader};
    parallel_for(schedule_.outer_count * strips_ * panels_, threads,
                 [&](int64_t begin, int64_t end) { run_panels_of(way, ends, begin, end); });
  }

  enum class Way { uniform, small, cached, streamed, paired, skewed, skewed_pairs };

  // Streaming needs columns at whole lines, or at whole units of what puts lines together: the steps were asked when the
  // schedule was made, the address of the first column is known only here.
  Way way_of(const char* dst) const {
    if (small_) return uniform_ ? Way::uniform : Way::small;
    if (schedule_.store == Store::cached) return Way::cached;
    const auto address = reinterpret_cast<uintptr_t>(dst);
    const bool pairs = schedule_.depth == 2;
    if (schedule_.aligned() && address % line_bytes == 0)
      return pairs && kernels_.paired != nullptr ? Way::paired : Way::streamed;
    const auto unit = static_cast<uintptr_t>(skew_unit(static_cast<int>(schedule_.word)));
    if (kernels_.skewed == nullptr || !schedule_.can_skew() || address % unit != 0)
      return Way::cached;
    return pairs && kernels_.skewed_pairs != nullptr ? Way::skewed_pairs : Way::skewed;
  }

  // Where both begin, and who reads src's rows.
  struct Ends {
    char* dst;
    const char* src;
    const RowReader* reader;
  };

  void run_panels_of(Way way, const Ends& ends, int64_t begin, int64_t end) const {
    switch (way) {
      case Way::streamed: return run_direct(kernels_.streamed, ends, begin, end);
      case Way::paired:
        return run_direct(ends.reader ? kernels_.paired_near : kernels_.paired, ends, begin, end);
      case Way::skewed: return run_skewed(kernels_.skewed, ends, begin, end);
      case Way::skewed_pairs:
        return run_skewed(ends.reader ? kernels_.skewed_pairs_near : kernels_.skewed_pairs, ends,
                          begin, end);
      default: return run_direct(kernels_.cached, ends, begin, end);
    }
  }

  // What is walked at once: some columns of a strip and some rows, all panels of them.
  struct Task {
    int64_t column, columns, row, rows;
    int64_t outer, dst, src;  // the point of the outer nest: its number and its offsets
    const RowReader* reader = nullptr;
  };
  // Calls body(task) for a range of panels, as many of one strip and chunk at a time as the range has.
  template <class Body>
  void for_tasks(const Ends& ends, int64_t begin, int64_t end, Body body) const {
    const int64_t unit = schedule_.panel_rows(), most = ceil_div(schedule_.chunk, unit);
    int64_t rest = begin % (strips_ * panels_);
    int64_t above = rest / (strips_ * most) * most;  // panels in the chunks above
    rest -= above * strips_;
    int64_t number = begin / (strips_ * panels_);
    NestCursor outer(schedule_.outer, number);
    while (begin < end) {
      const int64_t panels = std::min(most, panels_ - above);
      int64_t strip = rest / panels, panel = rest % panels;
      for (; strip < strips_ && begin < end; ++strip, panel = 0) {
        const int64_t taken = std::min(panels - panel, end - begin);
        const int64_t column = strip * schedule_.strip, row = (above + panel) * unit;
        body(Task{column, std::min(schedule_.strip, schedule_.column_count - column), row,
                  std::min(taken * unit, schedule_.row_count - row), number, outer.dst, outer.src,
                  ends.reader});
        begin += taken;
      }
      rest = 0;
      above += panels;
      if (above < panels_) continue;
      above = 0;
      ++number;
      outer.advance();
    }
  }

  // The dst offsets of a strip's columns, computed again only when the strip changes.
  struct Columns {
    void want(const TileSchedule& schedule, int64_t first, int64_t count) {
      if (first == first_) return;
      OffsetCursor<&Loop::dst_step>(schedule.columns, first).take(dst, count);
      first_ = first;
    }
    int64_t first_ = -1;
    int64_t dst[max_strip];
  };

  // Some points of the outer nest, as many of its innermost loop at a time as there are.
  void run_uniform(char* dst, const char* src, int64_t begin, int64_t end) const {
    const Loop again = schedule_.outer.empty() ? Loop{1, 0, 0} : schedule_.outer.back();
    Tile tile{dst,
              src,
              schedule_.row_count,
              schedule_.column_count,
              schedule_.rows[0].src_step,
              schedule_.columns[0].dst_step,
              again.extent,
              again.dst_step,
              again.src_step};
    if (end - begin == again.extent && schedule_.outer_count == again.extent)
      return kernels_.uniform(tile);
    NestCursor outer(schedule_.outer, begin);
    int64_t inner = begin == 0 ? 0 : begin % again.extent;
    while (begin < end) {
      tile.dst = dst + outer.dst;
      tile.src = src + outer.src;
      tile.repeat = std::min(again.extent - inner, end - begin);
      kernels_.uniform(tile);
      begin += tile.repeat;
      if (inner == 0)
        outer.skip_innermost();
      else
        outer = NestCursor(schedule_.outer, begin), inner = 0;
    }
  }

  // Small tensors, for which counting tasks and offsets would cost as much as moving.
  void run_small(char* dst, const char* src, int64_t begin, int64_t end) const {
    Panel panel{};
    panel.columns = schedule_.column_count;
    if (schedule_.rows.size() == 1 && schedule_.columns.size() == 1) {
      panel.column_step = schedule_.columns[0].dst_step;
      panel.row_step = schedule_.rows[0].src_step;
      return run_nest(panel, dst, src, nullptr, begin, end);
    }
    const int64_t unit = line_bytes / schedule_.word, rows = schedule_.row_count;
    int64_t dst_of_column[most_small_side], src_of_row[most_small_side + line_bytes];
    OffsetCursor<&Loop::dst_step>(schedule_.columns, 0).take(dst_of_column, schedule_.column_count);
    OffsetCursor<&Loop::src_step>(schedule_.rows, 0).take(src_of_row, rows);
    for (int64_t i = rows; i % unit != 0; ++i) src_of_row[i] = src_of_row[rows - 1];
    panel.dst_of_column = dst_of_column;
    run_nest(panel, dst, src, src_of_row, begin, end);
  }
  void run_nest(Panel panel, char* dst, const char* src, const int64_t* src_of_row, int64_t begin,
                int64_t end) const {
    const int64_t unit = line_bytes / schedule_.word, rows = schedule_.row_count;
    NestCursor outer(schedule_.outer, begin);
    for (; begin < end; ++begin, outer.advance()) {
      for (int64_t row = 0; row < rows; row += unit) {
        // The last panel overlaps its neighbour rather than be a narrow one.
        const int64_t first = row + unit > rows && rows > unit ? rows - unit : row;
        panel.dst = dst + outer.dst + first * schedule_.word;
        panel.src = src + outer.src + first * panel.row_step;
        panel.src_of_row = src_of_row == nullptr ? nullptr : src_of_row + first;
        panel.rows = static_cast<int>(std::min(unit, rows - first));
        kernels_.cached(panel);
      }
    }
  }

  // One task: panel after panel down the rows, the lines of the next ones being fetched meanwhile.
  void run_panels(PanelKernel kernel, Panel panel, const Task& task) const {
    if (task.reader != nullptr) {
      const bool pairs = kernel == kernels_.paired_near || kernel == kernels_.skewed_pairs_near;
      return task.reader->run_panels(
          schedule_, kernel, panel,
          {task.column, task.columns, task.row, task.rows, task.outer, pairs ? 2 : 1});
    }
    const int64_t row = task.row, rows = task.rows;
    const int64_t depth = kernel == kernels_.paired || kernel == kernels_.skewed_pairs ? 2 : 1,
                  unit = depth * line_bytes / schedule_.word;
    const int64_t panels = ceil_div(rows, unit);
    const bool fetches = schedule_.store != Store::cached;
    const bool narrow = fetches && FarRows::helps(panel, schedule_.word);
    FarRows far(schedule_, row, rows, unit);
    int64_t offsets[3][2 * line_bytes];  // of panel i in i % 3
    OffsetCursor<&Loop::src_step> cursor(schedule_.rows, row);
    const auto take = [&](int64_t i) {
      take_rows(cursor, offsets[i % 3], std::min(unit, rows - i * unit), unit);
    };
    for (int64_t i = 0; i < std::min<int64_t>(panels, 2); ++i) take(i);
    for (int64_t i = 0; i < panels; ++i) {
      if (i + 2 < panels) take(i + 2);
      panel.rows = static_cast<int>(std::min(unit, rows - i * unit));
      panel.first = row + i == 0;
      panel.last = row + rows == schedule_.row_count && i + 1 == panels;
      panel.src_of_row = offsets[i % 3];
      panel.next_of_row = fetches && i + 1 < panels ? offsets[(i + 1) % 3] : nullptr;
      panel.after_of_row = fetches && i + 2 < panels ? offsets[(i + 2) % 3] : nullptr;
      if (narrow) far.ask(panel.src, panel.columns * schedule_.word);
      kernel(panel);
      panel.dst += depth * line_bytes;
    }
  }
  // The same in the cache, of rows that lie equally far apart: panels of few columns would spend as long on a table.
  void run_even_panels(Panel panel, int64_t row, int64_t rows) const {
    const int64_t unit = line_bytes / schedule_.word;
    panel.row_step = schedule_.rows[0].src_step;
    panel.src += row * panel.row_step;
    for (; rows > 0; rows -= unit) {
      panel.rows = static_cast<int>(std::min(unit, rows));
      kernels_.cached(panel);
      panel.src += unit * panel.row_step;
      panel.dst += line_bytes;
    }
  }
  // A panel's offsets, the last one repeated until there are `all` of them.
  static void take_rows(OffsetCursor<&Loop::src_step>& cursor, int64_t* offsets, int64_t rows,
                        int64_t all) {
    cursor.take(offsets, rows);
    for (int64_t i = rows; i < all; ++i) offsets[i] = offsets[rows - 1];
  }

  Panel first_panel(const Task& task, const Ends& ends, const Columns& columns,
                    Stage& stage) const {
    const int64_t src_word = ends.reader == nullptr ? schedule_.word : ends.reader->src_word();
    Panel panel{};
    panel.dst = ends.dst + task.dst + task.row * schedule_.word;
    panel.dst_of_column = columns.dst;
    panel.src = ends.src + task.src + task.column * src_word;
    panel.columns = task.columns;
    panel.stage = &stage;
    panel.asks = schedule_.asks && ends.reader == nullptr;
    panel.soon = schedule_.soon;
    panel.staged = schedule_.staged;
    panel.fetches_all = schedule_.fetches_all;
    stage.ready = false;
    return panel;
  }

  void run_direct(PanelKernel kernel, const Ends& ends, int64_t begin, int64_t end) const {
    const bool even =
        ends.reader == nullptr && schedule_.store == Store::cached && schedule_.rows.size() == 1;
    Columns columns;
    Stage stage;
    for_tasks(ends, begin, end, [&](const Task& task) {
      columns.want(schedule_, task.column, task.columns);
      const Panel panel = first_panel(task, ends, columns, stage);
      if (even)
        run_even_panels(panel, task.row, task.rows);
      else
        run_panels(kernel, panel, task);
    });
    if (kernel != kernels_.cached) streaming_fence();
  }

  // Lines that do not begin with a panel belong to the walk in which they end: it reads the panel above
  // its first one, too, and no line is written in two halves.
  void run_skewed(PanelKernel kernel, const Ends& ends, int64_t begin, int64_t end) const {
    alignas(line_bytes) char carry[max_strip * line_bytes];
    const int64_t unit = line_bytes / schedule_.word;
    Columns columns;
    Stage stage;
    for_tasks(ends, begin, end, [&](const Task& task) {
      columns.want(schedule_, task.column, task.columns);
      Panel panel = first_panel(task, ends, columns, stage);
      panel.carry = carry;
      if (task.row > 0) {
        Panel above = panel;
        above.unwritten = true;
        Task one = task;
        one.row -= unit, one.rows = unit;
        run_panels(kernels_.skewed, above, one);
      }
      run_panels(kernel, panel, task);
    });
    streaming_fence();
  }

  TileSchedule schedule_;
  PanelKernels kernels_;
  Isa level_;
  int threads_;
  int64_t strips_, panels_;  // panels: of all rows
  bool small_, uniform_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_tiles(TileSchedule schedule, const RearrangePlan& plan,
                                            const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return std::make_unique<Tiles>(std::move(schedule), bytes, threads_for(bytes, policy), isa(),
                                 false);
}

std::unique_ptr<ReadTiles> make_read_tiles(TileSchedule schedule, int64_t bytes, int threads) {
  return std::make_unique<Tiles>(std::move(schedule), bytes, threads, isa(), true);
}

}  // namespace infini::cpu
