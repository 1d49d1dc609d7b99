// Handing tensors of our own to others: DLPack, the buffer protocol and NumPy.
#include "export.h"

#include <vector>

#include "errors.h"
#include "names.h"
#include "stream.h"
#include "torch.h"

namespace infini::python {
namespace {

using infinicore::DataType;
using infinicore::Device;
using infinicore::Tensor;

// What lives as long as the consumer uses the memory. It may end on any thread; no Python is
// involved.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
Managed* export_tensor(const Tensor& tensor) {
  auto made = std::make_unique<Exported<Managed>>();
  made->tensor = tensor;
  made->shape.assign(tensor->shape().begin(), tensor->shape().end());
  made->strides.assign(tensor->strides().begin(), tensor->strides().end());
  const Element element = element_of(tensor->dtype());
  made->managed.tensor = {made->tensor->data(),
                          dlpack_place(tensor->device()),
                          static_cast<int32_t>(made->shape.size()),
                          {element.code, static_cast<uint8_t>(element.bits), 1},
                          made->shape.data(),
                          made->strides.data(),
                          0};
  made->managed.context = made.get();
  made->managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->context);
  };
  return &made.release()->managed;
}

// A capsule that nobody consumed releases what it holds.
template <class Managed>
nb::object capsule_of(Managed* managed, const char* name) {
  nb::object capsule = nb::steal(PyCapsule_New(managed, name, [](PyObject* self) {
    const char* own = PyCapsule_GetName(self);
    if (own == nullptr || own[0] == 'u') return;  // "used_..."
    auto* held = static_cast<Managed*>(PyCapsule_GetPointer(self, own));
    if (held) held->deleter(held);
  }));
  if (!capsule) {
    managed->deleter(managed);
    nb::raise_python_error();
  }
  return capsule;
}

// The consumer's stream runs after what this thread has given the tensor's device so far.
void order_before(const Tensor& tensor, nb::handle stream) {
  const Device device = tensor->device();
  if (device == Device::cpu()) return;
  const auto number = stream.is_none() ? 1 : nb::cast<intptr_t>(stream);
  if (number == -1) return;
  void* theirs = number == 1 || number == 0 ? nullptr : reinterpret_cast<void*>(number);
  order(device, infinicore::context::getStream(device), theirs);
  tensor->memory()->used_on(theirs);
}

// What a Py_buffer points to.
struct View {
  Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;
};

int refuse(Py_buffer* view, const char* why) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

int get_buffer(PyObject* object, Py_buffer* view, int flags) try {
  const PyTensor& self = tensor_of(nb::handle(object));
  const Tensor& tensor = self.tensor;
  require_there(tensor);
  const char* format = buffer_format(tensor->dtype());
  if (tensor->device() != Device::cpu())
    return refuse(view, "the tensor is not in host memory: use numpy()");
  if (format == nullptr)
    return refuse(view, "the buffer protocol has no name for this dtype: use numpy()");
  if ((flags & PyBUF_WRITABLE) && !self.writable) return refuse(view, "the tensor is read-only");
  const bool needs_dense = (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
                           (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if ((needs_dense && !tensor->is_contiguous()) ||
      (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
    return refuse(view, "the tensor is not contiguous in the wanted order");
  auto held = std::make_unique<View>();
  held->tensor = tensor;
  const auto size = static_cast<Py_ssize_t>(tensor->element_size());
  for (size_t i = 0; i < tensor->ndim(); ++i) {
    held->shape.push_back(static_cast<Py_ssize_t>(tensor->shape()[i]));
    held->strides.push_back(tensor->strides()[i] * size);
  }
  view->buf = held->tensor->data();
  view->obj = nb::handle(object).inc_ref().ptr();
  view->len = static_cast<Py_ssize_t>(tensor->nbytes());
  view->itemsize = size;
  view->readonly = !self.writable;
  view->ndim = static_cast<int>(tensor->ndim());
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) ? held->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? held->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = held.release();
  return 0;
} catch (const std::exception& error) {
  return refuse(view, error.what());
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<View*>(view->internal); }

}  // namespace

PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

dlpack::Device dlpack_place(const Device& device) {
  if (device.getType() == Device::Type::CPU) return {dlpack::cpu, 0};
  const auto index = static_cast<int32_t>(device.getIndex());
  if (device.getType() == cuda_type()) return {dlpack::cuda, index};
  if (device.getType() == Device::Type::HYGON) return {dlpack::rocm, index};
  PyErr_Format(PyExc_BufferError, "DLPack has no name for %s", device.toString().c_str());
  nb::raise_python_error();
}

dlpack::ManagedTensorVersioned* export_managed(const Tensor& tensor) {
  auto* managed = export_tensor<dlpack::ManagedTensorVersioned>(tensor);
  managed->version = dlpack::version;
  return managed;
}

nb::object export_dlpack(const PyTensor& self, nb::object stream, nb::object max_version,
                         nb::object dl_device, nb::object copy) {
  if (!dl_device.is_none() && !dl_device.equal(dlpack_device(self))) {
    PyErr_SetString(PyExc_BufferError, "the tensor is on another device: use to(device) first");
    nb::raise_python_error();
  }
  Tensor tensor = self.tensor;
  require_there(tensor);
  const bool copied = !copy.is_none() && nb::cast<bool>(copy);
  if (copied) tensor = infinicore::op::rearrange(tensor);
  order_before(tensor, stream);
  if (!max_version.is_none() && nb::cast<int>(max_version[0]) >= 1) {
    auto* managed = export_managed(tensor);
    managed->flags =
        (self.writable || copied ? 0 : dlpack::read_only) | (copied ? dlpack::is_copied : 0);
    return capsule_of(managed, "dltensor_versioned");
  }
  if (!self.writable && !copied) {
    PyErr_SetString(PyExc_BufferError,
                    "the tensor is read-only, which DLPack before 1.0 cannot say");
    nb::raise_python_error();
  }
  return capsule_of(export_tensor<dlpack::ManagedTensor>(tensor), "dltensor");
}

nb::tuple dlpack_device(const PyTensor& self) {
  const dlpack::Device place = dlpack_place(self.tensor->device());
  return nb::make_tuple(place.type, place.id);
}

nb::object to_numpy(nb::handle self) {
  const PyTensor& from = tensor_of(self);
  require_there(from.tensor);
  const nb::module_ numpy = nb::module_::import_("numpy");
  const bool is_here = from.tensor->device() == Device::cpu();
  PyTensor host{from.tensor->to(Device::cpu()), !is_here || from.writable};
  const DataType dtype = host.tensor->dtype();
  if (buffer_format(dtype))
    return numpy.attr("asarray")(is_here ? nb::borrow(self) : nb::cast(host));
  const char* name = dtype == DataType::BF16 ? "bfloat16" : "float8_e4m3fn";
  if (dtype != DataType::BF16 && dtype != DataType::F8)
    fail_type("NumPy has no dtype for ", infinicore::toString(dtype), ": use tolist()");
  const nb::object known = nb::module_::import_("ml_dtypes").attr(name);
  Tensor& tensor = host.tensor;
  host.tensor = Tensor::strided_from_blob(tensor->data(), tensor->shape(), tensor->strides(),
                                          dtype == DataType::F8 ? DataType::U8 : DataType::U16,
                                          Device::cpu(), [held = tensor](void*) {});
  return numpy.attr("asarray")(nb::cast(host)).attr("view")(known);
}

}  // namespace infini::python
