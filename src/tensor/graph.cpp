// Graphs: grouping recorded operators into segments, replaying and describing them.
#include "infinicore/graph/graph.hpp"

#include <algorithm>

#include "tensor/graph_impl.h"
#include "tensor/rebind.h"

namespace infinicore::graph {

using namespace detail;

GraphOperator::~GraphOperator() = default;
std::string GraphOperator::describe() const { return "an operator of the client's own"; }

Graph::Graph(std::unique_ptr<Recording> recording)
    : impl_(std::make_unique<Impl>(std::move(recording->operators))) {}
Graph::~Graph() = default;

std::size_t Graph::size() const { return impl_->operators.size(); }
void Graph::run() const { impl_->run(); }
std::string Graph::describe() const { return impl_->describe(); }

void Graph::rebind(const Tensor& from, const Tensor& to) { rebind({{from, to}}); }

void Graph::rebind(const std::vector<std::pair<Tensor, Tensor>>& changes) {
  detail::rebind(impl_->steps(), changes);
  impl_->tensors_changed();
}

Graph::Impl::Impl(std::vector<std::shared_ptr<GraphOperator>> recorded)
    : operators(std::move(recorded)) {
  for (const auto& op : operators) add(*op);
  share_workspaces();
  collect_memories();
  for (Segment& segment : segments) segment.prepare();
}

// Steps at one place that can be captured stand in one segment, and so do those that cannot; an
// operator of the client's own stands alone.
void Graph::Impl::add(const GraphOperator& op) {
  Step* step = op.step();
  if (step == nullptr) {
    segments.emplace_back(op);
    return;
  }
  const bool joins = !segments.empty() && segments.back().accepts(*step);
  if (!joins) segments.emplace_back(*step);
  segments.back().add(*step);
}

std::vector<Step*> Graph::Impl::steps() const {
  std::vector<Step*> all;
  for (const auto& op : operators)
    if (Step* step = op->step()) all.push_back(step);
  return all;
}

// Steps of one lane run one after another, and so do segments: one workspace per place and lane
// serves them all.
void Graph::Impl::share_workspaces() {
  struct Need {
    infini::Place* place;
    size_t lane, bytes;
    std::vector<Step*> steps;
  };
  std::vector<Need> needs;
  std::vector<size_t> lanes;  // of all steps, in their order
  for (const Segment& segment : segments)
    for (const size_t lane : segment.lanes()) lanes.push_back(lane);
  for (size_t i = 0; Step* step : steps()) {
    const size_t lane = lanes[i++];
    if (step->workspace_bytes() == 0) continue;
    auto need = std::find_if(needs.begin(), needs.end(), [&](const Need& other) {
      return other.place == &step->place() && other.lane == lane;
    });
    if (need == needs.end()) need = needs.insert(needs.end(), {&step->place(), lane, 0, {}});
    need->bytes = std::max(need->bytes, step->workspace_bytes());
    need->steps.push_back(step);
  }
  for (const Need& need : needs) {
    workspaces.push_back(allocate(*need.place, need.bytes));
    for (Step* step : need.steps) step->set_workspace(workspaces.back());
  }
}

void Graph::Impl::collect_memories() {
  memories = workspaces;
  for (const Step* step : steps())
    for (const Tensor& tensor : step->operands()) memories.push_back(tensor->memory());
  std::sort(memories.begin(), memories.end());
  memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
}

void Graph::Impl::tensors_changed() {
  collect_memories();
  for (Segment& segment : segments) segment.forget_capture();
}

void Graph::Impl::run() {
  ThreadState& thread = this_thread();
  infini::require(!thread.recording, INFINI_STATUS_BAD_PARAM,
                  "this thread is recording; a graph cannot be run inside a recording");
  for (Segment& segment : segments) {
    if (segment.place() == nullptr) {
      segment.run(nullptr);
      continue;
    }
    void* stream = thread.stream(*segment.place());
    if (segment.marked_stream != stream) {
      for (const auto& memory : memories)
        if (&memory->place() == segment.place()) memory->used_on(stream);
      segment.marked_stream = stream;
    }
    segment.run(stream);
  }
}

std::string Graph::Impl::describe() const {
  std::string text = "graph of " + counted(operators.size(), "operator") + " in " +
                     counted(segments.size(), "segment") + "\n";
  for (const Segment& segment : segments) text += segment.describe();
  return text;
}

}  // namespace infinicore::graph

namespace infinicore::context {

using detail::this_thread;
using infini::require;

bool isGraphRecording() { return this_thread().recording != nullptr; }

void startGraphRecording() {
  require(!isGraphRecording(), INFINI_STATUS_BAD_PARAM,
          "this thread is recording already; stop or cancel that recording first");
  this_thread().recording = std::make_unique<detail::Recording>();
}

void addGraphOperator(std::shared_ptr<graph::GraphOperator> op) {
  require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
  require(op != nullptr, INFINI_STATUS_NULL_POINTER, "op is NULL");
  this_thread().recording->operators.push_back(std::move(op));
}

std::shared_ptr<graph::Graph> stopGraphRecording() {
  require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
  return std::make_shared<graph::Graph>(std::move(this_thread().recording));
}

void cancelGraphRecording() {
  require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
  this_thread().recording.reset();
}

}  // namespace infinicore::context
