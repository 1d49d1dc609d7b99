// Elementwise functions: f16, bf16 and f32 by lanes, f64 and integers element by element.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "backends/cpu/operators/rows.h"

namespace infini::cpu {
namespace {

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double apply(Function function, double a, double b) {
  switch (function) {
    case Function::add: return a + b;
    case Function::sub: return a - b;
    case Function::mul: return a * b;
    case Function::swiglu: return a * b * logistic(b);
    case Function::silu: return a * logistic(a);
    case Function::gelu: return 0.5 * a * std::erfc(-a * 0.70710678118654752);
    case Function::relu: return a < 0 ? 0 : a;
    default: return logistic(a);
  }
}

// Integers wrap around: computed without signs.
template <class T>
T apply_integer(Function function, T a, T b) {
  using U = std::make_unsigned_t<std::common_type_t<T, int>>;
  const U x = static_cast<U>(a), y = static_cast<U>(b);
  return static_cast<T>(function == Function::add   ? x + y
                        : function == Function::sub ? x - y
                                                    : x * y);
}

template <class T>
void run_plainly(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  const int second = plan.operands == 3 ? 2 : 1;
  char* to = places.at[0] + first * plan.row_steps[0];
  const char *a = places.at[1] + first * plan.row_steps[1],
             *b = places.at[second] + first * plan.row_steps[second];
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<T>)
      store(to, apply(plan.function, load<T>(a), load<T>(b)));
    else
      store(to, apply_integer(plan.function, load<T>(a), load<T>(b)));
    to += plan.row_steps[0], a += plan.row_steps[1], b += plan.row_steps[second];
  }
}

LaneKernels::Binary binary_of(const LaneKernels& lanes, Function function) {
  switch (function) {
    case Function::add: return lanes.add;
    case Function::sub: return lanes.sub;
    case Function::mul: return lanes.mul;
    default: return lanes.swiglu;
  }
}
LaneKernels::Unary unary_of(const LaneKernels& lanes, Function function) {
  switch (function) {
    case Function::silu: return lanes.silu;
    case Function::gelu: return lanes.gelu;
    case Function::relu: return lanes.relu;
    default: return lanes.sigmoid;
  }
}

void run_lanes(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  FloatTarget to(work.lanes, plan.dtypes[0], plan.row_steps[0]);
  FloatSource a(work.lanes, plan.dtypes[1], plan.row_steps[1]),
      b(work.lanes, plan.dtypes[1], plan.row_steps[plan.operands == 3 ? 2 : 1]);
  for (int64_t i = first; i < first + count; i += block_elements) {
    const int64_t now = std::min(block_elements, first + count - i);
    char* const at = places.at[0] + i * plan.row_steps[0];
    const float* const x = a.fetch(places.at[1] + i * plan.row_steps[1], now);
    if (plan.operands == 3)
      binary_of(work.lanes, plan.function)(to.room(at), x,
                                           b.fetch(places.at[2] + i * plan.row_steps[2], now), now);
    else
      unary_of(work.lanes, plan.function)(to.room(at), x, now);
    to.put(at, now);
  }
}

}  // namespace

void run_map(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  switch (work.plan.dtypes[0]) {
    case INFINI_DTYPE_F16:
    case INFINI_DTYPE_BF16:
    case INFINI_DTYPE_F32: return run_lanes(work, places, first, count);
    case INFINI_DTYPE_F64: return run_plainly<double>(work, places, first, count);
    case INFINI_DTYPE_I8:
    case INFINI_DTYPE_U8: return run_plainly<uint8_t>(work, places, first, count);
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16: return run_plainly<uint16_t>(work, places, first, count);
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32: return run_plainly<uint32_t>(work, places, first, count);
    default: return run_plainly<uint64_t>(work, places, first, count);
  }
}

}  // namespace infini::cpu
