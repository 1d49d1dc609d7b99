// The buffer protocol's door.
#include <cstring>
#include <string>

#include "doors.h"
#include "errors.h"

namespace infini::python {
namespace {

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

std::shared_ptr<Py_buffer> released_in_the_end(std::unique_ptr<Py_buffer> buffer) {
  return {buffer.release(), [](Py_buffer* held) {
            PyBuffer_Release(held);
            delete held;
          }};
}

}  // namespace

std::shared_ptr<Py_buffer> hold_buffer(nb::handle object) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS) != 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0)
      nb::raise_python_error();
  }
  return released_in_the_end(std::move(buffer));
}

namespace {

void take_buffer(Array& array, const std::shared_ptr<Py_buffer>& held, const char* name) {
  const Py_buffer& view = *held;
  array.keeper = held;
  set_rank(array, view.ndim, name);
  array.data = view.buf;
  array.itemsize = view.itemsize;
  array.writable = !view.readonly;
  array.element = element_of_format(view.format, view.itemsize, name);
  for (int i = 0; i < array.rank; ++i) array.shape[i] = view.shape[i];
  if (view.strides == nullptr) return set_dense_steps(array);
  for (int i = 0; i < array.rank; ++i) array.steps[i] = view.strides[i];
}

}  // namespace

void read_buffer(Array& array, const char* name) {
  take_buffer(array, hold_buffer(array.object), name);
}

bool try_read_only_buffer(Array& array, const char* name) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(array.object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return false;
  }
  take_buffer(array, released_in_the_end(std::move(buffer)), name);
  return true;
}

}  // namespace infini::python
