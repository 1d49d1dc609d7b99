// infinicore/scalar.hpp: one number of any type, and the element types of C++ types.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "dtype.hpp"
#include "error.hpp"

namespace infinicore {

// DataTypeOf<float>::value is DataType::F32. C++ has no f8, f16 and bf16: specialise it for the classes that you use.
template <class T>
struct DataTypeOf;
// clang-format off
// The types that C++ has.
template <> struct DataTypeOf<std::byte> { static constexpr DataType value = DataType::BYTE; };
template <> struct DataTypeOf<bool> { static constexpr DataType value = DataType::BOOL; };
template <> struct DataTypeOf<std::int8_t> { static constexpr DataType value = DataType::I8; };
template <> struct DataTypeOf<std::int16_t> { static constexpr DataType value = DataType::I16; };
template <> struct DataTypeOf<std::int32_t> { static constexpr DataType value = DataType::I32; };
template <> struct DataTypeOf<std::int64_t> { static constexpr DataType value = DataType::I64; };
template <> struct DataTypeOf<std::uint8_t> { static constexpr DataType value = DataType::U8; };
template <> struct DataTypeOf<std::uint16_t> { static constexpr DataType value = DataType::U16; };
template <> struct DataTypeOf<std::uint32_t> { static constexpr DataType value = DataType::U32; };
template <> struct DataTypeOf<std::uint64_t> { static constexpr DataType value = DataType::U64; };
template <> struct DataTypeOf<float> { static constexpr DataType value = DataType::F32; };
template <> struct DataTypeOf<double> { static constexpr DataType value = DataType::F64; };
template <> struct DataTypeOf<std::complex<float>> { static constexpr DataType value = DataType::C64; };
template <> struct DataTypeOf<std::complex<double>> { static constexpr DataType value = DataType::C128; };
// clang-format on

// Whether memory of this element type may be read as T: T is its type, or a std::byte, or an unsigned integer of its size
// that holds its bits.
template <class T>
bool can_read_as(DataType dtype) {
  using Element = std::remove_cv_t<T>;
  if (std::is_same_v<Element, std::byte>) return true;
  if (dtype == DataTypeOf<Element>::value) return true;
  return std::is_unsigned_v<Element> && !std::is_same_v<Element, bool> &&
         sizeof(Element) == dsize(dtype);
}

// A whole, real or complex number, exactly as it was given.
class Scalar {
 public:
  // What it was given as.
  enum class Kind { Signed, Unsigned, Real, Complex };

  // From any number of C++.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::Real;
      real_ = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::Signed;
      signed_ = value;
    } else {
      kind_ = Kind::Unsigned;
      unsigned_ = value;
    }
  }
  // From a complex one.
  template <class T>
  Scalar(const std::complex<T>& value)
      : kind_(Kind::Complex),
        real_(static_cast<double>(value.real())),
        imaginary_(static_cast<double>(value.imag())) {}

  // What it was given as.
  Kind kind() const { return kind_; }
  // As static_cast would convert it (bool: whether it is not 0); refused where T's range does not hold it.
  template <class T>
  T to() const;

 private:
  template <class T>
  bool is_within() const;
  [[noreturn]] static void fail(const std::string& why) {
    throw Error(INFINI_STATUS_BAD_PARAM, why);
  }
  double as_double() const {
    if (kind_ == Kind::Signed) return static_cast<double>(signed_);
    return kind_ == Kind::Unsigned ? static_cast<double>(unsigned_) : real_;
  }

  Kind kind_;
  std::int64_t signed_ = 0;
  std::uint64_t unsigned_ = 0;
  double real_ = 0, imaginary_ = 0;
};

template <class T>
bool Scalar::is_within() const {
  using Limits = std::numeric_limits<T>;
  if (kind_ == Kind::Unsigned) return unsigned_ <= static_cast<std::uint64_t>(Limits::max());
  if (kind_ == Kind::Signed && std::is_signed_v<T>)
    return signed_ >= static_cast<std::int64_t>(Limits::min()) &&
           signed_ <= static_cast<std::int64_t>(Limits::max());
  if (kind_ == Kind::Signed)
    return signed_ >= 0 &&
           static_cast<std::uint64_t>(signed_) <= static_cast<std::uint64_t>(Limits::max());
  const double whole = std::trunc(real_), end = std::ldexp(1.0, Limits::digits);
  return whole < end && whole >= (std::is_signed_v<T> ? -end : 0.0);  // a NaN is nowhere
}

template <class T>
T Scalar::to() const {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    return {static_cast<Part>(as_double()), static_cast<Part>(imaginary_)};
  } else {
    static_assert(std::is_arithmetic_v<T>, "a number or a std::complex of float or double");
    if (imaginary_ != 0)
      fail("a number with an imaginary part is no real one: ask for a std::complex");
    if constexpr (std::is_same_v<T, bool>) {
      return kind_ == Kind::Signed     ? signed_ != 0
             : kind_ == Kind::Unsigned ? unsigned_ != 0
                                       : real_ != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
      if (kind_ == Kind::Signed) return static_cast<T>(signed_);
      return kind_ == Kind::Unsigned ? static_cast<T>(unsigned_) : static_cast<T>(real_);
    } else {
      if (!is_within<T>())
        fail(std::to_string(as_double()) + " is outside the range of " +
             (std::is_signed_v<T> ? "a signed" : "an unsigned") + " integer of " +
             std::to_string(8 * sizeof(T)) + " bits");
      if (kind_ == Kind::Signed) return static_cast<T>(signed_);
      return kind_ == Kind::Unsigned ? static_cast<T>(unsigned_) : static_cast<T>(real_);
    }
  }
}

}  // namespace infinicore
