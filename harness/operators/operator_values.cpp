// Numbers in elements of any type, and random ones for operands.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/dtype.h"
#include "base/float_formats.h"
#include "harness/operators/operator_table.h"

namespace infini::harness {
namespace {

struct FloatFormat {
  int digits, least_exponent;
  double largest;
};

FloatFormat format_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return {11, -14, 65504};
    case INFINI_DTYPE_BF16: return {8, -126, 0x1.fep127};
    case INFINI_DTYPE_F32: return {24, -126, 0x1.fffffep127};
    default: return {53, -1022, 0x1.fffffffffffffp1023};
  }
}

// To nearest even, in one step.
double rounded_float(double x, infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F64 || x == 0 || !std::isfinite(x)) return x;
  const FloatFormat format = format_of(dtype);
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const double quantum = std::ldexp(1.0, exponent - format.digits + 1);
  const double result = std::nearbyint(x / quantum) * quantum;
  return std::abs(result) > format.largest ? std::copysign(INFINITY, x) : result;
}

template <class T>
double as(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return static_cast<double>(value);
}
template <class T>
void put(char* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

bool is_unsigned(infiniDtype_t dtype) {
  return dtype >= INFINI_DTYPE_U8 && dtype <= INFINI_DTYPE_U64;
}

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random.between(0, 1 << 20)) / (1 << 20);
}

// What a cast has to be right about: fractions, ties, values that do not fit, what is no number.
double random_for_cast(Random& random, infiniDtype_t dtype) {
  if (!is_float_type(dtype))  // negative ones would wrap around to what a double cannot say
    return rounded_to(
        static_cast<double>(random.between(dtype == INFINI_DTYPE_U64 ? 0 : -70000, 70000)), dtype);
  constexpr double special[] = {NAN, INFINITY, -INFINITY, 0.5, 1.5, -2.5, 1e10, -1e10, -0.0, 1e-7};
  const double x = random.one_in(5) ? special[random.between(0, 9)] : uniform(random, -400, 400);
  return rounded_to(x, dtype);
}

}  // namespace

bool is_float_type(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32 ||
         dtype == INFINI_DTYPE_F64;
}

double rounded_to(double value, infiniDtype_t dtype) {
  if (is_float_type(dtype)) return rounded_float(value, dtype);
  char place[8];
  write_number(dtype, place, value);
  return read_number(dtype, place);
}

double read_number(infiniDtype_t dtype, const char* place) {
  uint16_t bits;
  std::memcpy(&bits, place, std::min<size_t>(2, static_cast<size_t>(dtype_bytes(dtype))));
  switch (dtype) {
    case INFINI_DTYPE_F16: return f32_from_f16(bits);
    case INFINI_DTYPE_BF16: return f32_from_bf16(bits);
    case INFINI_DTYPE_F32: return as<float>(place);
    case INFINI_DTYPE_F64: return as<double>(place);
    case INFINI_DTYPE_I8: return as<int8_t>(place);
    case INFINI_DTYPE_I16: return as<int16_t>(place);
    case INFINI_DTYPE_I32: return as<int32_t>(place);
    case INFINI_DTYPE_I64: return as<int64_t>(place);
    case INFINI_DTYPE_U16: return as<uint16_t>(place);
    case INFINI_DTYPE_U32: return as<uint32_t>(place);
    case INFINI_DTYPE_U64: return as<uint64_t>(place);
    default: return as<uint8_t>(place);
  }
}

void write_number(infiniDtype_t dtype, char* place, double value) {
  const double x = is_float_type(dtype) ? rounded_float(value, dtype) : 0;
  const auto whole = is_float_type(dtype) ? 0 : static_cast<int64_t>(value);
  switch (dtype) {
    case INFINI_DTYPE_F16: return put(place, f16_from_f32(static_cast<float>(x)));
    case INFINI_DTYPE_BF16: return put(place, bf16_from_f32(static_cast<float>(x)));
    case INFINI_DTYPE_F32: return put(place, static_cast<float>(x));
    case INFINI_DTYPE_F64: return put(place, x);
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16: return put(place, static_cast<uint16_t>(whole));
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32: return put(place, static_cast<uint32_t>(whole));
    case INFINI_DTYPE_I64:
    case INFINI_DTYPE_U64: return put(place, whole);
    case INFINI_DTYPE_BOOL: return put(place, static_cast<uint8_t>(whole != 0));
    default: return put(place, static_cast<uint8_t>(whole));
  }
}

double random_value(Random& random, const OperatorProblem& problem, int operand) {
  const infiniDtype_t dtype = problem.operands[operand].dtype;
  if (problem.function == Function::cast) return random_for_cast(random, dtype);
  if (problem.function == Function::convert) return random_for_convert(random, problem, operand);
  if (problem.function == Function::rope && operand == 2)
    return static_cast<double>(
        random.between(0, std::min<int64_t>(problem.operands[3].shape[0] - 1, 100)));
  if (!is_float_type(dtype))
    return static_cast<double>(random.between(is_unsigned(dtype) ? 0 : -11, 11));
  const double reach = problem.function == Function::rope && operand > 2 ? 1 : 9;
  return rounded_to(uniform(random, -reach, reach), dtype);
}

}  // namespace infini::harness
