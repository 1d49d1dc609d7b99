// DLPack's doors: capsules, and the table of C functions.
#include "doors.h"
#include "errors.h"
#include "names.h"
#include "stream.h"
#include "torch.h"

namespace infini::python {
namespace {

using Family = Framework::Family;

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
  if (array.rank > 0 && from.shape == nullptr) fail_value(name, " has dims but no shape");
  array.data = from.data ? static_cast<char*>(from.data) + from.byte_offset : nullptr;
  array.itemsize = from.dtype.bits / 8;
  array.element.code = from.dtype.code;
  array.element.bits = from.dtype.bits;
  array.device = device_of(from.device, name);
  for (int i = 0; i < array.rank; ++i) array.shape[i] = from.shape[i];
  if (from.strides == nullptr) return set_dense_steps(array);
  // CuPy divides steps by the size of elements as if they were not negative: the product wraps to what they were.
  const bool wraps = array.framework->family == Family::cupy;
  for (int i = 0; i < array.rank; ++i) {
    array.steps[i] = 0;  // what a dim of size 1 says means nothing
    if (array.shape[i] > 1 &&
        __builtin_mul_overflow(from.strides[i], array.itemsize, &array.steps[i]) && !wraps)
      fail_value(name, " has a stride of ", from.strides[i], " elements");
  }
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

// Producers of the old protocol do not know max_version.
nb::object exported(nb::handle function, const nb::dict& arguments) {
  nb::dict newer = nb::borrow<nb::dict>(nb::steal(PyDict_Copy(arguments.ptr())));
  newer["max_version"] = nb::make_tuple(dlpack::version.major, dlpack::version.minor);
  try {
    return function(**newer);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return function(**arguments);
}

}  // namespace

void read_dlpack(Array& array, const char* name, Call& call) {
  // JAX's arrays on the CPU have a buffer, which takes a fifth of the time; those of bf16, in parts or elsewhere have none.
  if (array.framework->family == Family::jax && try_read_only_buffer(array, name)) {
    array.writable = false;
    return;
  }
  const nb::object place = array.object.attr("__dlpack_device__")();
  array.device = device_of({nb::cast<int32_t>(place[0]), nb::cast<int32_t>(place[1])}, name);
  const infinicore::Device promised = array.device;
  nb::dict arguments;
  if (array.device != infinicore::Device::cpu()) {
    join(call, array);
    arguments["stream"] = dlpack_stream(stream_for(call, array.device));
  }
  const bool is_torch = array.framework->family == Family::torch;  // hands out no gradients
  const nb::object from = is_torch ? array.object.attr("detach")() : nb::borrow(array.object);
  open_capsule(array, exported(from.attr("__dlpack__"), arguments), name);
  if (array.device != promised)
    fail_value(name, " says that it is on ", promised.toString(), " and lies on ",
               array.device.toString());
  if (is_torch) require_plain_torch(array, name);
  if (array.framework->family == Family::jax)
    array.writable = false;  // immutable, but does not say so
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

}  // namespace infini::python
