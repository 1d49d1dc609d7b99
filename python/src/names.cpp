// Names: element types, devices and shapes, as Python writes them.
#include "names.h"

#include <algorithm>
#include <utility>

#include "errors.h"

namespace infini::python {
namespace {

using infinicore::DataType;
using infinicore::Device;

struct Name {
  DataType dtype;
  const char* common;  // NumPy's and PyTorch's
  uint8_t code;        // DLPack's
  int bits;
  const char* format;  // the buffer protocol's, where it has one
};
constexpr Name table[] = {
    {DataType::F32, "float32", dlpack::floating, 32, "f"},
    {DataType::F16, "float16", dlpack::floating, 16, "e"},
    {DataType::BF16, "bfloat16", dlpack::bfloat, 16, nullptr},
    {DataType::F64, "float64", dlpack::floating, 64, "d"},
    {DataType::U8, "uint8", dlpack::uint, 8, "B"},
    {DataType::U16, "uint16", dlpack::uint, 16, "H"},
    {DataType::U32, "uint32", dlpack::uint, 32, "I"},
    {DataType::U64, "uint64", dlpack::uint, 64, "Q"},
    {DataType::I8, "int8", dlpack::int_, 8, "b"},
    {DataType::I16, "int16", dlpack::int_, 16, "h"},
    {DataType::I32, "int32", dlpack::int_, 32, "i"},
    {DataType::I64, "int64", dlpack::int_, 64, "q"},
    {DataType::BOOL, "bool", dlpack::boolean, 8, "?"},
    {DataType::C64, "complex64", dlpack::complex, 64, "Zf"},
    {DataType::C128, "complex128", dlpack::complex, 128, "Zd"},
    {DataType::C32, "complex32", dlpack::complex, 32, nullptr},
    {DataType::C16, "complex16", dlpack::complex, 16, nullptr},
    {DataType::BYTE, "byte", dlpack::uint, 8, "B"},
};

const Name* find(DataType dtype) {
  for (const Name& name : table)
    if (name.dtype == dtype) return &name;
  return nullptr;
}

// "float32" of numpy.float32, numpy.dtype("float32"), torch.float32, "f32" and "float32".
std::string dtype_text(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  for (const char* attribute : {"name", "__name__"})
    if (nb::hasattr(object, attribute)) return nb::cast<std::string>(object.attr(attribute));
  const auto text = nb::cast<std::string>(nb::str(object));
  return text.substr(text.rfind('.') + 1);
}

}  // namespace

std::optional<DataType> Element::known() const {
  if (dtype || swapped) return std::nullopt;
  for (const Name& name : table)
    if (name.code == code && name.bits == bits) return name.dtype;
  return std::nullopt;
}

std::string Element::name() const {
  if (dtype) return nb::cast<std::string>(nb::str(dtype));
  const std::string order = swapped ? "byte-swapped " : "";
  for (const Name& name : table)
    if (name.code == code && name.bits == bits) return order + infinicore::toString(name.dtype);
  return order + std::to_string(bits) + "-bit elements (DLPack type " + std::to_string(code) + ")";
}

Element element_of(DataType dtype) {
  const Name* name = find(dtype);
  Element element;
  element.code = name ? name->code : 255;  // f8: many formats share the size
  element.bits = static_cast<int>(8 * infinicore::dsize(dtype));
  return element;
}

const char* buffer_format(DataType dtype) {
  const Name* name = find(dtype);
  return name ? name->format : nullptr;
}

DataType parse_dtype(nb::handle object) {
  const std::string text = dtype_text(object);
  for (const Name& name : table)
    if (text == name.common || text == infinicore::toString(name.dtype)) return name.dtype;
  if (text == "f8") return DataType::F8;
  fail_type("dtype is ", text,
            "; expected one of f16, bf16, f32, f64, i8 ... u64, bool, c64, c128, or a ",
            "framework's name for it");
}

Device parse_device(nb::handle object) {
  if (!nb::isinstance<nb::str>(object))
    fail_type("device is a ", class_name(object), "; expected a name like 'cpu' or 'nvidia:0'");
  const auto text = nb::cast<std::string>(object);
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon),
                    index = colon == text.npos ? "0" : text.substr(colon + 1);
  const bool is_number =
      !index.empty() && index.size() < 6 &&
      std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
  for (int i = 0; is_number && i < static_cast<int>(Device::Type::COUNT); ++i) {
    const auto type = static_cast<Device::Type>(i);
    if (kind == Device::toString(type) || (kind == "cuda" && type == Device::Type::NVIDIA))
      return {type, static_cast<size_t>(std::stoi(index))};
  }
  fail_value("device is '", text, "'; expected a name like 'cpu' or 'nvidia:0'");
}

Device::Type cuda_type() {
  static const Device::Type here = [] {
    for (const auto type : {Device::Type::NVIDIA, Device::Type::METAX, Device::Type::ILUVATAR})
      if (infinicore::context::getDeviceCount(type) > 0) return type;
    return Device::Type::NVIDIA;
  }();
  return here;
}

std::vector<int64_t> parse_numbers(nb::handle object, const char* name) {
  std::vector<int64_t> numbers;
  const auto add = [&](nb::handle item) {
    const nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index) {
      PyErr_Clear();
      fail_type(name, " holds a ", class_name(item), "; expected whole numbers");
    }
    int overflow = 0;
    numbers.push_back(PyLong_AsLongLongAndOverflow(index.ptr(), &overflow));
    if (overflow != 0)
      fail_value(name, " holds ", nb::cast<std::string>(nb::str(index)),
                 ", which does not fit into 64 bits");
  };
  if (PyIndex_Check(object.ptr())) {
    add(object);
  } else {
    if (!PySequence_Check(object.ptr()))
      fail_type(name, " is a ", class_name(object), "; expected whole numbers");
    for (nb::handle item : nb::borrow(object)) add(item);
  }
  return numbers;
}

std::vector<int64_t> parse_numbers(const nb::args& arguments, const char* name) {
  return parse_numbers(arguments.size() == 1 ? nb::handle(arguments[0]) : nb::handle(arguments),
                       name);
}

infinicore::Shape parse_shape(nb::handle object) {
  infinicore::Shape shape;
  for (const int64_t extent : parse_numbers(object, "shape")) {
    if (extent < 0) fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "shape has a dim of ", extent);
    shape.push_back(static_cast<size_t>(extent));
  }
  return shape;
}

infinicore::Shape parse_order(std::vector<int64_t> dims, int64_t rank) {
  infinicore::Shape order;
  for (int64_t dim : dims) order.push_back(parse_dim(dim, rank));
  return order;
}

size_t parse_dim(int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank) fail_value("dim is ", dim, "; the array has ", rank, " dims");
  return static_cast<size_t>(dim < 0 ? dim + rank : dim);
}

nb::tuple to_tuple(const int64_t* numbers, int count) {
  nb::object tuple = nb::steal(PyTuple_New(count));
  if (!tuple) nb::raise_python_error();
  for (int i = 0; i < count; ++i) PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLongLong(numbers[i]));
  return nb::borrow<nb::tuple>(tuple);
}

}  // namespace infini::python
