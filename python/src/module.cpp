// The extension module infini._core.
#include "arrays/functions.h"
#include "arrays/pattern_meaning.h"
#include "doors/array.h"
#include "doors/stream.h"
#include "errors.h"
#include "names.h"
#include "reshard.h"
#include "tensors/graph.h"
#include "tensors/tensor.h"
#include "xla/handlers.h"

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

// What nanobind would run for each import.
int (*bind_all)(PyObject*) = nullptr;

// The exceptions, types and caches of the extension are one set for the process. They belong to the
// main interpreter; an import after the module was thrown out of sys.modules gets the same ones.
int execute(PyObject* module) {
  static PyObject* first = nullptr;
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "infini works in the main interpreter only");
    return -1;
  }
  if (first) return PyDict_Merge(PyModule_GetDict(module), PyModule_GetDict(first), 0);
  if (bind_all(module) != 0) return -1;
  Py_INCREF(module);
  first = module;
  return 0;
}

}  // namespace
}  // namespace infini::python

NB_MODULE(bindings, module) {
  using namespace infini::python;
  nb::set_leak_warnings(false);  // at exit modules may hold arrays that outlive the interpreter
  bind_errors(module);
  bind_tensor(module);
  bind_functions(module);
  bind_pages(module);
  bind_converting(module);
  bind_files(module);
  bind_patterns(module);
  bind_pattern_meaning(module);
  bind_reshard(module);
  bind_operators(module);
  bind_graph(module);
  bind_xla(module);
  bind_devices(module);
}

// nanobind's module, with `execute` before its own.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  using namespace infini::python;
  PyObject* made = PyInit_bindings();
  if (made == nullptr || bind_all != nullptr) return made;
  for (auto* slot = reinterpret_cast<PyModuleDef*>(made)->m_slots; slot->slot != 0; ++slot) {
    if (slot->slot != Py_mod_exec) continue;
    bind_all = reinterpret_cast<int (*)(PyObject*)>(slot->value);
    slot->value = reinterpret_cast<void*>(execute);
  }
  return made;
}
