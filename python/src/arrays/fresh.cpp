// Results: new arrays of the framework that an argument came from.
#include "arrays/fresh.h"

#include <atomic>

#include "doors/convert.h"
#include "doors/export.h"
#include "doors/numpy_head.h"
#include "errors.h"
#include "gil.h"
#include "names.h"

namespace infini::python {
namespace {

using Family = Framework::Family;
using infinicore::Tensor;

// From here on a result on the CPU lies in the library's pool: pages fresh from the system cost
// more time than the copy itself.
constexpr int64_t pooled_bytes = 1 << 20;

bool is_pooled(const Array& like, const int64_t* shape, int rank) {
  int64_t bytes = like.itemsize;
  for (int i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(bytes, shape[i], &bytes)) return false;  // the framework will say so
  return bytes >= pooled_bytes && like.device == infinicore::Device::cpu();
}

// What follows is looked up once; or twice, by two threads: a lock around Python code could be waited for by the thread that
// holds the GIL.
nb::handle function(std::atomic<PyObject*>& known, const char* module, const char* name) {
  if (known == nullptr) known = nb::getattr(nb::module_::import_(module), name).release().ptr();
  return known.load();
}

bool jax_is_on_cpu() {
  static std::atomic<int> known = -1;
  if (known < 0)
    known = nb::cast<std::string>(nb::module_::import_("jax").attr("default_backend")()) == "cpu";
  return known == 1;
}

// Whether jax.numpy.asarray brings small arrays of NumPy's to where `like` is, with their dtype: that takes half of what DLPack
// takes there, but goes to JAX's default device, and without jax_enable_x64 makes 8-byte numbers shorter.
bool goes_by_numpy(const Array& like, const int64_t* shape, int rank) {
  constexpr int64_t small_bytes = 1 << 16;
  if (like.framework->family != Family::jax || like.device != infinicore::Device::cpu() ||
      like.itemsize > 4)
    return false;
  int64_t bytes = like.itemsize;
  for (int i = 0; i < rank; ++i)
    if (__builtin_mul_overflow(bytes, shape[i], &bytes)) return false;
  return bytes <= small_bytes && jax_is_on_cpu();
}

nb::object empty_numpy(const Array& like, const int64_t* shape, int rank) {
  nb::object dtype = numpy_dtype(like);
  if (!is_pooled(like, shape, rank)) return new_numpy(std::move(dtype), shape, rank);
  size_t bytes = static_cast<size_t>(like.itemsize);
  for (int i = 0; i < rank; ++i) bytes *= static_cast<size_t>(shape[i]);
  const PyTensor memory{Tensor::empty({bytes}, infinicore::DataType::U8, like.device)};
  static std::atomic<PyObject*> ndarray = nullptr;
  return function(ndarray, "numpy", "ndarray")(to_tuple(shape, rank), dtype, nb::cast(memory));
}

nb::object empty_cupy(const Array& like, const nb::tuple& shape) {
  const nb::module_ cupy = nb::module_::import_("cupy");
  const nb::object device = cupy.attr("cuda").attr("Device")(like.device.getIndex());
  device.attr("__enter__")();
  nb::object made;
  try {
    made = cupy.attr("empty")(shape, like.object.attr("dtype"));
  } catch (...) {
    device.attr("__exit__")(nb::none(), nb::none(), nb::none());
    throw;
  }
  device.attr("__exit__")(nb::none(), nb::none(), nb::none());
  return made;
}

void raise(void*, const char* kind, const char* message) {
  const Locked locked;
  const bool memory = std::string(kind).find("Memory") != std::string::npos;
  PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, message);
}

nb::object empty_by_exchange(const Array& like, const int64_t* shape, int rank) {
  const auto* api = like.framework->api;
  dlpack::ManagedTensorVersioned* managed = nullptr;
  if (const auto dtype = like.element.known(); dtype && is_pooled(like, shape, rank)) {
    managed = export_managed(Tensor::empty({shape, shape + rank}, *dtype, like.device));
  } else {  // by the framework's allocator
    dlpack::Tensor wanted{};
    wanted.device = dlpack_place(like.device);
    wanted.ndim = rank;
    wanted.dtype = {like.element.code, static_cast<uint8_t>(like.element.bits), 1};
    wanted.shape = const_cast<int64_t*>(shape);
    if (api->allocate(&wanted, &managed, nullptr, raise) != 0) nb::raise_python_error();
  }
  void* made = nullptr;
  if (api->import_managed(managed, &made) != 0) nb::raise_python_error();
  return nb::steal(static_cast<PyObject*>(made));
}

nb::object empty_torch(const Array& like, const nb::tuple& shape) {
  using namespace nb::literals;
  return nb::module_::import_("torch").attr("empty")(shape, "dtype"_a = like.object.attr("dtype"),
                                                     "device"_a = like.object.attr("device"));
}

nb::object empty_own(const Array& like, const int64_t* shape, int rank) {
  const auto dtype = like.own ? std::optional(like.own->dtype()) : like.element.known();
  if (!dtype) fail_type("there is no array of ours for elements of type ", like.element.name());
  return nb::cast(PyTensor{Tensor::empty({shape, shape + rank}, *dtype, like.device)});
}

}  // namespace

bool is_small_numpy(const Array& array) {
  return array.framework->family == Family::numpy && !is_pooled(array, array.shape, array.rank);
}

Fresh make_fresh(const Array& like, const int64_t* shape, int rank, Call& call) {
  const Framework& framework = *like.framework;
  nb::object made;
  if (framework.family == Family::numpy || goes_by_numpy(like, shape, rank))
    made = empty_numpy(like, shape, rank);
  else if (framework.family == Family::torch)
    made = framework.api ? empty_by_exchange(like, shape, rank)
                         : empty_torch(like, to_tuple(shape, rank));
  else if (framework.family == Family::cupy)
    made = empty_cupy(like, to_tuple(shape, rank));
  else
    made = empty_own(like, shape, rank);
  const nb::handle result = made;
  return {std::move(made), read_array(result, "the result", call), &framework};
}

nb::object Fresh::take() {
  if (wanted->family != Family::jax) return object;
  static std::atomic<PyObject*> asarray = nullptr, from_dlpack = nullptr;
  return array.own ? function(from_dlpack, "jax.dlpack", "from_dlpack")(object)
                   : function(asarray, "jax.numpy", "asarray")(object);
}

}  // namespace infini::python
