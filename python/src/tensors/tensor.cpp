// infini.Tensor: tensors of our own.
#include "tensors/tensor.h"

#include <string>

#include "arrays/functions.h"
#include "doors/convert.h"
#include "doors/export.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"

namespace infini::python {
namespace {

using infinicore::Device;
using infinicore::Shape;
using infinicore::Tensor;
using namespace nb::literals;

// Makes one of the constructors of shape, dtype and device.
template <Tensor (*make)(const Shape&, infinicore::DataType, const Device&, bool)>
PyTensor made(nb::handle shape, nb::handle dtype, nb::handle device, bool pin_memory) {
  return {make(parse_shape(shape), parse_dtype(dtype), parse_device(device), pin_memory)};
}

PyTensor to(const PyTensor& self, nb::handle device) {
  const Device wanted = parse_device(device);
  if (wanted == self.tensor->device()) return self;
  require_there(self.tensor);
  const Unlocked unlocked(true);
  return {self.tensor->to(wanted)};
}

// One dim may be -1: what is left.
PyTensor view(const PyTensor& self, const nb::args& wanted) {
  const std::vector<int64_t> numbers = parse_numbers(wanted, "shape");
  int64_t known = 1, unknown = 0;
  for (const int64_t extent : numbers)
    if (extent == -1)
      ++unknown;
    else if (__builtin_mul_overflow(known, extent, &known))
      known = 0;  // more than there can be
  const auto count = static_cast<int64_t>(self.tensor->numel());
  Shape shape;
  for (const int64_t extent : numbers) {
    if (extent < -1 || unknown > 1 || (unknown == 1 && (known == 0 || count % known != 0)))
      fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "shape ", nb::cast<std::string>(nb::str(wanted)),
           " cannot hold ", count, " elements");
    shape.push_back(static_cast<size_t>(extent == -1 ? count / known : extent));
  }
  require_there(self.tensor);
  return {self.tensor->reshape(shape), self.writable};
}

PyTensor permute(const PyTensor& self, const nb::args& dims) {
  const auto rank = static_cast<int64_t>(self.tensor->ndim());
  return {self.tensor->permute(parse_order(parse_numbers(dims, "dims"), rank)), self.writable};
}

PyTensor transpose(const PyTensor& self, int64_t dim0, int64_t dim1) {
  const auto rank = static_cast<int64_t>(self.tensor->ndim());
  Shape order(self.tensor->ndim());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::swap(order[parse_dim(dim0, rank)], order[parse_dim(dim1, rank)]);
  return {self.tensor->permute(order), self.writable};
}

PyTensor reversed(const PyTensor& self) {
  Shape order(self.tensor->ndim());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  return {self.tensor->permute(order), self.writable};
}

PyTensor narrow(const PyTensor& self, int64_t dim, int64_t start, int64_t length) {
  if (start < 0 || length < 0)
    fail_value("start is ", start, ", length is ", length, "; expected 0 or more");
  const size_t at = parse_dim(dim, static_cast<int64_t>(self.tensor->ndim()));
  return {self.tensor->narrow({{at, static_cast<size_t>(start), static_cast<size_t>(length)}}),
          self.writable};
}

PyTensor squeeze(const PyTensor& self, int64_t dim) {
  return {self.tensor->squeeze(parse_dim(dim, static_cast<int64_t>(self.tensor->ndim()))),
          self.writable};
}

PyTensor unsqueeze(const PyTensor& self, int64_t dim) {
  return {self.tensor->unsqueeze(parse_dim(dim, static_cast<int64_t>(self.tensor->ndim()) + 1)),
          self.writable};
}

PyTensor broadcast_to(const PyTensor& self, nb::handle shape) {
  return {self.tensor->broadcast_to(parse_shape(shape)), self.writable};
}

PyTensor as_strided(const PyTensor& self, nb::handle shape, nb::handle strides, int64_t offset) {
  const std::vector<int64_t> numbers = parse_numbers(strides, "strides");
  return {self.tensor->as_strided(parse_shape(shape), {numbers.begin(), numbers.end()}, offset),
          self.writable};
}

PyTensor contiguous(const PyTensor& self) {
  if (self.tensor->is_contiguous()) return self;
  require_there(self.tensor);
  const Unlocked unlocked(true);
  return {self.tensor->contiguous()};
}

nb::object length(const PyTensor& self) {
  if (self.tensor->ndim() == 0) fail_type("a scalar tensor has no length");
  return nb::int_(self.tensor->shape()[0]);
}

// For NumPy, which asks for it where there is no buffer: on accelerators, and for bf16.
nb::object as_array(nb::handle self, nb::object dtype, nb::object copy) {
  nb::object array = to_numpy(self);
  const bool converts = !dtype.is_none() && !array.attr("dtype").equal(
                                                nb::module_::import_("numpy").attr("dtype")(dtype));
  const bool is_here = tensor_of(self).tensor->device() == Device::cpu();
  if (copy.ptr() == Py_False && (converts || !is_here))
    fail_value("an array of another type or place cannot be had without a copy");
  if (converts) return array.attr("astype")(dtype);
  return copy.ptr() == Py_True ? array.attr("copy")() : array;
}

template <class Numbers>
nb::tuple as_tuple(const Numbers& numbers) {
  nb::list list;
  for (const auto number : numbers) list.append(number);
  return nb::tuple(list);
}

std::string text(const PyTensor& self) {
  require_there(self.tensor);
  return "infini.Tensor(" + self.tensor->info() + ")\n" + infinicore::toString(self.tensor);
}

void bind_facts(nb::class_<PyTensor>& tensor) {
  tensor.def_prop_ro("shape", [](const PyTensor& self) { return as_tuple(self.tensor->shape()); })
      .def_prop_ro(
          "strides", [](const PyTensor& self) { return as_tuple(self.tensor->strides()); },
          "In elements, not bytes.")
      .def_prop_ro(
          "dtype", [](const PyTensor& self) { return name_of(self.tensor->dtype()); },
          "\"f32\", \"bf16\", ...")
      .def_prop_ro(
          "device",
          [](const PyTensor& self) { return nb::str(self.tensor->device().toString().c_str()); },
          "\"cpu:0\", \"nvidia:0\", ...")
      .def_prop_ro("ndim", [](const PyTensor& self) { return self.tensor->ndim(); })
      .def_prop_ro(
          "numel", [](const PyTensor& self) { return self.tensor->numel(); }, "Number of elements.")
      .def_prop_ro("nbytes", [](const PyTensor& self) { return self.tensor->nbytes(); })
      .def_prop_ro("element_size", [](const PyTensor& self) { return self.tensor->element_size(); })
      .def_prop_ro("is_contiguous",
                   [](const PyTensor& self) { return self.tensor->is_contiguous(); })
      .def_prop_ro("is_pinned", [](const PyTensor& self) { return self.tensor->is_pinned(); })
      .def_prop_ro("writable", [](const PyTensor& self) { return self.writable; })
      .def_prop_ro(
          "data_ptr",
          [](const PyTensor& self) {
            return reinterpret_cast<uintptr_t>(static_cast<const void*>(self.tensor->data()));
          })
      .def("__len__", &length)
      .def("__repr__",
           [](const PyTensor& self) {
             return nb::str(("infini.Tensor(" + self.tensor->info() + ")").c_str());
           })
      .def("__str__", [](const PyTensor& self) { return nb::str(text(self).c_str()); });
}

void bind_views(nb::class_<PyTensor>& tensor) {
  tensor.def("permute", &permute, "dims"_a, "A view with the dims in another order.")
      .def("transpose", &transpose, "dim0"_a = -2, "dim1"_a = -1, "A view with two dims exchanged.")
      .def_prop_ro("T", &reversed, "A view with the dims in reverse order.")
      .def("view", &view, "shape"_a,
           "The same elements under another shape: a view where the strides allow it, else a copy. "
           "One dim may be -1.")
      .def("reshape", &view, "shape"_a, "Another name of view.")
      .def("narrow", &narrow, "dim"_a, "start"_a, "length"_a, "A view of some elements of one dim.")
      .def("squeeze", &squeeze, "dim"_a, "A view without a dim of size 1.")
      .def("unsqueeze", &unsqueeze, "dim"_a, "A view with one more dim of size 1.")
      .def("broadcast_to", &broadcast_to, "shape"_a, "A view as if it had this shape, as in NumPy.")
      .def(
          "as_strided", &as_strided, "shape"_a, "strides"_a, "offset"_a = 0,
          "A view with any strides, in elements; refused where it would leave the tensor's memory.")
      .def("__getitem__", &index, "key"_a.none(),
           "A view, by whole numbers, slices with any step, ... and None.");
}

}  // namespace

PyTensor from_array(nb::handle x, nb::object device) {
  Call call;
  const Array array = read_array(x, "x", call);
  const Device wanted = device.is_none() ? array.device : parse_device(device);
  if (!can_convert(array))
    fail_type("x has elements of type ", array.element.name(),
              " at steps that no tensor can describe");
  const PyTensor here{to_tensor(array, Hold::tensor), array.writable};
  // From here on the thread's stream works on it, after what its framework has asked for.
  if (call.device) order(*call.device, call.stream, infinicore::context::getStream(*call.device));
  if (wanted == array.device) return here;
  const Unlocked unlocked(true);
  return {here.tensor->to(wanted)};
}

void bind_tensor(nb::module_& module) {
  nb::class_<PyTensor> tensor(module, "Tensor", nb::type_slots(buffer_slots),
                              "A tensor of infini's own, on any device. Strides count elements.");
  tensor
      .def_static("empty", &made<Tensor::empty>, "shape"_a, "dtype"_a = "f32", "device"_a = "cpu",
                  "pin_memory"_a = false, "Uninitialised.")
      .def_static("zeros", &made<Tensor::zeros>, "shape"_a, "dtype"_a = "f32", "device"_a = "cpu",
                  "pin_memory"_a = false)
      .def_static("ones", &made<Tensor::ones>, "shape"_a, "dtype"_a = "f32", "device"_a = "cpu",
                  "pin_memory"_a = false)
      .def_static("from_array", &from_array, "x"_a.none(), "device"_a = nb::none(),
                  "A tensor over x's own memory, which it keeps alive; a copy when `device` is "
                  "another one.");
  bind_facts(tensor);
  bind_views(tensor);
  bind_values(tensor);
  tensor.def("contiguous", &contiguous, "Itself when it is row-major without gaps, else a copy.")
      .def("to", &to, "device"_a,
           "Itself when it is there already, else a contiguous copy on that device.")
      .def("copy_", &copy, "src"_a.none(),
           "Copies the elements of any array here, from any device; returns itself.")
      .def(
          "__matmul__", [](nb::handle a, nb::handle b) { return matmul(a, b, nb::none(), 1, 0); },
          nb::is_operator())
      .def("numpy", &to_numpy,
           "A NumPy array: of the same memory on the CPU, else a copy. bf16 and f8 need ml_dtypes.")
      .def("__array__", &as_array, "dtype"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack__", &export_dlpack, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack_device__", &dlpack_device);
  tensor.attr("__module__") = "infini";
}

}  // namespace infini::python
