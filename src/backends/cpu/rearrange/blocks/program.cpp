// Making the tables of a block.
#include "backends/cpu/rearrange/blocks/program.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cpu/rearrange/panels/kernels.h"

namespace infini::cpu {
namespace {

// An axis inside of a block.
struct Inner {
  int64_t extent, dst_step, src_step, buffer_step;
};

// extents: the iterations of each axis of the schedule in this block, no more than its part.
class Builder {
 public:
  Builder(const BlockSchedule& schedule, const std::vector<int64_t>& extents)
      : word_(schedule.word), unit_(panel_rows(word_)) {
    place_in_buffer(schedule, extents);
    list_runs();
    split_sides();
    list_lines();
    list_panels();
  }
  BlockProgram take() { return std::move(program_); }

 private:
  void place_in_buffer(const BlockSchedule& schedule, const std::vector<int64_t>& extents);
  void list_runs();
  void split_sides();
  void list_lines();
  void list_panels();
  // All these bytes are of the block, as far as its runs in src tell.
  bool belongs(int64_t src, int64_t bytes) const;

  // Calls body(values of the two steps) for every point of the axes, the first one being the innermost.
  template <class Body>
  static void for_points(const std::vector<Inner>& axes, int64_t Inner::*a, int64_t Inner::*b,
                         Body body, int64_t at_a = 0, int64_t at_b = 0) {
    if (axes.empty()) return body(at_a, at_b);
    std::vector<Inner> rest(axes.begin(), axes.end() - 1);
    for (int64_t i = 0; i < axes.back().extent; ++i)
      for_points(rest, a, b, body, at_a + i * (axes.back().*a), at_b + i * (axes.back().*b));
  }
  // Takes the axis with this step out of the inner ones.
  bool take(int64_t Inner::*step, int64_t value, std::vector<Inner>& side, int64_t& count) {
    const auto found = std::find_if(axes_.begin(), axes_.end(),
                                    [&](const Inner& axis) { return axis.*step == value; });
    if (found == axes_.end()) return false;
    count *= found->extent;
    side.push_back(*found);
    axes_.erase(found);
    return true;
  }

  int64_t word_, unit_;
  BlockProgram program_;
  std::vector<Inner> axes_, rows_, columns_;
  int64_t src_base_ = 0, buffer_base_ = 0, row_count_ = 1;
  std::vector<int64_t> src_starts_;  // of runs in src, ascending
  int64_t src_run_ = 0;              // bytes of each
};

// Runs of dst lie in the buffer as they are, one after the other.
void Builder::place_in_buffer(const BlockSchedule& schedule, const std::vector<int64_t>& extents) {
  std::vector<std::pair<BlockSchedule::Axis, int64_t>> ascending;
  for (size_t i = 0; i < extents.size(); ++i) ascending.push_back({schedule.axes[i], extents[i]});
  std::sort(ascending.begin(), ascending.end(), [](const auto& a, const auto& b) {
    return a.first.loop.dst_step < b.first.loop.dst_step;
  });
  int64_t dst_run = word_, whole = word_, next = run_pitch(schedule.run);
  program_.run_bytes = word_;
  bool inside = true;
  for (const auto& [axis, extent] : ascending) {
    inside = inside && axis.loop.dst_step == dst_run;
    const int64_t step = inside ? whole : next;
    axes_.push_back({extent, axis.loop.dst_step, axis.loop.src_step, step});
    if (inside)
      whole *= axis.part, dst_run *= axis.loop.extent, program_.run_bytes *= extent;
    else
      next *= axis.part;
    inside = inside && !axis.is_split();
  }
  axes_.erase(std::remove_if(axes_.begin(), axes_.end(),
                             [](const Inner& axis) { return axis.extent == 1; }),
              axes_.end());
}

void Builder::list_runs() {
  std::vector<Inner> apart;
  for (const Inner& axis : axes_)
    if (axis.buffer_step >= program_.run_bytes) apart.push_back(axis);
  for_points(apart, &Inner::dst_step, &Inner::buffer_step, [&](int64_t dst, int64_t buffer) {
    program_.runs.push_back({dst, buffer});
  });
}

// Rows continue each other in dst, columns in src; what is left is done again and again.
void Builder::split_sides() {
  int64_t column_count = 1;
  const auto grow_rows = [&] {
    return take(&Inner::buffer_step, row_count_ * word_, rows_, row_count_);
  };
  const auto grow_columns = [&] {
    const int64_t run = column_count * word_;
    if (take(&Inner::src_step, run, columns_, column_count)) return true;
    if (!take(&Inner::src_step, -run, columns_, column_count)) return false;
    Inner& axis = columns_.back();  // walked from its other end
    src_base_ += (axis.extent - 1) * axis.src_step;
    buffer_base_ += (axis.extent - 1) * axis.buffer_step;
    axis.src_step = -axis.src_step;
    axis.buffer_step = -axis.buffer_step;
    return true;
  };
  grow_columns();
  grow_rows();
  while (column_count * word_ < line_bytes && grow_columns()) continue;
  while (row_count_ * word_ < line_bytes && grow_rows()) continue;
  while (grow_columns()) continue;
  while (grow_rows()) continue;
  program_.columns = column_count;
  for_points(columns_, &Inner::src_step, &Inner::buffer_step,
             [&](int64_t, int64_t buffer) { program_.buffer_of_column.push_back(buffer); });
}

void Builder::list_lines() {
  std::vector<Inner> apart = axes_;
  for (const Inner& axis : rows_) apart.push_back(axis);
  int64_t base = src_base_;
  for (Inner& axis : apart)
    if (axis.src_step < 0) {
      base += (axis.extent - 1) * axis.src_step;
      axis.src_step = -axis.src_step;
    }
  std::sort(apart.begin(), apart.end(),
            [](const Inner& a, const Inner& b) { return a.src_step < b.src_step; });
  int64_t run = program_.columns * word_;
  while (!apart.empty() && apart.front().src_step <= run + most_gap) {
    run += (apart.front().extent - 1) * apart.front().src_step;
    apart.erase(apart.begin());
  }
  src_run_ = run;
  for_points(apart, &Inner::src_step, &Inner::buffer_step, [&](int64_t src, int64_t) {
    src_starts_.push_back(base + src);
    for (int64_t at = 0; at < run; at += line_bytes) program_.lines.push_back(base + src + at);
    program_.lines.push_back(base + src + run - 1);
  });
  std::sort(src_starts_.begin(), src_starts_.end());
}

bool Builder::belongs(int64_t src, int64_t bytes) const {
  const auto next = std::upper_bound(src_starts_.begin(), src_starts_.end(), src);
  return next != src_starts_.begin() && src + bytes <= *(next - 1) + src_run_;
}

void Builder::list_panels() {
  std::sort(axes_.begin(), axes_.end(),
            [](const Inner& a, const Inner& b) { return a.src_step < b.src_step; });
  auto& of_row = program_.src_of_row;
  for_points(rows_, &Inner::src_step, &Inner::buffer_step,
             [&](int64_t src, int64_t) { of_row.push_back(src); });
  while (of_row.size() % static_cast<size_t>(unit_) != 0) of_row.push_back(of_row.back());
  for_points(axes_, &Inner::src_step, &Inner::buffer_step, [&](int64_t src, int64_t buffer) {
    for (int64_t row = 0; row < row_count_; row += unit_) {
      const bool reads_on =
          std::all_of(of_row.begin() + row, of_row.begin() + row + unit_,
                      [&](int64_t at) { return belongs(src_base_ + src + at, 16); });
      program_.panels.push_back({src_base_ + src, buffer_base_ + buffer + row * word_,
                                 static_cast<int>(std::min(unit_, row_count_ - row)), row,
                                 reads_on});
    }
  });
}

}  // namespace

bool goes_on(const BlockProgram& program, int64_t dst, const BlockProgram& next, int64_t next_dst) {
  return next_dst == dst + program.run_bytes && (&next == &program || next.runs == program.runs);
}

std::vector<BlockProgram> make_block_programs(const BlockSchedule& schedule) {
  std::vector<size_t> ragged;
  for (size_t i = 0; i < schedule.axes.size(); ++i)
    if (schedule.axes[i].loop.extent % schedule.axes[i].part != 0) ragged.push_back(i);
  std::vector<BlockProgram> programs;
  for (size_t shape = 0; shape < size_t{1} << ragged.size(); ++shape) {
    std::vector<int64_t> extents;
    for (const auto& axis : schedule.axes) extents.push_back(axis.part);
    for (size_t i = 0; i < ragged.size(); ++i)
      if (shape >> i & 1)
        extents[ragged[i]] = schedule.axes[ragged[i]].loop.extent % extents[ragged[i]];
    programs.push_back(Builder(schedule, extents).take());
  }
  return programs;
}

}  // namespace infini::cpu
