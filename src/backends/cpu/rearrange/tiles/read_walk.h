// Panels whose rows are read into a buffer while those before them are transposed from another: so memory is read while lines
// are written, as by a copy, whatever reading takes.
//
// A PartReader is what one thread reads by: begin(part, step) before the rows of a part, step bytes apart, then
// read(to, first, count, ask, ask_of_row) some of them at a time; each asks for as many bytes of a row at ask, which may be null.
#pragma once

#include <algorithm>

#include "backends/cpu/rearrange/tiles/reader.h"
#include "base/checked.h"

namespace infini::cpu {

template <class PartReader>
class ReadWalk : Filling {
 public:
  ReadWalk(const TileSchedule& schedule, PanelKernel kernel, const Panel& panel,
           const ReadTask& task, PartReader& reader)
      : Filling{fill_rows, 0, 0, 1, 0},
        task_(task),
        reader_(reader),
        kernel_(kernel),
        panel_(panel),
        cursor_(schedule.rows, task.row),
        all_rows_(schedule.row_count),
        word_(schedule.word),
        src_word_(reader.src_word()),
        unit_(task.depth * line_bytes / schedule.word),
        panels_(ceil_div(task.rows, unit_)),
        part_(even_part(task.columns, read_columns(word_), line_bytes / word_)),
        step_(round_up(part_ * word_, lane_bytes)),
        ahead_(std::clamp<int64_t>(lines_ahead * line_bytes / (part_ * src_word_), 1, unit_)) {
    write_ascending(of_row_, unit_, 0, step_);
    panel_.src_of_row = of_row_;
    const int64_t all = std::max<int64_t>(1, part_ * word_ / lane_bytes);  // blocks of a part
    every = static_cast<int>(std::clamp<int64_t>(all * least_elements / (unit_ * part_), 1, all));
    each = static_cast<int>(ceil_div(unit_ * every, all));
  }

  void run() {
    Place now{}, next = behind(now);
    begin(now, next, 0);
    read(left);
    for (int turn = 0; now.panel < panels_; now = next, next = behind(now), turn ^= 1) {
      const bool more = next.panel < panels_;
      if (more) begin(next, behind(next), turn ^ 1);
      transpose(now, turn, more);
      if (more) read(left);
    }
  }

 private:
  // So many lines are asked for before they are read: as many as are under way at once.
  static constexpr int64_t lines_ahead = 128;
  static constexpr int64_t least_elements = 256;  // that are read at a time

  struct Place {
    int64_t panel, column;
  };
  Place behind(Place at) const {
    return at.column + part_ < task_.columns ? Place{at.panel, at.column + part_}
                                             : Place{at.panel + 1, 0};
  }
  int rows_of(int64_t panel) const {
    return static_cast<int>(std::clamp<int64_t>(task_.rows - panel * unit_, 0, unit_));
  }
  // Three panels' offsets are known at a time: what is asked for may be two panels behind what is transposed.
  ReadPart part_at(Place at) {
    for (; taken_ <= at.panel; ++taken_) cursor_.take(offsets_[taken_ % 3], rows_of(taken_));
    return {panel_.src + at.column * src_word_,
            offsets_[at.panel % 3],
            rows_of(at.panel),
            std::min(part_, task_.columns - at.column),
            task_.outer,
            task_.row + at.panel * unit_,
            task_.column + at.column};
  }

  // From here on the rows of `next` are put into a buffer.
  void begin(Place next, Place after, int buffer) {
    next_ = part_at(next);
    after_ = part_at(after);
    to_ = buffers_[buffer];
    left = next_.rows;
    reader_.begin(next_, step_);
  }
  static void fill_rows(Filling& self, int rows) { static_cast<ReadWalk&>(self).read(rows); }
  void read(int rows) {
    while (rows > 0) {
      const int first = next_.rows - left;
      // The row that is asked for is one of this part, or of the one after it, or there is none.
      int64_t asked = first + ahead_, most = next_.rows - asked;
      const ReadPart* of = &next_;
      if (most <= 0) of = &after_, asked -= next_.rows, most = after_.rows - asked;
      const bool asks = most > 0;
      const int count = asks ? static_cast<int>(std::min<int64_t>(rows, most)) : rows;
      reader_.read(to_ + first * step_, first, count, asks ? of->src : nullptr,
                   asks ? of->of_row + asked : nullptr);
      rows -= count, left -= count;
    }
  }

  void transpose(Place now, int turn, bool more) {
    Panel panel = panel_;
    panel.src = buffers_[turn];
    panel.dst += now.panel * task_.depth * line_bytes;
    panel.dst_of_column += now.column;
    panel.carry += now.column * line_bytes;
    panel.columns = std::min(part_, task_.columns - now.column);
    panel.rows = rows_of(now.panel);
    panel.first = task_.row + now.panel == 0;
    panel.last = task_.row + task_.rows == all_rows_ && now.panel + 1 == panels_;
    panel.filling = more ? this : nullptr;
    blocks = 0;
    kernel_(panel);
  }

  const ReadTask& task_;
  PartReader& reader_;
  PanelKernel kernel_;
  Panel panel_;
  OffsetCursor<&Loop::src_step> cursor_;
  int64_t all_rows_, word_, src_word_, unit_, panels_, part_, step_, ahead_, taken_ = 0;
  ReadPart next_{}, after_{};
  char* to_ = nullptr;
  int64_t of_row_[2 * line_bytes], offsets_[3][2 * line_bytes];
  alignas(line_bytes) char buffers_[2][read_buffer_bytes];
};

}  // namespace infini::cpu
