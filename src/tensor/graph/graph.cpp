// Graphs: recording operators, making programs of them, giving them other tensors.
#include "infinicore/graph/graph.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "tensor/edge.h"
#include "tensor/graph/graph_impl.h"
#include "tensor/graph/rebind.h"
#include "tensor/thread_state.h"

namespace infinicore::graph {

using namespace detail;

GraphOperator::~GraphOperator() = default;
std::string GraphOperator::describe() const { return "an operator of the client's own"; }

DispatchableGraphOperator::~DispatchableGraphOperator() {
  try {
    if (planned_meta_ != nullptr && deleter_ != nullptr) deleter_(&planned_meta_);
  } catch (...) {  // the client's own; a destructor has nobody to tell
  }
}
void DispatchableGraphOperator::run() const { runner_(planned_meta_); }
void DispatchableGraphOperator::fail_unregistered(Device::Type type) {
  infini::fail(INFINI_STATUS_NOT_IMPLEMENTED,
               "no plan or run function of this operator is registered for ",
               Device::toString(type));
}

Graph::Graph() : impl_(at_edge([] { return std::make_unique<Impl>(Operators{}); })) {}
Graph::Graph(std::unique_ptr<Recording> recording)
    : impl_(at_edge([&] { return std::make_unique<Impl>(std::move(recording->operators)); })) {}
Graph::~Graph() = default;

std::size_t Graph::size() const { return impl_->operators.size(); }
void Graph::run() const {
  return at_edge([&] { impl_->run(); });
}
std::string Graph::describe() const {
  return at_edge([&] { return impl_->describe(); });
}
Use Graph::use_of(const Tensor& tensor) const {
  return at_edge([&] { return impl_->use_of(tensor); });
}
std::map<const Memory*, Use> Graph::memories() const {
  return at_edge([&] { return impl_->memories(); });
}

void Graph::rebind(const Tensor& from, const Tensor& to) {
  return at_edge([&] { rebind({{from, to}}); });
}

void Graph::rebind(const std::vector<std::pair<Tensor, Tensor>>& changes) {
  return at_edge([&] { impl_->rebind(changes); });
}

Graph::Impl::Impl(Operators recorded) : operators(std::move(recorded)) {
  read_through = infini::environment_flag("INFINI_READ_THROUGH", true);
  if (read_through) hidden = hidden_memories(operators);
  make_program();
  program->prepare();
}

// What may be read through and what runs side by side is found anew from where the tensors lie now.
void Graph::Impl::make_program() {
  auto made = std::make_unique<Program>(read_through ? read_through_copies(operators, hidden)
                                                     : take_as_recorded(operators));
  made->take_over();
  program = std::move(made);
}

void Graph::Impl::rebind(const std::vector<std::pair<Tensor, Tensor>>& changes) {
  std::vector<Step*> steps;
  for (const auto& op : operators)
    if (Step* step = op->step()) steps.push_back(step);
  auto before = detail::rebind(steps, changes);
  try {
    make_program();
  } catch (...) {
    for (size_t i = steps.size(); i-- > 0;) steps[i]->swap_operands(before[i]);
    throw;
  }
}

void Graph::Impl::run() {
  infini::require(!this_thread().recording, INFINI_STATUS_BAD_PARAM,
                  "this thread is recording; a graph cannot be run inside a recording");
  program->run();
}

// As recorded, and rebound since: a copy that does not run may run again after the next rebind.
Use Graph::Impl::use_of(const Tensor& tensor) const {
  const Span span = span_of(TensorAccess::impl(tensor, "tensor"));
  const auto touches = [&](const Tensor& operand) {
    return &operand->memory()->place() == &tensor->memory()->place() &&
           overlap(span, span_of(*operand.operator->()));
  };
  Use use = Use::none;
  for (const auto& op : operators) {
    if (op->step() == nullptr) continue;
    const std::vector<Tensor>& operands = op->step()->operands();
    if (touches(operands[0])) return Use::writes;
    if (std::any_of(operands.begin() + 1, operands.end(), touches)) use = Use::reads;
  }
  return use;
}

std::map<const Memory*, Use> Graph::Impl::memories() const {
  std::map<const Memory*, Use> uses;
  for (const auto& op : operators) {
    if (op->step() == nullptr) continue;
    const std::vector<Tensor>& operands = op->step()->operands();
    for (const Tensor& operand : operands) uses.emplace(operand->memory().get(), Use::reads);
    uses[operands[0]->memory().get()] = Use::writes;
  }
  return uses;
}

std::string Graph::Impl::describe() const {
  return "graph of " + counted(operators.size(), "operator") + " in " + program->describe();
}

}  // namespace infinicore::graph

namespace infinicore::context {

using detail::at_edge;
using detail::this_thread;
using infini::require;

bool isGraphRecording() { return this_thread().recording != nullptr; }

void startGraphRecording() {
  static constinit std::atomic<std::uint64_t> made{0};
  at_edge([] {
    require(!isGraphRecording(), INFINI_STATUS_BAD_PARAM,
            "this thread is recording already; stop or cancel that recording first");
    this_thread().recording.reset(new detail::Recording{++made, {}});
  });
}

void addGraphOperator(std::shared_ptr<graph::GraphOperator> op) {
  at_edge([&] {
    require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
    require(op != nullptr, INFINI_STATUS_NULL_POINTER, "op is NULL");
    this_thread().recording->operators.push_back(std::move(op));
  });
}

std::shared_ptr<graph::Graph> stopGraphRecording() {
  return at_edge([] {
    require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
    auto recording = std::move(this_thread().recording);  // it has ended, whatever comes
    return std::make_shared<graph::Graph>(std::move(recording));
  });
}

void cancelGraphRecording() {
  require(isGraphRecording(), INFINI_STATUS_BAD_PARAM, "this thread is not recording");
  this_thread().recording.reset();
}

GraphRecording::GraphRecording() {
  startGraphRecording();
  number_ = this_thread().recording->number;
}

GraphRecording::~GraphRecording() {
  detail::ThreadState* thread = detail::this_thread_if_any();
  if (thread && thread->recording && thread->recording->number == number_)
    thread->recording.reset();
}

std::shared_ptr<graph::Graph> GraphRecording::stop() {
  require(isGraphRecording() && this_thread().recording->number == number_, INFINI_STATUS_BAD_PARAM,
          "this recording has ended already, or is another thread's");
  return stopGraphRecording();
}

}  // namespace infinicore::context
