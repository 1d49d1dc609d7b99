// Elements as Python's numbers, and back. The narrow formats are decoded and rounded here, so that
// nothing but Python is needed.
#include "numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "errors.h"
#include "names.h"

namespace infini::python {
namespace {

using infinicore::DataType;

// A binary format of at most 16 bits: the sign, the exponent, the mantissa.
struct Narrow {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // else its place holds numbers, and NaN is all ones

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
  uint32_t nan() const {
    return has_infinity ? infinity() | 1u << (mantissa_bits - 1) : sign() - 1;
  }

  double decode(uint32_t bits) const {
    const uint32_t magnitude = bits & (sign() - 1);
    const auto exponent = static_cast<int>(magnitude >> mantissa_bits);
    const uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
    double value;
    if (has_infinity ? magnitude > infinity() : magnitude == nan())
      value = std::numeric_limits<double>::quiet_NaN();
    else if (has_infinity && magnitude == infinity())
      value = std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      value = std::ldexp(mantissa, 1 - bias() - mantissa_bits);
    else
      value = std::ldexp(mantissa | 1u << mantissa_bits, exponent - bias() - mantissa_bits);
    return bits & sign() ? -value : value;
  }
  uint32_t encode(double value) const {
    const uint32_t side = std::signbit(value) ? sign() : 0;
    if (std::isnan(value)) return side | nan();
    const double size = std::fabs(value);
    const int lowest = 1 - bias();
    const int exponent =
        size == 0 ? lowest : std::max(lowest, std::min(std::ilogb(size), bias() + 2));
    // With its leading one, which adds 1 to the exponent's field; denormals have none.
    const double units = std::nearbyint(std::ldexp(size, mantissa_bits - exponent));
    const double bits = units + std::ldexp(exponent - lowest, mantissa_bits);
    const uint32_t last = has_infinity ? infinity() : nan();
    return side | (bits >= last ? last : static_cast<uint32_t>(bits));
  }
};
constexpr Narrow f16{5, 10, true}, bf16{8, 7, true}, f8{4, 3, false};

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

bool is_complex(DataType dtype) {
  return dtype == DataType::C16 || dtype == DataType::C32 || dtype == DataType::C64 ||
         dtype == DataType::C128;
}

// One half of a complex number.
DataType part_of(DataType dtype) {
  switch (dtype) {
    case DataType::C16: return DataType::F8;
    case DataType::C32: return DataType::F16;
    case DataType::C64: return DataType::F32;
    default: return DataType::F64;
  }
}

double load_real(const std::byte* p, DataType dtype) {
  switch (dtype) {
    case DataType::F8: return f8.decode(load<uint8_t>(p));
    case DataType::F16: return f16.decode(load<uint16_t>(p));
    case DataType::BF16: return bf16.decode(load<uint16_t>(p));
    case DataType::F32: return load<float>(p);
    default: return load<double>(p);
  }
}

void store_real(std::byte* p, DataType dtype, double value) {
  switch (dtype) {
    case DataType::F8: return store(p, static_cast<uint8_t>(f8.encode(value)));
    case DataType::F16: return store(p, static_cast<uint16_t>(f16.encode(value)));
    case DataType::BF16: return store(p, static_cast<uint16_t>(bf16.encode(value)));
    case DataType::F32: return store(p, static_cast<float>(value));
    default: return store(p, value);
  }
}

[[noreturn]] void refuse(nb::handle value, DataType dtype) {
  PyErr_Clear();
  fail_type("value is ", nb::cast<std::string>(nb::repr(value)), ", which is no number of type ",
            infinicore::toString(dtype));
}

template <class T>
void store_whole(std::byte* p, DataType dtype, nb::handle value) {
  const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
  if (!whole) refuse(value, dtype);
  T number{};
  if (!nb::try_cast<T>(whole, number))
    fail_value("value is ", nb::cast<std::string>(nb::str(whole)), ", which does not fit into ",
               infinicore::toString(dtype));
  store(p, number);
}

nb::object list_of(const infinicore::TensorImpl& tensor, const std::byte* p, size_t dim) {
  if (dim == tensor.ndim()) return to_number(p, tensor.dtype());
  const int64_t step = tensor.strides()[dim] * static_cast<int64_t>(tensor.element_size());
  nb::list list;
  for (size_t i = 0; i < tensor.shape()[dim]; ++i)
    list.append(list_of(tensor, p + static_cast<int64_t>(i) * step, dim + 1));
  return list;
}

}  // namespace

nb::object to_number(const std::byte* p, DataType dtype) {
  switch (dtype) {
    case DataType::BOOL: return nb::bool_(load<uint8_t>(p) != 0);
    case DataType::I8: return nb::int_(load<int8_t>(p));
    case DataType::I16: return nb::int_(load<int16_t>(p));
    case DataType::I32: return nb::int_(load<int32_t>(p));
    case DataType::I64: return nb::int_(load<int64_t>(p));
    case DataType::BYTE:
    case DataType::U8: return nb::int_(load<uint8_t>(p));
    case DataType::U16: return nb::int_(load<uint16_t>(p));
    case DataType::U32: return nb::int_(load<uint32_t>(p));
    case DataType::U64: return nb::int_(load<uint64_t>(p));
    default: break;
  }
  if (!is_complex(dtype)) return nb::float_(load_real(p, dtype));
  const DataType part = part_of(dtype);
  return nb::steal(
      PyComplex_FromDoubles(load_real(p, part), load_real(p + infinicore::dsize(part), part)));
}

void from_number(std::byte* p, DataType dtype, nb::handle value) {
  switch (dtype) {
    case DataType::BOOL: {
      const int truth = PyObject_IsTrue(value.ptr());
      if (truth < 0) refuse(value, dtype);
      return store(p, static_cast<uint8_t>(truth));
    }
    case DataType::I8: return store_whole<int8_t>(p, dtype, value);
    case DataType::I16: return store_whole<int16_t>(p, dtype, value);
    case DataType::I32: return store_whole<int32_t>(p, dtype, value);
    case DataType::I64: return store_whole<int64_t>(p, dtype, value);
    case DataType::BYTE:
    case DataType::U8: return store_whole<uint8_t>(p, dtype, value);
    case DataType::U16: return store_whole<uint16_t>(p, dtype, value);
    case DataType::U32: return store_whole<uint32_t>(p, dtype, value);
    case DataType::U64: return store_whole<uint64_t>(p, dtype, value);
    default: break;
  }
  if (is_complex(dtype)) {
    // complex(value), but for text, which it would parse.
    PyObject* const type = reinterpret_cast<PyObject*>(&PyComplex_Type);
    const nb::object number = nb::steal(
        nb::isinstance<nb::str>(value) ? nullptr
                                       : PyObject_CallFunctionObjArgs(type, value.ptr(), nullptr));
    if (!number.is_valid()) refuse(value, dtype);
    const DataType part = part_of(dtype);
    store_real(p, part, PyComplex_RealAsDouble(number.ptr()));
    return store_real(p + infinicore::dsize(part), part, PyComplex_ImagAsDouble(number.ptr()));
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred()) refuse(value, dtype);
  store_real(p, dtype, number);
}

nb::object to_list(const infinicore::Tensor& host) {
  return list_of(*host.operator->(), host->data(), 0);
}

}  // namespace infini::python
