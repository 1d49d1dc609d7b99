// Schedules of plans whose innermost part is one long run: copies, fills, flips, slices, weaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/rearrange/runs/kernels.h"
#include "backends/cpu/rearrange/schedule.h"
#include "base/checked.h"

namespace infini::cpu {

// Law: the points of all runs are exactly the plan's points, each once.
struct RunSchedule {
  LineKind kind = LineKind::copy;
  int64_t word = 1, count = 0;  // a run of `count` elements of `word` bytes
  int64_t ways = 1, plane_step = 0;
  int64_t dst_offset = 0, src_offset = 0;
  std::vector<Loop> outer;  // outermost first
  // Walked inside of each piece, outermost first: these runs read the same lines of src.
  std::vector<Loop> near;
  Loop repeat{1, 0, 0};  // the innermost loop, which the kernel walks itself
  int64_t last_repeat =
      0;  // its extent in the last iteration of the innermost outer loop, if that is another
  int64_t outer_count = 1, near_count = 1;
  int64_t piece = 0;  // elements of a run in one task
  bool streamed = false;
  bool joined = false;  // `repeat` walks rows that join in dst, copies by copy_joined()
  int64_t places = 4, ahead = 2048;  // of copies that are streamed, see Line

  // Of a task.
  int64_t repeat_of(int64_t task) const {
    if (last_repeat == 0 || last_repeat == repeat.extent) return repeat.extent;
    const int64_t parts = outer.back().extent;  // and no pieces
    return task % parts == parts - 1 ? last_repeat : repeat.extent;
  }
  int64_t pieces() const { return ceil_div(count, piece); }
  int64_t tasks() const { return outer_count * pieces(); }
};

// Null when the plan has no such run.
std::optional<RunSchedule> make_run_schedule(const RearrangePlan& plan, const Policy& policy);

const char* kind_name(LineKind kind);
// How long it takes.
double runs_ns(const RunSchedule& schedule, const RearrangePlan& plan, const Setting& setting);

std::unique_ptr<RearrangeKernel> make_runs(RunSchedule schedule, const RearrangePlan& plan,
                                           const Policy& policy);

std::string to_string(const RunSchedule& schedule);

}  // namespace infini::cpu
