// t[key]: views by whole numbers, slices, ... and None.
#include <optional>
#include <vector>

#include "errors.h"
#include "names.h"
#include "tensors/tensor.h"

namespace infini::python {
namespace {

struct View {
  infinicore::Shape shape;
  infinicore::Strides strides;
  infinicore::Stride offset = 0;

  void keep(const infinicore::TensorImpl& from, size_t dim) {
    shape.push_back(from.shape()[dim]);
    strides.push_back(from.strides()[dim]);
  }
  void take(const infinicore::TensorImpl& from, size_t dim, nb::handle number) {
    const auto extent = static_cast<int64_t>(from.shape()[dim]);
    const int64_t at = PyNumber_AsSsize_t(number.ptr(), PyExc_IndexError);
    if (at == -1 && PyErr_Occurred()) nb::raise_python_error();
    if (at < -extent || at >= extent) {
      PyErr_Format(PyExc_IndexError, "index %lld is out of range for dim %zu with %lld elements",
                   static_cast<long long>(at), dim, static_cast<long long>(extent));
      nb::raise_python_error();
    }
    offset += (at < 0 ? at + extent : at) * from.strides()[dim];
  }
  void slice(const infinicore::TensorImpl& from, size_t dim, nb::handle wanted) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(wanted.ptr(), &start, &stop, &step) != 0) nb::raise_python_error();
    const auto extent = static_cast<Py_ssize_t>(from.shape()[dim]);
    const Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
    shape.push_back(static_cast<size_t>(count));
    strides.push_back(count > 1 ? step * from.strides()[dim] : 1);
    if (count > 0) offset += start * from.strides()[dim];
  }
};

std::vector<nb::handle> parts_of(nb::handle key) {
  if (!nb::isinstance<nb::tuple>(key)) return {key};
  std::vector<nb::handle> parts;
  for (nb::handle part : nb::borrow<nb::tuple>(key)) parts.push_back(part);
  return parts;
}

}  // namespace

PyTensor index(const PyTensor& tensor, nb::handle key) {
  const infinicore::TensorImpl& from = *tensor.tensor.operator->();
  const std::vector<nb::handle> parts = parts_of(key);
  size_t named = 0, dots = 0;
  for (nb::handle part : parts) {
    if (part.is(Py_Ellipsis))
      ++dots;
    else if (!part.is_none())
      ++named;
  }
  if (dots > 1 || named > from.ndim()) {
    PyErr_Format(PyExc_IndexError, "%zu indices and %zu times ... for a tensor of %zu dims", named,
                 dots, from.ndim());
    nb::raise_python_error();
  }
  View view;
  size_t dim = 0;
  for (nb::handle part : parts) {
    if (part.is_none()) {
      view.shape.push_back(1);
      view.strides.push_back(1);
    } else if (part.is(Py_Ellipsis)) {
      for (size_t left = from.ndim() - named; left > 0; --left) view.keep(from, dim++);
    } else if (PySlice_Check(part.ptr())) {
      view.slice(from, dim++, part);
    } else if (PyIndex_Check(part.ptr()) && !PyBool_Check(part.ptr())) {
      view.take(from, dim++, part);
    } else {
      fail_type("an index is a ", class_name(part),
                "; expected whole numbers, slices, ... or None");
    }
  }
  while (dim < from.ndim()) view.keep(from, dim++);
  return {from.as_strided(view.shape, view.strides, view.offset), tensor.writable};
}

}  // namespace infini::python
