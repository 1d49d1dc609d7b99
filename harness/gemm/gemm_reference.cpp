// The naive gemm reference.
#include "harness/gemm/gemm_reference.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/dtype.h"
#include "base/error.h"
#include "base/float_formats.h"

namespace infini::harness {
namespace {

template <class T>
T get(const char* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

template <class T>
void put(char* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// A float that rounds to the same 16-bit value as the wider one: double rounding is avoided by
// rounding to odd first.
float round_to_odd(long double value) {
  const auto nearest = static_cast<float>(value);
  if (nearest == value || !std::isfinite(nearest)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1u) return nearest;
  const bool up = (value > nearest) == (nearest >= 0);  // away from zero
  bits = nearest == 0 ? 1u | (value < 0 ? 0x80000000u : 0u) : up ? bits + 1 : bits - 1;
  return std::bit_cast<float>(bits);
}

// Products of two f32 are exact in a double.
template <class T>
GemmElement dot(infiniDtype_t dtype, const char* a, int64_t a_step, const char* b, int64_t b_step,
                int64_t k) {
  T sum = 0, magnitude = 0;
  for (int64_t i = 0; i < k; ++i) {
    const T term = static_cast<T>(read_element(dtype, a + i * a_step)) *
                   static_cast<T>(read_element(dtype, b + i * b_step));
    sum += term;
    magnitude += std::fabs(term);
  }
  return {sum, magnitude};
}

}  // namespace

long double read_element(infiniDtype_t dtype, const char* place) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return f32_from_f16(get<uint16_t>(place));
    case INFINI_DTYPE_BF16: return f32_from_bf16(get<uint16_t>(place));
    case INFINI_DTYPE_F32: return get<float>(place);
    case INFINI_DTYPE_F64: return get<double>(place);
    default: fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "no gemm of ", dtype_name(dtype));
  }
}

void write_element(infiniDtype_t dtype, char* place, long double value) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return put(place, f16_from_f32(round_to_odd(value)));
    case INFINI_DTYPE_BF16: return put(place, bf16_from_f32(round_to_odd(value)));
    case INFINI_DTYPE_F32: return put(place, static_cast<float>(value));
    case INFINI_DTYPE_F64: return put(place, static_cast<double>(value));
    default: fail(INFINI_STATUS_BAD_TENSOR_DTYPE, "no gemm of ", dtype_name(dtype));
  }
}

double unit_roundoff(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? 0x1p-11
         : dtype == INFINI_DTYPE_BF16 ? 0x1p-8
         : dtype == INFINI_DTYPE_F32  ? 0x1p-24
                                      : 0x1p-53;
}

double half_denormal(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? 0x1p-25
         : dtype == INFINI_DTYPE_BF16 ? 0x1p-134
         : dtype == INFINI_DTYPE_F32  ? 0x1p-150
                                      : 0x1p-1074;
}

int64_t element_offset(const Layout& layout, int64_t batch, int64_t row, int64_t col) {
  const int r = layout.rank - 2;
  const auto step = [&](int dim, int64_t index) {
    return layout.shape[dim] <= 1 ? 0 : index * layout.strides[dim];
  };
  const int64_t elements = (r == 1 ? step(0, batch) : 0) + step(r, row) + step(r + 1, col);
  return elements * dtype_bytes(layout.dtype);
}

GemmElement naive_gemm_element(const GemmProblem& p, const char* a, const char* b, int64_t batch,
                               int64_t row, int64_t col) {
  const int64_t k = p.a.shape[p.a.rank - 1];
  const auto walk = [&](const char* x, const Layout& layout, int64_t r0, int64_t c0, int64_t r1,
                        int64_t c1) {  // where k starts, and the step to its next element
    const int64_t first = element_offset(layout, batch, r0, c0);
    return std::pair(x + first, element_offset(layout, batch, r1, c1) - first);
  };
  const auto left = walk(a, p.a, row, 0, row, 1), right = walk(b, p.b, 0, col, 1, col);
  return p.a.dtype == INFINI_DTYPE_F64
             ? dot<long double>(p.a.dtype, left.first, left.second, right.first, right.second, k)
             : dot<double>(p.a.dtype, left.first, left.second, right.first, right.second, k);
}

}  // namespace infini::harness
