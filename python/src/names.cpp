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
  const char* brief;   // NumPy's, which counts bytes
  uint8_t code;        // DLPack's
  int bits;
  const char* format;  // the buffer protocol's, where it has one
};
constexpr Name table[] = {
    {DataType::F32, "float32", "f4", dlpack::floating, 32, "f"},
    {DataType::F16, "float16", "f2", dlpack::floating, 16, "e"},
    {DataType::BF16, "bfloat16", nullptr, dlpack::bfloat, 16, nullptr},
    {DataType::F64, "float64", "f8", dlpack::floating, 64, "d"},
    {DataType::U8, "uint8", "u1", dlpack::uint, 8, "B"},
    {DataType::U16, "uint16", "u2", dlpack::uint, 16, "H"},
    {DataType::U32, "uint32", "u4", dlpack::uint, 32, "I"},
    {DataType::U64, "uint64", "u8", dlpack::uint, 64, "Q"},
    {DataType::I8, "int8", "i1", dlpack::int_, 8, "b"},
    {DataType::I16, "int16", "i2", dlpack::int_, 16, "h"},
    {DataType::I32, "int32", "i4", dlpack::int_, 32, "i"},
    {DataType::I64, "int64", "i8", dlpack::int_, 64, "q"},
    {DataType::BOOL, "bool", "b1", dlpack::boolean, 8, "?"},
    {DataType::C64, "complex64", "c8", dlpack::complex, 64, "Zf"},
    {DataType::C128, "complex128", "c16", dlpack::complex, 128, "Zd"},
    {DataType::C32, "complex32", nullptr, dlpack::complex, 32, nullptr},
    {DataType::C16, "complex16", nullptr, dlpack::complex, 16, nullptr},
    {DataType::F8, "float8_e4m3fn", nullptr, dlpack::float8_e4m3fn, 8, nullptr},
    {DataType::BYTE, "uint8", nullptr, dlpack::uint, 8, "B"},
};

const Name* find(DataType dtype) {
  for (const Name& name : table)
    if (name.dtype == dtype) return &name;
  return nullptr;
}

// infini._dtype.DType
nb::handle own_names() {
  static const nb::handle type =
      nb::getattr(nb::module_::import_("infini._dtype"), "DType").release();
  return type;
}

// "float32" of numpy.float32, numpy.dtype("float32"), torch.float32, "f32" and "float32".
std::string dtype_text(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (nb::hasattr(object, "byteorder") && nb::str(object.attr("byteorder")).equal(nb::str(">")))
    fail_type("dtype is ", nb::cast<std::string>(nb::str(object)), ", of the other byte order");
  for (const char* attribute : {"name", "__name__"})
    if (nb::hasattr(object, attribute))
      return nb::cast<std::string>(nb::str(object.attr(attribute)));
  const auto text = nb::cast<std::string>(nb::str(object));
  return text.substr(text.rfind('.') + 1);
}

// By infini's names, which count bits.
const Name* find_own(const std::string& text) {
  for (const Name& name : table)
    if (text == infinicore::toString(name.dtype)) return &name;
  return nullptr;
}

// By NumPy's and PyTorch's. Before a byte order NumPy's brief names stand alone.
const Name* find_common(const std::string& text) {
  if (text == "byte") return find(DataType::I8);
  if (text == "?") return find(DataType::BOOL);
  const bool ordered = !text.empty() && std::string("<=|").find(text[0]) != std::string::npos;
  for (const Name& name : table)
    if ((!ordered && text == name.common) || (name.brief && text.substr(ordered) == name.brief))
      return &name;
  return nullptr;
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
  element.code = name->code;
  element.bits = static_cast<int>(8 * infinicore::dsize(dtype));
  return element;
}

const char* buffer_format(DataType dtype) {
  const Name* name = find(dtype);
  return name ? name->format : nullptr;
}

DataType parse_dtype(nb::handle object) {
  const std::string text = dtype_text(object);
  const Name* own = find_own(text);
  if (own && nb::isinstance(object, own_names())) return own->dtype;
  const Name* common = find_common(text);
  if (own && common && own != common)
    fail_type("dtype '", text, "' is ", own->common, " to infini and ", common->common,
              " to NumPy: write one of these");
  if (own || common) return (own ? own : common)->dtype;
  fail_type("dtype is ", text,
            "; expected one of f16, bf16, f32, f64, int8, i16 ... u64, bool, c64, c128, or a ",
            "framework's name for it");
}

nb::object name_of(DataType dtype) {
  return own_names()(nb::str(infinicore::toString(dtype).c_str()));
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
  // Arrays of one dim look like numbers, too.
  const bool is_number = PyIndex_Check(object.ptr()) &&
                         !(PySequence_Check(object.ptr()) && PySequence_Size(object.ptr()) >= 0);
  PyErr_Clear();
  if (is_number) {
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
