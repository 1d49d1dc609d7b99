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

// The steps run one after another, so one workspace per place serves them all.
void Graph::Impl::share_workspaces() {
  std::vector<std::pair<infini::Place*, size_t>> needs;
  for (const Step* step : steps()) {
    auto need = std::find_if(needs.begin(), needs.end(),
                             [&](const auto& entry) { return entry.first == &step->place(); });
    if (need == needs.end()) need = needs.insert(needs.end(), {&step->place(), 0});
    need->second = std::max(need->second, step->workspace_bytes());
  }
  for (const auto& [place, bytes] : needs) {
    if (bytes == 0) continue;
    workspaces.push_back(allocate(*place, bytes));
    for (Step* step : steps())
      if (&step->place() == place && step->workspace_bytes() > 0)
        step->set_workspace(workspaces.back());
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
