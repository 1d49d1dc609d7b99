// with infini.record() as graph: ...   then graph.run(), as often as wanted.
#include "tensors/graph.h"

#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"

namespace infini::python {
namespace {

namespace context = infinicore::context;
using infinicore::graph::Graph;

// Whose current stream the work on a device belongs to.
struct Lane {
  infinicore::Device device;
  const Framework* framework;
};

using TorchMemories = std::vector<std::shared_ptr<TorchMemory>>;

struct PyGraph {
  std::shared_ptr<Graph> graph;  // null until the recording ends
  // One run or rebinding at a time. Whoever waits for it has let go of the GIL.
  std::unique_ptr<std::recursive_mutex> busy = std::make_unique<std::recursive_mutex>();
  std::vector<Lane> lanes;
  // PyTorch's memory under the recorded tensors, and the rebound ones.
  std::unordered_map<const infinicore::Memory*, std::shared_ptr<TorchMemory>> foreign;
  TorchMemories used, written;  // of it, each once
  // While recording: the tensor objects, each with the memory that it had.
  std::unordered_map<PyObject*, std::pair<nb::object, std::shared_ptr<TorchMemory>>> objects;

  const std::shared_ptr<Graph>& ready() const {
    if (!graph) fail_value("the graph is still being recorded, or its recording failed");
    return graph;
  }
  // Once, when the graph is made or has got another tensor.
  void sort_foreign() {
    std::set<std::shared_ptr<TorchMemory>> all, changed;
    const auto uses = foreign.empty() ? decltype(graph->memories())() : graph->memories();
    std::erase_if(foreign, [&](const auto& one) { return uses.count(one.first) == 0; });
    for (const auto& [memory, torch] : foreign) {
      all.insert(torch);
      if (uses.at(memory) == infinicore::graph::Use::writes) changed.insert(torch);
    }
    used.assign(all.begin(), all.end());
    written.assign(changed.begin(), changed.end());
  }
};

thread_local PyObject* recorded = nullptr;  // owned: the graph that this thread records

struct Recording {
  nb::object graph;

  Recording() = default;
  Recording(Recording&&) = default;
  // Thrown away without __exit__: what it recorded can no longer be had.
  ~Recording() {
    if (!graph || recorded != graph.ptr()) return;
    Py_CLEAR(recorded);
    context::cancelGraphRecording();
  }
};

PyGraph* recorded_graph() { return nb::inst_ptr<PyGraph>(nb::handle(recorded)); }

nb::object enter(Recording& self) {
  if (self.graph) fail_value("a recording can be entered once");
  nb::object graph = nb::cast(PyGraph{});
  context::startGraphRecording();
  self.graph = std::move(graph);
  recorded = self.graph.inc_ref().ptr();
  return self.graph;
}

void leave(Recording& self, nb::handle type, nb::handle, nb::handle) {
  if (recorded != self.graph.ptr())
    fail_value("the recording belongs to another thread, or has ended");
  Py_CLEAR(recorded);
  if (!type.is_none()) return context::cancelGraphRecording();
  PyGraph& made = *nb::inst_ptr<PyGraph>(self.graph);
  made.objects.clear();
  made.graph = context::stopGraphRecording();
  made.sort_foreign();
}

void run(const PyGraph& self) {
  const Graph& graph = *self.ready();
  for (const auto& torch : self.used) torch->require_there();
  struct Scope {
    Call call;
    StreamScope stream;
    explicit Scope(Call wanted) : call(wanted), stream(call) {}
  };
  std::vector<std::unique_ptr<Scope>> scopes;
  for (const Lane& lane : self.lanes) {
    Call call;
    call.device = lane.device;
    call.stream =
        current_stream(*lane.framework, lane.device).value_or(context::getStream(lane.device));
    call.has_own = true;
    scopes.push_back(std::make_unique<Scope>(call));
  }
  {
    const Unlocked unlocked(true);
    const std::lock_guard alone(*self.busy);
    graph.run();
  }
  std::vector<nb::handle> written;
  for (const auto& torch : self.written) written.push_back(torch->alias());
  raise_versions(written);
}

std::string text(const PyGraph& self) {
  if (!self.graph) return "<infini.Graph without a finished recording>";
  const size_t count = self.graph->size();
  return "<infini.Graph of " + std::to_string(count) + (count == 1 ? " operator>" : " operators>");
}

void refuse_to_pickle(nb::handle) {
  fail_type("a graph cannot be copied or pickled: it is bound to its arrays");
}

std::unique_lock<std::recursive_mutex> alone(const PyGraph& self) {
  const Unlocked unlocked(true);
  return std::unique_lock(*self.busy);
}

void rebind(PyGraph& self, const PyTensor& from, const PyTensor& to) {
  Graph& graph = *self.ready();
  const auto lock = alone(self);
  require_there(to.tensor);
  if (!to.writable && graph.use_of(from.tensor) == infinicore::graph::Use::writes)
    fail_value("to is read-only, and the graph writes to from (", from.tensor->info(), ")");
  graph.rebind(from.tensor, to.tensor);
  if (auto torch = torch_memory_of(to.tensor))
    self.foreign[to.tensor->memory().get()] = std::move(torch);
  self.sort_foreign();
}

}  // namespace

void note_recorded(const Call& call) {
  if (!recorded || !call.device) return;
  auto& lanes = recorded_graph()->lanes;
  for (const Lane& lane : lanes)
    if (lane.device == *call.device) return;
  lanes.push_back({*call.device, call.framework});
}

infinicore::Tensor noted(infinicore::Tensor tensor) {
  if (!recorded) return tensor;
  if (auto torch = torch_memory_of(tensor))
    recorded_graph()->foreign[tensor->memory().get()] = std::move(torch);
  return tensor;
}

std::shared_ptr<TorchMemory> recorded_memory(const Array& array) {
  if (!recorded) return std::make_shared<TorchMemory>(array);
  auto& [object, torch] = recorded_graph()->objects[array.object.ptr()];
  if (!torch || !torch->lies_at(array.data)) torch = std::make_shared<TorchMemory>(array);
  object = nb::borrow(array.object);
  return torch;
}

void bind_graph(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PyGraph>(module, "Graph",
                      "Recorded work: run() repeats it for what its inputs hold then.")
      .def("run", &run,
           "Repeats the recorded work; on an accelerator it may return before that is done.")
      .def(
          "describe",
          [](const PyGraph& self) {
            const auto lock = alone(self);
            return nb::str(self.ready()->describe().c_str());
          },
          "What runs how, one operator per line.")
      .def("rebind", &rebind, "from_"_a, "to"_a,
           "From now on uses the tensor `to` wherever the graph uses `from_` or a view of it.")
      .def("__len__", [](const PyGraph& self) { return self.ready()->size(); })
      .def("__bool__", [](const PyGraph&) { return true; })
      .def("__repr__", &text)
      .def("__reduce__", &refuse_to_pickle);
  nb::class_<Recording>(module, "Recording", "What infini.record() returns, for a with statement.")
      .def("__enter__", &enter)
      .def("__exit__", &leave, "type"_a.none(), "value"_a.none(), "traceback"_a.none());
  module.def(
      "record", [] { return Recording{}; },
      "`with infini.record() as graph:` records this thread's work instead of running it.");
}

}  // namespace infini::python
