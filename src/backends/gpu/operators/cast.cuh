// Cast: what is read becomes a double or an integer, both exact, and is rounded once from there.
#pragma once

#include "backends/gpu/operators/exact.cuh"

namespace infini::gpu {

__device__ inline Exact exact_integer(int64_t x) {
  return {x < 0 ? Exact::negative : Exact::natural, 0,
          x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x)};
}

__device__ inline Exact load_exact(const char* p, infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return {Exact::real, widened(*reinterpret_cast<const Half*>(p)), 0};
    case INFINI_DTYPE_BF16: return {Exact::real, widened(*reinterpret_cast<const Bfloat*>(p)), 0};
    case INFINI_DTYPE_F32: return {Exact::real, *reinterpret_cast<const float*>(p), 0};
    case INFINI_DTYPE_F64: return {Exact::real, *reinterpret_cast<const double*>(p), 0};
    case INFINI_DTYPE_U64: return {Exact::natural, 0, *reinterpret_cast<const uint64_t*>(p)};
    case INFINI_DTYPE_BOOL: return exact_integer(*reinterpret_cast<const uint8_t*>(p) != 0);
    case INFINI_DTYPE_BYTE: return exact_integer(*reinterpret_cast<const uint8_t*>(p));
    default: return exact_integer(integer_at(p, dtype));
  }
}

// Rounded to nearest even and saturated to low..high; NaN is 0.
__device__ inline int64_t to_integer(const Exact& x, int64_t low, uint64_t high) {
  uint64_t magnitude = x.natural_;
  bool negative = x.kind == Exact::negative;
  if (x.kind == Exact::real) {
    if (x.value != x.value) return 0;
    const double rounded = rint(x.value);
    negative = rounded < 0;
    magnitude =
        fabs(rounded) >= 18446744073709551616.0 ? UINT64_MAX : static_cast<uint64_t>(fabs(rounded));
  }
  if (!negative) return static_cast<int64_t>(magnitude < high ? magnitude : high);
  const uint64_t least = ~static_cast<uint64_t>(low) + 1;  // its magnitude
  return magnitude < least ? -static_cast<int64_t>(magnitude) : low;
}

__device__ inline void store_rounded(char* p, infiniDtype_t dtype, const Exact& x) {
  const double sign = x.kind == Exact::negative ? -1 : 1;
  switch (dtype) {
    case INFINI_DTYPE_F16: round_to(*reinterpret_cast<Half*>(p), to_odd(x)); return;
    case INFINI_DTYPE_BF16: round_to(*reinterpret_cast<Bfloat*>(p), to_odd(x)); return;
    case INFINI_DTYPE_F32:
      *reinterpret_cast<float*>(p) =
          x.kind == Exact::real ? static_cast<float>(x.value)
                                : static_cast<float>(sign) * static_cast<float>(x.natural_);
      return;
    case INFINI_DTYPE_F64:
      *reinterpret_cast<double*>(p) =
          x.kind == Exact::real ? x.value : sign * static_cast<double>(x.natural_);
      return;
    case INFINI_DTYPE_BOOL:
      *reinterpret_cast<uint8_t*>(p) = x.kind == Exact::real ? x.value != 0 : x.natural_ != 0;
      return;
    case INFINI_DTYPE_I8: put_integer(p, dtype, to_integer(x, -128, 127)); return;
    case INFINI_DTYPE_I16: put_integer(p, dtype, to_integer(x, -32768, 32767)); return;
    case INFINI_DTYPE_I32: put_integer(p, dtype, to_integer(x, INT32_MIN, INT32_MAX)); return;
    case INFINI_DTYPE_I64: put_integer(p, dtype, to_integer(x, INT64_MIN, INT64_MAX)); return;
    case INFINI_DTYPE_U16: put_integer(p, dtype, to_integer(x, 0, UINT16_MAX)); return;
    case INFINI_DTYPE_U32: put_integer(p, dtype, to_integer(x, 0, UINT32_MAX)); return;
    case INFINI_DTYPE_U64: put_integer(p, dtype, to_integer(x, 0, UINT64_MAX)); return;
    default: put_integer(p, INFINI_DTYPE_U8, to_integer(x, 0, UINT8_MAX)); return;
  }
}

// Between f16, bf16 and f32, `count` at once: each is exact as f32.
template <class To, class From, int count>
__global__ void __launch_bounds__(operator_threads)
    cast_floats(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                uint32_t units) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), first = (unit - row * per_row.divisor) * count;
    uint32_t index;
    const auto place = place_operator_row<2>(nest, base, row, index);
    const auto x = load_pack<From, count>(place.at[1], nest.row_steps[1], first);
    Numbers<To, count> y;
#pragma unroll
    for (int i = 0; i < count; ++i) y.v[i] = widened(x.at(i));
    store_pack(place.at[0], nest.row_steps[0], first, rounded_pack<To, count>(y));
  }
}

static __global__ void __launch_bounds__(operator_threads)
    cast_elements(const __grid_constant__ RowNest nest, RowPointers base, FastDivisor per_row,
                  uint32_t units) {
  wait_for_predecessor();
  for (uint32_t unit = blockIdx.x * operator_threads + threadIdx.x; unit < units;
       unit += gridDim.x * operator_threads) {
    const uint32_t row = divide(unit, per_row), i = unit - row * per_row.divisor;
    uint32_t index;
    const auto place = place_operator_row<2>(nest, base, row, index);
    store_rounded(place.at[0] + i * nest.row_steps[0], nest.dtypes[0],
                  load_exact(place.at[1] + i * nest.row_steps[1], nest.dtypes[1]));
  }
}

}  // namespace infini::gpu
