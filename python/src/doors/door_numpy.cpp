// NumPy's doors: __array_struct__, which is fast, and __array_interface__, which is easy to offer.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "doors.h"
#include "errors.h"
#include "names.h"
#include "numpy_head.h"

namespace infini::python {
namespace {

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

// True for numbers.
bool name_number(Array& array, char kind) {
  array.element.bits = static_cast<int>(8 * array.itemsize);
  switch (kind) {
    case 'f': array.element.code = dlpack::floating; return true;
    case 'i': array.element.code = dlpack::int_; return true;
    case 'u': array.element.code = dlpack::uint; return true;
    case 'b': array.element.code = dlpack::boolean; return true;
    case 'c': array.element.code = dlpack::complex; return true;
    default: return false;
  }
}

void name_element(Array& array, char kind, const char* name) {
  if (name_number(array, kind)) return;
  if (array.framework->family != Framework::Family::numpy)
    fail_type(name, " has elements of NumPy's kind '", kind, "', which are no numbers");
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

// "<f4": byte order, kind, bytes.
void name_by_typestr(Array& array, nb::handle typestr, const char* name) {
  const auto text =
      nb::isinstance<nb::str>(typestr) ? nb::cast<std::string>(typestr) : std::string();
  const std::string digits = text.size() > 2 ? text.substr(2) : std::string();
  const bool is_size =
      !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == digits.npos;
  array.itemsize = is_size ? std::stoi(digits) : 0;
  if (array.itemsize == 0 || std::strchr("<>|=", text[0]) == nullptr ||
      !name_number(array, text[1]))
    fail_type(name, " has the typestr '", text, "'; expected numbers, like '<f4'");
  array.element.swapped = text[0] == '>' && array.itemsize > 1;
}

// `data` is (address, whether it is read-only), an object with a buffer, or None for the array's
// own buffer, in which `offset` is where the first element lies.
void take_memory(Array& array, nb::handle data, nb::handle offset, const char* name) {
  if (nb::isinstance<nb::tuple>(data)) {
    if (nb::len(data) != 2) fail_value(name, " has an __array_interface__ whose data are no pair");
    array.data = reinterpret_cast<void*>(nb::cast<uintptr_t>(data[0]));
    array.writable = !nb::cast<bool>(data[1]);
    return;
  }
  const auto held = hold_buffer(data.is_none() ? array.object : data);
  const int64_t start = offset.is_none() ? 0 : nb::cast<int64_t>(offset);
  int64_t below, above;
  const bool inside = array.reach(below, above) && start >= 0 && start <= held->len &&
                      below >= -start && above <= held->len - start;
  if (!inside && !array.is_empty())
    fail_value(name, " has elements outside of its buffer of ", held->len, " bytes");
  array.data = static_cast<char*>(held->buf) + start;
  array.writable = !held->readonly;
  array.keeper = held;
}

}  // namespace

void read_array_struct(Array& array, const char* name) {
  if (array.framework->is_ndarray && read_numpy_head(array)) return;
  static PyObject* const attribute = PyUnicode_InternFromString("__array_struct__");
  const nb::object capsule = nb::steal(PyObject_GetAttr(array.object.ptr(), attribute));
  const auto* face =
      capsule ? static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr))
              : nullptr;
  if (face == nullptr) nb::raise_python_error();
  // NumPy's scalars and others' objects may have made an array for the occasion.
  if (!array.framework->is_ndarray) array.keeper = std::make_shared<nb::object>(capsule);
  set_rank(array, face->rank, name);
  array.data = face->data;
  array.itemsize = face->itemsize;
  array.writable = face->flags & writeable && !array.framework->is_numpy_scalar();
  array.element.swapped = !(face->flags & not_swapped);
  for (int i = 0; i < array.rank; ++i) {
    array.shape[i] = face->shape[i];
    array.steps[i] = face->strides[i];
  }
  name_element(array, face->kind, name);
  if (array.itemsize == 0) fail_type(name, " has elements of 0 bytes");
  if (array.framework->is_ndarray) learn_numpy_head(array);
}

void read_array_interface(Array& array, const char* name) {
  const nb::object face = array.object.attr("__array_interface__");
  if (!nb::isinstance<nb::dict>(face))
    fail_type(name, " has an __array_interface__ that is no dict");
  const auto part = [&](const char* key) {
    const nb::str text(key);
    PyObject* found = PyDict_GetItemWithError(face.ptr(), text.ptr());
    return found ? nb::borrow(found) : nb::none();
  };
  if (!part("mask").is_none())
    fail_type(name, " is a masked array, whose mask would be lost: use its data, or filled()");
  name_by_typestr(array, part("typestr"), name);
  const std::vector<int64_t> shape = parse_numbers(part("shape"), "__array_interface__['shape']");
  set_rank(array, static_cast<int64_t>(shape.size()), name);
  std::copy(shape.begin(), shape.end(), array.shape);
  set_dense_steps(array);
  if (const nb::object strides = part("strides"); !strides.is_none()) {
    const std::vector<int64_t> steps = parse_numbers(strides, "__array_interface__['strides']");
    if (steps.size() != shape.size())
      fail_value(name, " has ", shape.size(), " dims and ", steps.size(), " strides");
    std::copy(steps.begin(), steps.end(), array.steps);
  }
  take_memory(array, part("data"), part("offset"), name);
}

}  // namespace infini::python
