// Elements of host memory as numbers, whatever their type.
#include "tensor/elements.h"

#include <cstring>
#include <ostream>

#include "base/error.h"
#include "base/float_formats.h"

namespace infinicore::detail {
namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

double load_f8(const std::byte* from) { return infini::f32_from_f8(load<uint8_t>(from)); }
double load_f16(const std::byte* from) { return infini::f32_from_f16(load<uint16_t>(from)); }

void store_f8(std::byte* to, double value) {
  store(to, infini::f8_from_f32(infini::to_odd(value)));
}
void store_f16(std::byte* to, double value) {
  store(to, infini::f16_from_f32(infini::to_odd(value)));
}

}  // namespace

Scalar read_element(const std::byte* from, DataType dtype) {
  using std::complex;
  switch (dtype) {
    case DataType::BOOL: return load<uint8_t>(from) != 0;
    case DataType::I8: return load<int8_t>(from);
    case DataType::I16: return load<int16_t>(from);
    case DataType::I32: return load<int32_t>(from);
    case DataType::I64: return load<int64_t>(from);
    case DataType::BYTE:
    case DataType::U8: return load<uint8_t>(from);
    case DataType::U16: return load<uint16_t>(from);
    case DataType::U32: return load<uint32_t>(from);
    case DataType::U64: return load<uint64_t>(from);
    case DataType::F8: return load_f8(from);
    case DataType::F16: return load_f16(from);
    case DataType::BF16: return infini::f32_from_bf16(load<uint16_t>(from));
    case DataType::F32: return load<float>(from);
    case DataType::F64: return load<double>(from);
    case DataType::C16: return complex<double>(load_f8(from), load_f8(from + 1));
    case DataType::C32: return complex<double>(load_f16(from), load_f16(from + 2));
    case DataType::C64: return load<complex<float>>(from);
    case DataType::C128: return load<complex<double>>(from);
  }
  infini::fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ", static_cast<int>(dtype));
}

void write_element(std::byte* to, DataType dtype, const Scalar& value) {
  const auto real = [&] { return value.to<double>(); };
  const auto both = [&] { return value.to<std::complex<double>>(); };
  switch (dtype) {
    case DataType::BOOL: return store(to, static_cast<uint8_t>(value.to<bool>()));
    case DataType::I8: return store(to, value.to<int8_t>());
    case DataType::I16: return store(to, value.to<int16_t>());
    case DataType::I32: return store(to, value.to<int32_t>());
    case DataType::I64: return store(to, value.to<int64_t>());
    case DataType::BYTE:
    case DataType::U8: return store(to, value.to<uint8_t>());
    case DataType::U16: return store(to, value.to<uint16_t>());
    case DataType::U32: return store(to, value.to<uint32_t>());
    case DataType::U64: return store(to, value.to<uint64_t>());
    case DataType::F8: return store_f8(to, real());
    case DataType::F16: return store_f16(to, real());
    case DataType::BF16: return store(to, infini::bf16_from_f32(infini::to_odd(real())));
    case DataType::F32: return store(to, value.to<float>());
    case DataType::F64: return store(to, real());
    case DataType::C16: return store_f8(to, both().real()), store_f8(to + 1, both().imag());
    case DataType::C32: return store_f16(to, both().real()), store_f16(to + 2, both().imag());
    case DataType::C64: return store(to, value.to<std::complex<float>>());
    case DataType::C128: return store(to, both());
  }
  infini::fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ", static_cast<int>(dtype));
}

}  // namespace infinicore::detail
