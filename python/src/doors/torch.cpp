// PyTorch's tensors: what is refused, how their storage is kept, who is told of writes.
#include "torch.h"

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "errors.h"

namespace infini::python {
namespace {

using Family = Framework::Family;

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

nb::object call_method(nb::handle object, PyObject* name) {
  nb::object answer = nb::steal(PyObject_CallMethodObjArgs(object.ptr(), name, nullptr));
  if (!answer) nb::raise_python_error();
  return answer;
}

// Whether object.name() is true.
bool says(nb::handle object, PyObject* name) { return call_method(object, name).is(Py_True); }

void* address_of(nb::handle tensor, const dlpack::ExchangeApi* api) {
  static PyObject* const data_ptr = interned("data_ptr");
  if (api == nullptr)
    return reinterpret_cast<void*>(nb::cast<uintptr_t>(call_method(tensor, data_ptr)));
  dlpack::Tensor face;
  if (api->borrow(tensor.ptr(), &face) != 0) nb::raise_python_error();
  return face.data ? static_cast<char*>(face.data) + face.byte_offset : nullptr;
}

// PyTorch does not resize a storage that NumPy has seen.
nb::object pin(nb::handle tensor) try {
  using namespace nb::literals;
  const nb::module_ torch = nb::module_::import_("torch");
  const nb::object bytes =
      torch.attr("empty")(0, "dtype"_a = torch.attr("uint8"), "device"_a = "cpu");
  return bytes.attr("set_")(tensor.attr("untyped_storage")()).attr("numpy")();
} catch (nb::python_error&) {
  return nb::none();  // no NumPy
}

auto& known_memory() {  // outlives the interpreter
  static auto& known =
      *new std::unordered_map<const infinicore::Memory*, std::shared_ptr<TorchMemory>>;
  return known;
}
std::mutex knowing;  // of that; held while no Python runs
std::atomic<size_t> known_count = 0;

// Takes any number of tensors. PyTorch's own costs half of what its public name does; older ones take a single tensor, and
// those before 2.1 there are none of.
PyObject* find_increment() {
  const nb::module_ torch = nb::module_::import_("torch");
  const nb::object direct = nb::getattr(torch.attr("_C"), "_increment_version", nb::none());
  try {
    if (!direct.is_none()) direct(nb::make_tuple());
    if (!direct.is_none()) return nb::object(direct).release().ptr();
  } catch (nb::python_error&) {
  }
  return nb::object(nb::module_::import_("infini._versions").attr("increment")).release().ptr();
}

}  // namespace

void require_plain_torch_type(nb::handle type, const char* name) {
  const char* attribute = "__torch_dispatch__";
  const nb::object plain = nb::getattr(nb::module_::import_("torch").attr("Tensor"), attribute,
                                       nb::none()),
                   own = nb::getattr(type, attribute, nb::none());
  if (!own.is(plain))
    fail_type(name, " is a ", nb::cast<std::string>(nb::str(type.attr("__qualname__"))),
              ", a PyTorch tensor that computes its elements (", attribute,
              "): they do not lie in memory");
}

void require_plain_torch(const Array& array, const char* name) {
  static PyObject *const requires_grad = interned("requires_grad"),
                         *const is_grad_enabled = interned("is_grad_enabled"),
                         *const is_conj = interned("is_conj"), *const is_neg = interned("is_neg");
  const nb::object wanted = nb::steal(PyObject_GetAttr(array.object.ptr(), requires_grad));
  if (!wanted) nb::raise_python_error();
  if (wanted.ptr() == Py_True && says(nb::module_::import_("torch"), is_grad_enabled))
    fail_value(
        name,
        " requires a gradient, which infini does not compute: use detach() or torch.no_grad()");
  const bool is_complex = array.element.code == dlpack::complex,
             is_real = array.element.code == dlpack::floating;
  if ((is_complex && says(array.object, is_conj)) ||
      ((is_complex || is_real) && says(array.object, is_neg)))
    fail_value(name,
               " is a conjugated or negated view, whose elements do not exist yet: use "
               "resolve_conj() or resolve_neg()");
}

TorchMemory::TorchMemory(const Array& array) : api_(array.framework->api) {
  static PyObject* const detach = interned("detach");
  alias_ = call_method(array.object, detach);
  data_ = address_of(alias_, api_);
  if (array.count() > 0 && data_ != array.data)
    fail_value("a ", class_name(array.object),
               " has its elements in another place than PyTorch says");
  if (array.device == infinicore::Device::cpu()) pin_ = pin(alias_);
}

void TorchMemory::require_there() const {
  if (address_of(alias_, api_) != data_)
    fail_value("the memory of a PyTorch tensor is gone: PyTorch has moved or resized the storage");
}

void remember(const infinicore::Memory* memory, std::shared_ptr<TorchMemory> torch) {
  const std::lock_guard lock(knowing);
  std::swap(known_memory()[memory], torch);
  known_count = known_memory().size();
}

void forget(const infinicore::Memory* memory) {
  std::shared_ptr<TorchMemory> last;  // may run Python when it goes
  const std::lock_guard lock(knowing);
  const auto found = known_memory().find(memory);
  if (found == known_memory().end()) return;
  last = std::move(found->second);
  known_memory().erase(found);
  known_count = known_memory().size();
}

std::shared_ptr<TorchMemory> torch_memory_of(const infinicore::Tensor& tensor) {
  if (known_count == 0) return nullptr;
  const std::lock_guard lock(knowing);
  const auto& known = known_memory();
  const auto found = known.find(tensor->memory().get());
  return found == known.end() ? nullptr : found->second;
}

void require_there(const infinicore::Tensor& tensor) {
  if (const auto torch = torch_memory_of(tensor)) torch->require_there();
}

void raise_versions(const std::vector<nb::handle>& tensors) {
  if (tensors.empty()) return;
  static PyObject* const increment = find_increment();
  const nb::object all = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  if (!all) nb::raise_python_error();
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SetItem(all.ptr(), static_cast<Py_ssize_t>(i), tensors[i].inc_ref().ptr());
  if (!nb::steal(PyObject_CallFunctionObjArgs(increment, all.ptr(), nullptr)))
    nb::raise_python_error();
}

void note_written(const Array& array) {
  const bool is_torch = array.framework && array.framework->family == Family::torch;
  const auto torch = array.own ? torch_memory_of(array.own) : nullptr;
  if ((!is_torch && !torch) || infinicore::context::isGraphRecording()) return;
  raise_versions({is_torch ? array.object : torch->alias()});
}

}  // namespace infini::python
