// Converting rows of x for tiles.
#include <algorithm>
#include <cstring>

#include "backends/cpu/convert/kernel.h"
#include "backends/cpu/convert/tiles/schedule.h"
#include "backends/cpu/rearrange/tiles/read_walk.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

// What is read, and where scale and shift are.
struct Rows {
  const ConvertTiles& schedule;
  const LineConverter& line;
  const bool* along;
  const char* numbers[2];
  bool by_column[2], by_row[2];  // whether they differ along the tiles' sides

  template <int64_t Loop::*step>
  static bool differ(const std::vector<Loop>& loops) {
    return std::any_of(loops.begin(), loops.end(),
                       [](const Loop& loop) { return loop.*step != 0; });
  }
  // One number for each column, or each row, or one; which of them differ: those along one axis.
  template <int64_t Loop::*step>
  void take(int k, int64_t outer, const ReadPart& part, float* to) const {
    if (!along[k]) return;
    int64_t offsets[2 * line_bytes] = {}, count = 1;
    if (by_column[k])
      OffsetCursor<step>(schedule.columns, part.column).take(offsets, count = part.columns);
    else if (by_row[k])
      OffsetCursor<step>(schedule.rows, part.row).take(offsets, count = part.rows);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i, numbers[k] + outer + offsets[i], sizeof(float));
  }
};

// Rows of x as rows of y, by one thread.
class PartReader {
 public:
  explicit PartReader(const Rows& rows) : rows_(rows) {}

  int64_t src_word() const { return rows_.line.x_bytes(); }
  void begin(const ReadPart& part, int64_t step) {
    of_row_ = part.of_row;
    lines_.x = part.src, lines_.y_step = step, lines_.columns = part.columns;
    if (rows_.along[0] || rows_.along[1]) {
      const NestCursor outer(rows_.schedule.outer, part.outer);
      rows_.take<&Loop::dst_step>(0, outer.dst, part, numbers_[0]);
      rows_.take<&Loop::src_step>(1, outer.src, part, numbers_[1]);
    }
    for (int k = 0; k < 2; ++k) {
      if (!rows_.along[k]) continue;
      lines_.number[k] = numbers_[k];
      lines_.column_step[k] = rows_.by_column[k], lines_.row_step[k] = rows_.by_row[k];
    }
    rows_.line.prepare(lines_);
  }
  void read(char* to, int first, int count, const char* ask, const int64_t* ask_of_row) {
    lines_.y = to, lines_.x_of_row = of_row_ + first, lines_.rows = count;
    lines_.ask = ask, lines_.ask_of_row = ask_of_row;
    for (int k = 0; k < 2; ++k)
      if (rows_.by_row[k]) lines_.number[k] = numbers_[k] + first;
    rows_.line.convert_prepared(lines_, scratch_);
  }

 private:
  const Rows& rows_;
  ConvertLines lines_{};
  const int64_t* of_row_ = nullptr;
  float numbers_[2][2 * line_bytes];  // rows or columns of a part
  LineScratch scratch_;
};

class ConvertedRows final : public RowReader {
 public:
  explicit ConvertedRows(const Rows& rows) : rows_(rows) {}
  int64_t src_word() const override { return rows_.line.x_bytes(); }
  void run_panels(const TileSchedule& schedule, PanelKernel kernel, const Panel& panel,
                  const ReadTask& task) const override {
    PartReader reader(rows_);
    ReadWalk<PartReader>(schedule, kernel, panel, task, reader).run();
  }

 private:
  const Rows& rows_;
};

class Tiles final : public ConvertKernel {
 public:
  Tiles(ConvertTiles schedule, const OperatorPlan& plan, int threads)
      : ConvertKernel(plan, threads),
        schedule_(std::move(schedule)),
        tiles_(
            make_read_tiles(schedule_.tiles, element_count_of(plan) * line_.y_bytes(), threads)) {}

  const char* candidate() const override { return "tiles"; }
  std::string schedule() const override { return with_setting(to_string(schedule_)); }

 private:
  void execute(const OperatorRun& run) const override {
    Rows rows{schedule_, line_, plan_.conversion.along, {number(run, 0), number(run, 1)}, {}, {}};
    rows.by_column[0] = Rows::differ<&Loop::dst_step>(schedule_.columns);
    rows.by_column[1] = Rows::differ<&Loop::src_step>(schedule_.columns);
    rows.by_row[0] = !rows.by_column[0] && Rows::differ<&Loop::dst_step>(schedule_.rows);
    rows.by_row[1] = !rows.by_column[1] && Rows::differ<&Loop::src_step>(schedule_.rows);
    tiles_->run_with(static_cast<char*>(run.operands[0]), static_cast<const char*>(run.operands[1]),
                     ConvertedRows(rows));
  }
  const char* number(const OperatorRun& run, int k) const {
    return static_cast<const char*>(run.operands[2 + k]) + schedule_.offsets[k];
  }

  ConvertTiles schedule_;
  std::unique_ptr<ReadTiles> tiles_;
};

}  // namespace

std::unique_ptr<OperatorKernel> make_tile_converter(ConvertTiles schedule, const OperatorPlan& plan,
                                                    const Policy& policy) {
  return std::make_unique<Tiles>(std::move(schedule), plan, convert_threads(plan, policy));
}

}  // namespace infini::cpu
