// The exception classes, and which failure becomes which.
#include "errors.h"

#include <new>

namespace infini::python {
namespace {

namespace nb = nanobind;

struct Classes {
  PyObject *error, *value, *type, *memory;
};
Classes classes;

PyObject* make_class(nb::module_& module, const char* name, const char* doc, nb::tuple bases,
                     infiniStatus_t status) {
  const std::string full = std::string("infini.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (made == nullptr) nb::raise_python_error();
  nb::setattr(made, "status", nb::int_(static_cast<int>(status)));
  module.attr(name) = nb::borrow(made);
  return made;
}

PyObject* class_of(const infinicore::Error& error) {
  switch (error.status()) {
    case INFINI_STATUS_BAD_TENSOR_DTYPE: return classes.type;
    case INFINI_STATUS_BAD_PARAM:
    case INFINI_STATUS_BAD_TENSOR_SHAPE:
    case INFINI_STATUS_BAD_TENSOR_STRIDES: return classes.value;
    case INFINI_STATUS_OUT_OF_MEMORY: return classes.memory;
    default: return classes.error;
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const infinicore::Error& error) {
    PyObject* exception = PyObject_CallFunction(class_of(error), "s", error.what());
    if (exception == nullptr) return;
    const nb::object status = nb::int_(static_cast<int>(error.status()));
    PyObject_SetAttrString(exception, "status", status.ptr());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    Py_DECREF(exception);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(classes.memory, "out of host memory");  // of the package itself
  } catch (const nb::cast_error&) {  // of what an array's own protocol answered
    PyErr_SetString(
        classes.type,
        "an argument, or what an array says of itself, is of another type than expected");
  }
}

}  // namespace

std::string class_name(nb::handle object) {
  const nb::handle type = object.type();
  return nb::cast<std::string>(nb::getattr(type, "__module__", nb::str(""))) + "." +
         nb::cast<std::string>(nb::getattr(type, "__qualname__"));
}

void bind_errors(nb::module_& module) {
  const auto both = [](PyObject* builtin) {
    return nb::make_tuple(nb::handle(classes.error), nb::handle(builtin));
  };
  classes.error =
      make_class(module, "Error", "What infini refuses or cannot do; `status` is the C API's.",
                 nb::make_tuple(nb::handle(PyExc_RuntimeError)), INFINI_STATUS_INTERNAL_ERROR);
  classes.value =
      make_class(module, "InvalidValue", "A shape, stride, device or number that cannot be.",
                 both(PyExc_ValueError), INFINI_STATUS_BAD_PARAM);
  classes.type = make_class(module, "InvalidType", "No array, or elements of a wrong type.",
                            both(PyExc_TypeError), INFINI_STATUS_BAD_TENSOR_DTYPE);
  classes.memory = make_class(module, "OutOfMemory", "The device or the host has no more memory.",
                              both(PyExc_MemoryError), INFINI_STATUS_OUT_OF_MEMORY);
  nb::register_exception_translator(translate);
}

}  // namespace infini::python
