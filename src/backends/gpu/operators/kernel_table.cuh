// Which kernel runs an operator: by its function and its elements' types.
#pragma once

#include "backends/gpu/operators/cast.cuh"
#include "backends/gpu/operators/kernels.h"
#include "backends/gpu/operators/map.cuh"
#include "backends/gpu/operators/norm.cuh"
#include "backends/gpu/operators/rope.cuh"
#include "backends/gpu/operators/softmax.cuh"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

template <class Use>
auto with_float(infiniDtype_t dtype, Use use) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return use(Half{});
    case INFINI_DTYPE_BF16: return use(Bfloat{});
    case INFINI_DTYPE_F32: return use(float{});
    default: return use(double{});
  }
}
template <class Use>
auto with_number(infiniDtype_t dtype, Use use) {
  if (dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32 ||
      dtype == INFINI_DTYPE_F64)
    return with_float(dtype, use);
  switch (dtype_bytes(dtype)) {
    case 1: return use(uint8_t{});
    case 2: return use(uint16_t{});
    case 4: return use(uint32_t{});
    default: return use(uint64_t{});
  }
}

bool is_short_float(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32;
}

template <class To>
Kernels cast_kernels(infiniDtype_t from) {
  constexpr int narrow = vector / (sizeof(To) == 4 ? 4 : 2), wide = vector / 4;
  const void* const any = kernel_address(cast_elements);
  switch (from) {
    case INFINI_DTYPE_F16: return {any, kernel_address(cast_floats<To, Half, narrow>), narrow};
    case INFINI_DTYPE_BF16: return {any, kernel_address(cast_floats<To, Bfloat, narrow>), narrow};
    default: return {any, kernel_address(cast_floats<To, float, wide>), wide};
  }
}

// The two elements of a pair of rope, in both operands.
bool are_neighbours(const OperatorPlan& plan) {
  const int64_t bytes = dtype_bytes(plan.dtypes[0]);
  return plan.pair_steps[0] == bytes && plan.pair_steps[1] == bytes;
}

Kernels kernels_of_cast(const OperatorPlan& plan) {
  if (!is_short_float(plan.dtypes[0]) || !is_short_float(plan.dtypes[1]))
    return {kernel_address(cast_elements), nullptr, 1};
  switch (plan.dtypes[0]) {
    case INFINI_DTYPE_F16: return cast_kernels<Half>(plan.dtypes[1]);
    case INFINI_DTYPE_BF16: return cast_kernels<Bfloat>(plan.dtypes[1]);
    default: return cast_kernels<float>(plan.dtypes[1]);
  }
}

template <class T, class W, int count>
Kernels norm_kernels() {
  Kernels kernels{kernel_address(norm_rows<T, W, 1, held_packs>),
                  kernel_address(norm_rows<T, W, count, held_packs>), count};
  if constexpr (sizeof(T) < 8) {
    kernels.of_long_rows[0] = kernel_address(norm_rows<T, W, count, long_held_packs[0]>);
    kernels.of_long_rows[1] = kernel_address(norm_rows<T, W, count, long_held_packs[1]>);
    kernels.of_long_rows[2] = kernel_address(norm_rows<T, W, count, long_held_packs[2]>);
  }
  return kernels;
}

Kernels kernels_of(const OperatorPlan& plan) {
  switch (plan.function) {
    case Function::cast: return kernels_of_cast(plan);
    case Function::causal_softmax:
      return with_float(plan.dtypes[0], [](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        return Kernels{kernel_address(softmax_rows<T, 1>), kernel_address(softmax_rows<T, count>),
                       count};
      });
    case Function::rope:
      return with_float(plan.dtypes[0], [&](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        const void* const single = kernel_address(rotate_pairs<T, 1, false>);
        if (are_neighbours(plan))
          return Kernels{
              single, kernel_address(rotate_pairs<T, count / 2, true>), count / 2, {}, true};
        return Kernels{single, kernel_address(rotate_pairs<T, count, false>), count};
      });
    case Function::rms_norm:
      return with_float(plan.dtypes[0], [&](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        if constexpr (sizeof(T) == 2) {
          if (plan.dtypes[2] == INFINI_DTYPE_F32) return norm_kernels<T, float, count>();
          if (plan.dtypes[2] == INFINI_DTYPE_F16) return norm_kernels<T, Half, count>();
          return norm_kernels<T, Bfloat, count>();
        } else {
          return norm_kernels<T, T, count>();
        }
      });
    default:
      return with_number(plan.dtypes[0], [&](auto x) {
        using T = decltype(x);
        constexpr int count = vector / static_cast<int>(sizeof(T));
        if (plan.operands == 2)
          return Kernels{kernel_address(map_elements<T, 1, 2>),
                         kernel_address(map_elements<T, count, 2>), count};
        return Kernels{kernel_address(map_elements<T, 1, 3>),
                       kernel_address(map_elements<T, count, 3>), count};
      });
  }
}

}  // namespace
}  // namespace infini::gpu
