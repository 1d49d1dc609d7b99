// Programs: grouping steps into segments, sharing workspaces, running.
#include "tensor/graph/program.h"

#include <algorithm>

#include "tensor/thread_state.h"

namespace infinicore::detail {

Program::Program(std::vector<PlannedStep> planned) : planned_(std::move(planned)) {
  for (const PlannedStep& step : planned_) add(step);
  share_workspaces();
  collect_memories();
}

// Steps at one place that can be captured stand in one segment, and so do those that cannot; an
// operator of the client's own stands alone.
void Program::add(const PlannedStep& planned) {
  if (planned.dropped) return;
  if (planned.step == nullptr) {
    segments_.emplace_back(*planned.op);
    return;
  }
  const bool joins = !segments_.empty() && segments_.back().accepts(*planned.step);
  if (!joins) segments_.emplace_back(*planned.step);
  segments_.back().add(*planned.step);
  steps_.push_back(planned.step);
}

// Steps of one lane run one after another, and so do segments: one workspace per place and lane
// serves them all.
void Program::share_workspaces() {
  std::vector<size_t> lanes;  // of all steps, in their order
  for (const Segment& segment : segments_)
    for (const size_t lane : segment.lanes()) lanes.push_back(lane);
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& step = *steps_[i];
    if (step.workspace_bytes() == 0) continue;
    auto shared = std::find_if(workspaces_.begin(), workspaces_.end(), [&](const Workspace& one) {
      return one.place == &step.place() && one.lane == lanes[i];
    });
    if (shared == workspaces_.end())
      shared = workspaces_.insert(shared, {&step.place(), lanes[i], 0, {}, nullptr});
    shared->bytes = std::max(shared->bytes, step.workspace_bytes());
    shared->steps.push_back(&step);
  }
  for (Workspace& one : workspaces_) one.memory = allocate(*one.place, one.bytes);
}

void Program::collect_memories() {
  for (const Workspace& workspace : workspaces_) memories_.push_back(workspace.memory);
  for (const Step* step : steps_)
    for (const Tensor& tensor : step->operands()) memories_.push_back(tensor->memory());
  std::sort(memories_.begin(), memories_.end());
  memories_.erase(std::unique(memories_.begin(), memories_.end()), memories_.end());
}

void Program::take_over() noexcept {
  for (const Workspace& workspace : workspaces_)
    for (Step* step : workspace.steps) step->set_workspace(workspace.memory);
}

void Program::prepare() {
  for (Segment& segment : segments_) segment.prepare();
}

void Program::run() {
  const ThreadState& thread = this_thread();
  for (Segment& segment : segments_) {
    if (segment.place() == nullptr) {
      segment.run(nullptr);
      continue;
    }
    void* stream = thread.stream(*segment.place());
    if (segment.marked_stream != stream) {
      for (const auto& memory : memories_)
        if (&memory->place() == segment.place()) memory->used_on(stream);
      segment.marked_stream = stream;
    }
    segment.run(stream);
  }
}

std::string Program::describe() const {
  std::string text = counted(segments_.size(), "segment") + "\n";
  for (const Segment& segment : segments_) text += segment.describe();
  std::string dropped;
  for (const PlannedStep& planned : planned_)
    if (planned.dropped) dropped += "  " + planned.op->describe() + "\n";
  if (!dropped.empty()) text += "not run, since nobody reads these copies any more:\n" + dropped;
  return text;
}

}  // namespace infinicore::detail
