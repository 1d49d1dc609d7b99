// Converting rows of x for tiles.
#include <algorithm>
#include <cstring>

#include "backends/cpu/convert/kernel.h"
#include "backends/cpu/convert/tiles/schedule.h"
#include "backends/cpu/rearrange/tiles/reader.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

// Reads rows of x as rows of y.
class ConvertedRows final : public RowReader {
 public:
  ConvertedRows(const ConvertTiles& schedule, const LineConverter& line,
                const Conversion& conversion, const char* scale, const char* shift)
      : schedule_(schedule), line_(line), conversion_(conversion), at_{scale, shift} {}

  int64_t src_word() const override { return line_.x_bytes(); }

  void read(char* to, int64_t step, const ReadRows& rows) const override {
    LineScratch scratch;
    ConvertLines lines{};
    lines.y = to, lines.y_step = step;
    lines.x = rows.src, lines.x_of_row = rows.of_row;
    lines.rows = rows.rows, lines.columns = rows.columns, lines.ahead = rows.ahead;
    if (!conversion_.along[0] && !conversion_.along[1]) return line_.convert(lines, scratch);
    float numbers[2][most_numbers];
    const NestCursor outer(schedule_.outer, rows.outer);
    take<&Loop::dst_step>(0, outer.dst, rows, numbers[0], lines);
    take<&Loop::src_step>(1, outer.src, rows, numbers[1], lines);
    line_.convert(lines, scratch);
  }

 private:
  static constexpr int64_t most_numbers = std::max(most_read_columns, 2 * line_bytes);

  // One number for each column, or each row, or one; which of them differ: those along one axis.
  template <int64_t Loop::*step>
  void take(int k, int64_t outer, const ReadRows& rows, float* numbers, ConvertLines& lines) const {
    if (!conversion_.along[k]) return;
    const auto differ = [](const std::vector<Loop>& loops) {
      return std::any_of(loops.begin(), loops.end(),
                         [](const Loop& loop) { return loop.*step != 0; });
    };
    const bool by_column = differ(schedule_.columns), by_row = differ(schedule_.rows);
    int64_t offsets[most_numbers] = {}, count = 1;
    if (by_column)
      OffsetCursor<step>(schedule_.columns, rows.column).take(offsets, count = rows.columns);
    else if (by_row)
      OffsetCursor<step>(schedule_.rows, rows.row).take(offsets, count = rows.rows);
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(numbers + i, at_[k] + outer + offsets[i], sizeof(float));
    lines.number[k] = numbers;
    lines.column_step[k] = by_column, lines.row_step[k] = by_row;
  }

  const ConvertTiles& schedule_;
  const LineConverter& line_;
  const Conversion& conversion_;
  const char* at_[2];
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
    const ConvertedRows rows(schedule_, line_, plan_.conversion, number(run, 0), number(run, 1));
    tiles_->run_with(static_cast<char*>(run.operands[0]), static_cast<const char*>(run.operands[1]),
                     rows);
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
