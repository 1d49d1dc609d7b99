// The extension module infini._core.
#include "array.h"
#include "errors.h"
#include "functions.h"
#include "graph.h"
#include "names.h"
#include "stream.h"
#include "tensor.h"

namespace infini::python {
namespace {

namespace context = infinicore::context;
using infinicore::Device;

nb::list devices() {
  nb::list names;
  for (int i = 0; i < static_cast<int>(Device::Type::COUNT); ++i) {
    const auto type = static_cast<Device::Type>(i);
    const size_t count = context::getDeviceCount(type);
    for (size_t index = 0; index < count; ++index)
      names.append(Device(type, index).toString().c_str());
  }
  return names;
}

void synchronize(nb::handle device) {
  const CurrentDevice current(parse_device(device));
  const Unlocked unlocked(true);
  context::syncDevice();
}

void require_success(infiniStatus_t status) {
  if (status != INFINI_STATUS_SUCCESS) throw infinicore::Error(status, infiniGetLastErrorString());
}

int num_threads() {
  int count = 0;
  require_success(infiniGetNumThreads(&count));
  return count;
}

void bind_devices(nb::module_& module) {
  using namespace nb::literals;
  module.def("devices", &devices,
             "The names of all devices that can be used here, e.g. [\"cpu:0\", \"nvidia:0\"].");
  module.def("synchronize", &synchronize, "device"_a,
             "Waits until the device has done all its work.");
  module.def("num_threads", &num_threads, "How many threads one operator may use on the CPU.");
  module.def(
      "set_num_threads", [](int count) { require_success(infiniSetNumThreads(count)); }, "count"_a,
      "1 to 1024; 0 goes back to the default. Results do not depend on it.");
  module.def(
      "trim_memory", [] { return context::trimMemory(); },
      "Gives the idle memory of infini's pools back to the system and the devices; returns the "
      "bytes.");
  module.attr("__version__") = infiniVersionString();
}

}  // namespace
}  // namespace infini::python

NB_MODULE(_core, module) {
  using namespace infini::python;
  nb::set_leak_warnings(false);  // at exit modules may hold arrays that outlive the interpreter
  bind_errors(module);
  bind_tensor(module);
  bind_functions(module);
  bind_graph(module);
  bind_devices(module);
}
