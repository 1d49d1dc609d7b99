// Reading arrays, each kind through the cheapest door that it has.
#include "array.h"

#include <cstring>
#include <string>
#include <vector>

#include "errors.h"
#include "names.h"
#include "stream.h"

namespace infini::python {
namespace {

using Door = Framework::Door;
using Family = Framework::Family;

// NumPy's __array_struct__, as its documentation lays it out.
struct ArrayInterface {
  int two, rank;
  char kind;
  int itemsize, flags;
  Py_intptr_t *shape, *strides;
  void* data;
  PyObject* descr;
};
constexpr int not_swapped = 0x200, writeable = 0x400;

Family family_of(nb::handle type) {
  const auto module = nb::cast<std::string>(nb::getattr(type, "__module__", nb::str("")));
  const std::string top = module.substr(0, module.find('.'));
  if (top == "torch") return Family::torch;
  if (top == "cupy") return Family::cupy;
  return top == "jax" || top == "jaxlib" ? Family::jax : Family::other;
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
  if (nb::isinstance<PyTensor>(object)) return {nb::borrow(type), Family::own, Door::tensor};
  if (nb::hasattr(type, "__array_struct__"))
    return {nb::borrow(type), Family::numpy, Door::array_struct};
  const Family family = family_of(type);
  if (const auto* api = exchange_api(type)) return {nb::borrow(type), family, Door::exchange, api};
  if (nb::hasattr(type, "__dlpack__")) return {nb::borrow(type), family, Door::dlpack};
  if (PyObject_CheckBuffer(object.ptr())) return {nb::borrow(type), family, Door::buffer};
  fail_type(name, " is a ", class_name(object),
            ", not an array: it has neither DLPack nor the buffer protocol");
}

void set_rank(Array& array, int64_t rank, const char* name) {
  if (rank > max_rank)
    fail_value(name, " has ", rank, " dims; at most ", max_rank, " are possible");
  array.rank = static_cast<int>(rank);
}

// Row-major steps, for sources that leave them out.
void set_dense_steps(Array& array) {
  int64_t step = array.itemsize;
  for (int i = array.rank; i-- > 0; step *= array.shape[i]) array.steps[i] = step;
}

void name_element(Array& array, char kind, const char* name) {
  array.element.bits = static_cast<int>(8 * array.itemsize);
  switch (kind) {
    case 'f': array.element.code = dlpack::floating; return;
    case 'i': array.element.code = dlpack::int_; return;
    case 'u': array.element.code = dlpack::uint; return;
    case 'b': array.element.code = dlpack::boolean; return;
    case 'c': array.element.code = dlpack::complex; return;
  }
  nb::object dtype = array.object.attr("dtype");
  const auto text = nb::cast<std::string>(nb::str(dtype));
  if (std::strchr("VSUmM", kind) == nullptr || nb::cast<bool>(dtype.attr("hasobject")))
    fail_type(name, " has the dtype ", text, ", whose elements are no plain bytes");
  // NumPy clears the interface's flags for records; the array itself knows.
  array.writable = nb::cast<bool>(array.object.attr("flags").attr("writeable"));
  array.element.swapped = false;  // the dtype says it
  if (text == "bfloat16")
    array.element.code = dlpack::bfloat;
  else
    array.element.dtype = std::move(dtype);
}

void read_array_struct(Array& array, const char* name) {
  static PyObject* const attribute = PyUnicode_InternFromString("__array_struct__");
  const nb::object capsule = nb::steal(PyObject_GetAttr(array.object.ptr(), attribute));
  const auto* face =
      capsule ? static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr))
              : nullptr;
  if (face == nullptr) nb::raise_python_error();
  set_rank(array, face->rank, name);
  array.data = face->data;
  array.itemsize = face->itemsize;
  array.writable = face->flags & writeable;
  array.element.swapped = !(face->flags & not_swapped);
  for (int i = 0; i < array.rank; ++i) {
    array.shape[i] = face->shape[i];
    array.steps[i] = face->strides[i];
  }
  name_element(array, face->kind, name);
  if (array.itemsize == 0) fail_type(name, " has elements of 0 bytes");
}

infinicore::Device device_of(dlpack::Device device, const char* name) {
  switch (device.type) {
    case dlpack::cpu:
    case dlpack::cuda_host: return {};
    case dlpack::cuda:
    case dlpack::cuda_managed: return {cuda_type(), static_cast<size_t>(device.id)};
    case dlpack::rocm: return {infinicore::Device::Type::HYGON, static_cast<size_t>(device.id)};
  }
  fail_type(name, " lies on a device that infini does not know (DLPack device type ", device.type,
            ")");
}

void read_dlpack_tensor(Array& array, const dlpack::Tensor& from, const char* name) {
  if (from.dtype.lanes != 1 || from.dtype.bits % 8 != 0 || from.dtype.bits == 0)
    fail_type(name, " has elements of ", int{from.dtype.bits}, " bits and ", from.dtype.lanes,
              " lanes; only whole bytes can be addressed");
  set_rank(array, from.ndim, name);
  array.data = static_cast<char*>(from.data) + from.byte_offset;
  array.itemsize = from.dtype.bits / 8;
  array.element.code = from.dtype.code;
  array.element.bits = from.dtype.bits;
  array.device = device_of(from.device, name);
  for (int i = 0; i < array.rank; ++i) array.shape[i] = from.shape[i];
  if (from.strides == nullptr) return set_dense_steps(array);
  for (int i = 0; i < array.rank; ++i) array.steps[i] = from.strides[i] * array.itemsize;
}

template <class Managed>
std::shared_ptr<void> owned(Managed* managed) {
  return {managed, [](void* p) {
            auto* tensor = static_cast<Managed*>(p);
            if (tensor->deleter) tensor->deleter(tensor);
          }};
}

void open_capsule(Array& array, nb::handle capsule, const char* name) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    array.keeper = owned(managed);
    if (managed->version.major > dlpack::version.major)
      fail_type(name, " speaks DLPack ", managed->version.major, ", infini ",
                dlpack::version.major);
    array.writable = !(managed->flags & dlpack::read_only);
    return read_dlpack_tensor(array, managed->tensor, name);
  }
  auto* managed =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) nb::raise_python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  array.keeper = owned(managed);
  array.writable = true;  // the old protocol cannot say, and does not hand out what is not
  read_dlpack_tensor(array, managed->tensor, name);
}

// The producer orders its work before `call`'s stream itself.
void read_dlpack(Array& array, const char* name, Call& call) {
  const nb::object place = array.object.attr("__dlpack_device__")();
  array.device = device_of({nb::cast<int32_t>(place[0]), nb::cast<int32_t>(place[1])}, name);
  nb::dict arguments;
  if (array.device != infinicore::Device::cpu()) {
    join(call, array);
    arguments["stream"] = dlpack_stream(stream_for(call, array.device));
  }
  const nb::object export_it = array.object.attr("__dlpack__");
  nb::object capsule;
  try {
    nb::dict newer = nb::borrow<nb::dict>(nb::steal(PyDict_Copy(arguments.ptr())));
    newer["max_version"] = nb::make_tuple(dlpack::version.major, dlpack::version.minor);
    capsule = export_it(**newer);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    capsule = export_it(**arguments);
  }
  open_capsule(array, capsule, name);
  if (array.framework->family == Family::jax)
    array.writable = false;  // immutable, but does not say so
}

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// Whether object.name() is true.
bool says(nb::handle object, PyObject* name) {
  const nb::object answer = nb::steal(PyObject_CallMethodNoArgs(object.ptr(), name));
  if (!answer) nb::raise_python_error();
  return answer.ptr() == Py_True;
}

// Refuses tensors that a backward pass will ask for, and those whose elements are not what lies in
// memory.
void require_plain_torch(const Array& array, const char* name) {
  static PyObject *const requires_grad = interned("requires_grad"),
                         *const is_grad_enabled = interned("is_grad_enabled"),
                         *const is_conj = interned("is_conj"), *const is_neg = interned("is_neg");
  const nb::object wanted = nb::steal(PyObject_GetAttr(array.object.ptr(), requires_grad));
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

void read_exchange(Array& array, const char* name, Call& call) {
  dlpack::Tensor tensor;
  if (array.framework->api->borrow(array.object.ptr(), &tensor) != 0) nb::raise_python_error();
  read_dlpack_tensor(array, tensor, name);
  if (array.framework->family == Family::torch) require_plain_torch(array, name);
  array.writable = true;
  if (array.device == infinicore::Device::cpu()) return;
  join(call, array);
  // Its work is on another stream than this call's: let it be ordered by the slower door.
  if (current_stream(array) != stream_for(call, array.device)) read_dlpack(array, name, call);
}

Element element_of_format(const char* format, Py_ssize_t itemsize, const char* name) {
  const std::string text = format ? format : "B";
  Element element;
  element.bits = static_cast<int>(8 * itemsize);
  const bool explicit_order = text.size() > 1 && std::strchr("@=<", text[0]);
  const std::string kind = explicit_order ? text.substr(1) : text;
  if (kind.size() == 1 && std::strchr("bhilqn", kind[0]))
    element.code = dlpack::int_;
  else if (kind.size() == 1 && std::strchr("BHILQNc", kind[0]))
    element.code = dlpack::uint;
  else if (kind.size() == 1 && std::strchr("efd", kind[0]))
    element.code = dlpack::floating;
  else if (kind == "?")
    element.code = dlpack::boolean;
  else if (kind == "Zf" || kind == "Zd")
    element.code = dlpack::complex;
  else
    fail_type(name, " has the buffer format '", text, "', which infini does not know");
  return element;
}

void read_buffer(Array& array, const char* name) {
  auto buffer = std::make_unique<Py_buffer>();
  array.writable = PyObject_GetBuffer(array.object.ptr(), buffer.get(), PyBUF_RECORDS) == 0;
  if (!array.writable) {
    PyErr_Clear();
    if (PyObject_GetBuffer(array.object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0)
      nb::raise_python_error();
  }
  const Py_buffer& view = *buffer;
  array.keeper = {buffer.release(), [](Py_buffer* held) {
                    PyBuffer_Release(held);
                    delete held;
                  }};
  set_rank(array, view.ndim, name);
  array.data = view.buf;
  array.itemsize = view.itemsize;
  array.element = element_of_format(view.format, view.itemsize, name);
  for (int i = 0; i < array.rank; ++i) array.shape[i] = view.shape[i];
  if (view.strides == nullptr) return set_dense_steps(array);
  for (int i = 0; i < array.rank; ++i) array.steps[i] = view.strides[i];
}

}  // namespace

const Framework& framework_of(nb::handle object, const char* name) {
  static auto& known = *new std::vector<std::unique_ptr<Framework>>;  // outlives the interpreter
  for (const auto& framework : known)
    if (framework->type.is(object.type())) return *framework;
  known.push_back(std::make_unique<Framework>(examine(object, name)));
  return *known.back();
}

int64_t Array::count() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

bool Array::is_contiguous() const {
  int64_t step = itemsize;
  bool dense = true;
  for (int i = rank; i-- > 0; step *= shape[i]) {
    if (shape[i] == 0) return true;
    dense = dense && (shape[i] == 1 || steps[i] == step);
  }
  return dense;
}

Array read_tensor(const PyTensor& from) {
  Array array;
  array.own = from.tensor;
  const infinicore::TensorImpl& tensor = *array.own.operator->();
  array.data = const_cast<std::byte*>(tensor.data());
  array.itemsize = static_cast<int64_t>(tensor.element_size());
  array.element = element_of(tensor.dtype());
  array.device = tensor.device();
  array.writable = from.writable;
  array.rank = static_cast<int>(tensor.ndim());
  for (int i = 0; i < array.rank; ++i) {
    array.shape[i] = static_cast<int64_t>(tensor.shape()[i]);
    array.steps[i] = tensor.strides()[i] * array.itemsize;
  }
  return array;
}

Array read_array(nb::handle object, const char* name, Call& call) {
  const Framework& framework = framework_of(object, name);
  if (framework.door == Door::tensor) {
    Array array = read_tensor(*nb::inst_ptr<PyTensor>(object));
    array.object = object;
    array.framework = &framework;
    call.has_own = true;
    return array;
  }
  Array array;
  array.object = object;
  array.framework = &framework;
  switch (framework.door) {
    case Door::array_struct: read_array_struct(array, name); break;
    case Door::exchange: read_exchange(array, name, call); break;
    case Door::dlpack: read_dlpack(array, name, call); break;
    default: read_buffer(array, name);
  }
  return array;
}

}  // namespace infini::python
