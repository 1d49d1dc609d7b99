// with infini.record() as graph: ...   then graph.run(), as often as wanted.
#include "graph.h"

#include <string>
#include <vector>

#include "errors.h"
#include "stream.h"

namespace infini::python {
namespace {

namespace context = infinicore::context;
using infinicore::graph::Graph;

// Whose current stream the work on a device belongs to.
struct Lane {
  infinicore::Device device;
  const Framework* framework;
};

struct PyGraph {
  std::shared_ptr<Graph> graph;  // null until the recording ends
  std::vector<Lane> lanes;

  const std::shared_ptr<Graph>& ready() const {
    if (!graph) fail_value("the graph is still being recorded, or its recording failed");
    return graph;
  }
};

struct Recording {
  nb::object graph;
};

thread_local PyObject* recorded = nullptr;  // owned: the graph that this thread records

nb::object enter(Recording& self) {
  if (self.graph) fail_value("a recording can be entered once");
  context::startGraphRecording();
  self.graph = nb::cast(PyGraph{});
  recorded = self.graph.inc_ref().ptr();
  return self.graph;
}

void leave(Recording& self, nb::handle type, nb::handle, nb::handle) {
  if (recorded != self.graph.ptr())
    fail_value("the recording belongs to another thread, or has ended");
  Py_CLEAR(recorded);
  if (!type.is_none()) return context::cancelGraphRecording();
  nb::inst_ptr<PyGraph>(self.graph)->graph = context::stopGraphRecording();
}

void run(const PyGraph& self) {
  const Graph& graph = *self.ready();
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
  const Unlocked unlocked(true);
  graph.run();
}

void rebind(const PyGraph& self, const PyTensor& from, const PyTensor& to) {
  self.ready()->rebind(from.tensor, to.tensor);
}

}  // namespace

void note_recorded(const Call& call) {
  if (!recorded || !call.device) return;
  auto& lanes = nb::inst_ptr<PyGraph>(nb::handle(recorded))->lanes;
  for (const Lane& lane : lanes)
    if (lane.device == *call.device) return;
  lanes.push_back({*call.device, call.framework});
}

void bind_graph(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<PyGraph>(module, "Graph",
                      "Recorded work: run() repeats it for what its inputs hold then.")
      .def("run", &run,
           "Repeats the recorded work; on an accelerator it may return before that is done.")
      .def(
          "describe", [](const PyGraph& self) { return nb::str(self.ready()->describe().c_str()); },
          "What runs how, one operator per line.")
      .def("rebind", &rebind, "from_"_a, "to"_a,
           "From now on uses the tensor `to` wherever the graph uses `from_` or a view of it.")
      .def("__len__", [](const PyGraph& self) { return self.ready()->size(); });
  nb::class_<Recording>(module, "Recording", "What infini.record() returns, for a with statement.")
      .def("__enter__", &enter)
      .def("__exit__", &leave, "type"_a.none(), "value"_a.none(), "traceback"_a.none());
  module.def(
      "record", [] { return Recording{}; },
      "`with infini.record() as graph:` records this thread's work instead of running it.");
}

}  // namespace infini::python
