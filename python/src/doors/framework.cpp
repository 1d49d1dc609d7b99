// What an array type is: whose family, and which door is the cheapest.
#include <mutex>
#include <unordered_map>

#include "array.h"
#include "errors.h"
#include "torch.h"

namespace infini::python {
namespace {

using Door = Framework::Door;
using Family = Framework::Family;

std::string text_attribute(nb::handle object, const char* name) {
  const nb::object text = nb::getattr(object, name, nb::none());
  return nb::isinstance<nb::str>(text) ? nb::cast<std::string>(text) : std::string();
}

// Subclasses belong to the family of the first known class that they derive from.
Family family_of(nb::handle type) {
  for (nb::handle base : nb::borrow<nb::tuple>(type.attr("__mro__"))) {
    const std::string module = text_attribute(base, "__module__");
    const std::string top = module.substr(0, module.find('.'));
    if (top == "numpy") return Family::numpy;
    if (top == "torch") return Family::torch;
    if (top == "cupy") return Family::cupy;
    if (top == "jax" || top == "jaxlib") return Family::jax;
  }
  return Family::other;
}

bool derives_from(nb::handle type, const char* module, const char* name) {
  for (nb::handle base : nb::borrow<nb::tuple>(type.attr("__mro__")))
    if (text_attribute(base, "__name__") == name &&
        text_attribute(base, "__module__").starts_with(module))
      return true;
  return false;
}

const dlpack::ExchangeApi* exchange_api(nb::handle type) {
  nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (api && api->version.major > dlpack::version.major) api = api->older;
  return api && api->version.major == dlpack::version.major && api->borrow ? api : nullptr;
}

Framework examine(nb::handle object, const char* name) {
  const nb::handle type = object.type();
  const auto through = [&](Family family, Door door, const dlpack::ExchangeApi* api = nullptr) {
    return Framework{nb::borrow(type), family, door, api, derives_from(type, "numpy", "ndarray")};
  };
  if (nb::isinstance<PyTensor>(object)) return through(Family::own, Door::tensor);
  const Family family = family_of(type);
  // A copy would bring the elements under the mask back.
  if (derives_from(type, "numpy.ma", "MaskedArray"))
    fail_type(name, " is a masked array, whose mask would be lost: use its data, or filled()");
  if (family == Family::torch) require_plain_torch_type(type, name);
  if (nb::hasattr(type, "__array_struct__")) return through(family, Door::array_struct);
  if (const auto* api = exchange_api(type)) return through(family, Door::exchange, api);
  if (nb::hasattr(type, "__dlpack__")) return through(family, Door::dlpack);
  if (nb::hasattr(object, "__array_interface__")) return through(family, Door::array_interface);
  if (PyObject_CheckBuffer(object.ptr())) return through(family, Door::buffer);
  fail_type(name, " is a ", class_name(object),
            ", not an array: it has neither DLPack nor the buffer protocol");
}

// Outlives the interpreter. Types stay known, and therefore alive.
auto& known() {
  static auto& types = *new std::unordered_map<PyObject*, std::unique_ptr<Framework>>;
  return types;
}
std::mutex learning;  // held while no Python runs

const Framework* find(PyObject* type) {
  const std::lock_guard lock(learning);
  const auto found = known().find(type);
  return found == known().end() ? nullptr : found->second.get();
}

}  // namespace

const Framework& framework_of(nb::handle object, const char* name) {
  thread_local const Framework* last = nullptr;
  if (last && last->type.is(object.type())) return *last;
  PyObject* const type = object.type().ptr();
  if (const Framework* found = find(type)) return *(last = found);
  auto made = std::make_unique<Framework>(examine(object, name));
  const std::lock_guard lock(learning);
  auto& entry = known()[type];  // another thread may have been faster
  if (!entry) entry = std::move(made);
  return *(last = entry.get());
}

bool is_array(nb::handle object) try {
  framework_of(object, "");
  return true;
} catch (const infinicore::Error&) {
  return false;
}

}  // namespace infini::python
