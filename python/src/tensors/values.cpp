// infini.Tensor's elements as Python's values: item, tolist, fill_, ==, bool, float, pickle.
#include <cstring>
#include <string>

#include "arrays/functions.h"
#include "doors/export.h"
#include "doors/stream.h"
#include "doors/torch.h"
#include "errors.h"
#include "names.h"
#include "numbers.h"
#include "tensors/tensor.h"

namespace infini::python {
namespace {

using infinicore::DataType;
using infinicore::Device;
using infinicore::Tensor;
using namespace nb::literals;

Tensor on_host(const PyTensor& self) {
  require_there(self.tensor);
  if (self.tensor->device() == Device::cpu()) return self.tensor;
  const Unlocked unlocked(true);
  return self.tensor->to(Device::cpu());
}

// As NumPy: only one element has a value of its own.
nb::object only(const PyTensor& self, const char* what) {
  if (self.tensor->numel() != 1)
    fail_value(what, " of a tensor with ", self.tensor->numel(), " elements");
  const Tensor host = on_host(self);
  return to_number(host->data(), host->dtype());
}

nb::object item(const PyTensor& self) { return only(self, "item()"); }
nb::object tolist(const PyTensor& self) { return to_list(on_host(self)); }

bool truth(const PyTensor& self) { return PyObject_IsTrue(only(self, "the truth").ptr()) == 1; }

nb::object as_float(const PyTensor& self) {
  nb::object made = nb::steal(PyNumber_Float(only(self, "float()").ptr()));
  if (!made) nb::raise_python_error();
  return made;
}

nb::object as_int(const PyTensor& self) {
  nb::object made = nb::steal(PyNumber_Long(only(self, "int()").ptr()));
  if (!made) nb::raise_python_error();
  return made;
}

nb::object as_complex(const PyTensor& self) {
  PyObject* const type = reinterpret_cast<PyObject*>(&PyComplex_Type);
  nb::object made =
      nb::steal(PyObject_CallFunctionObjArgs(type, only(self, "complex()").ptr(), nullptr));
  if (!made) nb::raise_python_error();
  return made;
}

Tensor scalar(DataType dtype, const Device& device, nb::handle value) {
  const Tensor made = Tensor::empty({}, dtype, Device::cpu());
  from_number(const_cast<std::byte*>(made->data()), dtype, value);
  return made->to(device);
}

PyTensor full(nb::handle shape, nb::handle value, nb::handle dtype, nb::handle device) {
  const PyTensor made{Tensor::empty(parse_shape(shape), parse_dtype(dtype), parse_device(device))};
  Call call;
  copy_arrays(read_tensor(made),
              read_tensor({scalar(made.tensor->dtype(), made.tensor->device(), value)}), call);
  return made;
}

bool is_number(nb::handle value) {
  return PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()) || PyComplex_Check(value.ptr());
}

nb::object fill(nb::object self, nb::handle value) {
  const PyTensor& tensor = tensor_of(self);
  return copy(self,
              nb::cast(PyTensor{scalar(tensor.tensor->dtype(), tensor.tensor->device(), value)}));
}

void set_item(nb::handle self, nb::handle key, nb::handle value) {
  nb::object part = nb::cast(index(tensor_of(self), key));
  is_number(value) ? fill(std::move(part), value) : copy(std::move(part), value);
}

// By NumPy; null where `other` is nothing that can be compared.
nb::object compare(nb::handle self, nb::handle other, int how) {
  nb::object right = nb::borrow(other);
  if (nb::isinstance<PyTensor>(other))
    right = to_numpy(other);
  else if (!is_number(other) && !is_array(other))
    return nb::object();
  nb::object answer = nb::steal(PyObject_RichCompare(to_numpy(self).ptr(), right.ptr(), how));
  if (!answer) nb::raise_python_error();
  return answer;
}

nb::object elementwise(nb::handle self, nb::handle other, int how) {
  const nb::object answer = compare(self, other, how);
  if (!answer) return nb::borrow(Py_NotImplemented);
  return nb::cast(from_array(nb::module_::import_("numpy").attr("asarray")(answer), nb::none()));
}

nb::object equal(nb::handle self, nb::handle other) { return elementwise(self, other, Py_EQ); }
nb::object unequal(nb::handle self, nb::handle other) { return elementwise(self, other, Py_NE); }

bool contains(nb::handle self, nb::handle other) {
  const nb::object answer = compare(self, other, Py_EQ);
  return answer && PyObject_IsTrue(nb::module_::import_("numpy").attr("any")(answer).ptr()) == 1;
}

nb::object iterate(nb::handle self) {
  if (tensor_of(self).tensor->ndim() == 0) fail_type("a scalar tensor cannot be iterated over");
  nb::object made = nb::steal(PySeqIter_New(self.ptr()));
  if (!made) nb::raise_python_error();
  return made;
}

nb::bytes to_bytes(const PyTensor& self) {
  const Tensor dense = on_host(self)->contiguous();
  return nb::bytes(dense->data(), dense->nbytes());
}

PyTensor from_bytes(const nb::bytes& bytes, nb::handle shape, nb::handle dtype, nb::handle device) {
  const Tensor made = Tensor::empty(parse_shape(shape), parse_dtype(dtype), Device::cpu());
  if (bytes.size() != made->nbytes())
    fail_value("there are ", bytes.size(), " bytes for ", made->info());
  std::memcpy(const_cast<std::byte*>(made->data()), bytes.c_str(), bytes.size());
  const Unlocked unlocked(true);
  return {made->to(parse_device(device))};
}

// Elements, not memory: what comes back is a contiguous copy on the device of the same name.
nb::tuple reduce(nb::handle self) {
  const nb::object bytes = to_bytes(tensor_of(self));
  return nb::make_tuple(
      nb::module_::import_("infini._pickle").attr("tensor"),
      nb::make_tuple(bytes, self.attr("shape"), self.attr("dtype"), self.attr("device")));
}

}  // namespace

void bind_values(nb::class_<PyTensor>& tensor) {
  tensor
      .def_static("full", &full, "shape"_a, "value"_a.none(), "dtype"_a = "f32", "device"_a = "cpu")
      .def_static("_from_bytes", &from_bytes)
      .def("__reduce__", &reduce)
      .def("item", &item, "The only element, as a Python number.")
      .def("tolist", &tolist, "The elements as lists of Python numbers; without dims a number.")
      .def("fill_", &fill, "value"_a.none(), "Gives every element this value; returns itself.")
      .def("__setitem__", &set_item, "key"_a.none(), "value"_a.none())
      .def("__bool__", &truth)
      .def("__float__", &as_float)
      .def("__int__", &as_int)
      .def("__complex__", &as_complex)
      .def("__eq__", &equal, "other"_a.none(), "By elements, as NumPy, which it needs.")
      .def("__ne__", &unequal, "other"_a.none())
      .def("__contains__", &contains, "value"_a.none())
      .def("__iter__", &iterate);
  tensor.attr("__hash__") =
      nb::borrow(reinterpret_cast<PyObject*>(&PyBaseObject_Type)).attr("__hash__");
}

}  // namespace infini::python
