// Cast between all integer, bool and float types: one rounding to nearest even, saturation, NaN to 0.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backends/cpu/operators/rows.h"
#include "base/float_formats.h"

namespace infini::cpu {
namespace {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

float widen(F16 x) { return f32_from_f16(x.bits); }
float widen(BF16 x) { return f32_from_bf16(x.bits); }
uint8_t widen(Bool x) { return x.byte != 0; }
template <class T>
T widen(T x) {
  return x;
}

// From a plain C++ number.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (std::is_same_v<To, F16>) {
    return {f16_from_f32(to_odd(x))};
  } else if constexpr (std::is_same_v<To, BF16>) {
    return {bf16_from_f32(to_odd(x))};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    if (x != x) return 0;
    const From rounded = std::nearbyint(x);
    // The largest may be rounded up to a power of two that does not fit.
    if (rounded >= std::ldexp(From{1}, std::numeric_limits<To>::digits))
      return std::numeric_limits<To>::max();
    if (rounded < static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(rounded);
  } else {
    if (std::cmp_greater(x, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (std::cmp_less(x, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  }
}

template <class To, class From>
void cast_row(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step) {
    From value;
    std::memcpy(&value, from, sizeof value);
    const To result = convert<To>(widen(value));
    std::memcpy(to, &result, sizeof result);
  }
}

// Calls body with an element of the dtype's type.
template <class Body>
auto with_type(infiniDtype_t dtype, Body body) {
  switch (dtype) {
    case INFINI_DTYPE_BOOL: return body(Bool{});
    case INFINI_DTYPE_I8: return body(int8_t{});
    case INFINI_DTYPE_I16: return body(int16_t{});
    case INFINI_DTYPE_I32: return body(int32_t{});
    case INFINI_DTYPE_I64: return body(int64_t{});
    case INFINI_DTYPE_U16: return body(uint16_t{});
    case INFINI_DTYPE_U32: return body(uint32_t{});
    case INFINI_DTYPE_U64: return body(uint64_t{});
    case INFINI_DTYPE_F16: return body(F16{});
    case INFINI_DTYPE_BF16: return body(BF16{});
    case INFINI_DTYPE_F32: return body(float{});
    case INFINI_DTYPE_F64: return body(double{});
    default: return body(uint8_t{});  // u8 and byte
  }
}

bool is_lane_type(infiniDtype_t d) { return lane_of(d) < lane_count; }

void cast_lanes(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  Target to(plan.dtypes[0], plan.row_steps[0]);
  Source from(plan.dtypes[1], plan.row_steps[1]);
  const auto cast = work.kernels(1).casts[lane_of(plan.dtypes[0])];
  const int64_t block = to.lies_together() && from.lies_together() ? count : block_elements;
  for (int64_t i = first; i < first + count; i += block) {
    const int64_t now = std::min(block, first + count - i);
    char* const at = places.at[0] + i * plan.row_steps[0];
    cast(to.room(at), from.fetch(places.at[1] + i * plan.row_steps[1], now), now,
         work.far && to.lies_together());
    to.put(at, now);
  }
}

}  // namespace

void run_cast(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  const int64_t to_step = plan.row_steps[0], from_step = plan.row_steps[1];
  if (is_lane_type(plan.dtypes[0]) && is_lane_type(plan.dtypes[1]))
    return cast_lanes(work, places, first, count);
  with_type(plan.dtypes[0], [&]<class To>(To) {
    with_type(plan.dtypes[1], [&]<class From>(From) {
      cast_row<To, From>(places.at[0] + first * to_step, to_step, places.at[1] + first * from_step,
                         from_step, count);
    });
  });
}

}  // namespace infini::cpu
