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

struct DoubleMath {
  using Scalar = double;
  static constexpr bool integers = false;
  static double exp(double x) { return std::exp(x); }
  static double erfc(double x) { return std::erfc(x); }
};
template <class T>
struct IntegerMath {
  using Scalar = T;
  static constexpr bool integers = true;
};

// Integers wrap around: computed without signs, and not in int, which short ones become by themselves.
template <class T, int operands>
T computed(Function function, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return apply<DoubleMath, operands>(function, a, b);
  } else {
    using U = std::make_unsigned_t<std::common_type_t<T, int>>;
    return static_cast<T>(
        apply<IntegerMath<U>, operands>(function, static_cast<U>(a), static_cast<U>(b)));
  }
}

template <class T>
void run_plainly(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  const int second = plan.operands == 3 ? 2 : 1;
  char* to = places.at[0] + first * plan.row_steps[0];
  const char *a = places.at[1] + first * plan.row_steps[1],
             *b = places.at[second] + first * plan.row_steps[second];
  const auto compute = second == 2 ? computed<T, 3> : computed<T, 2>;
  for (int64_t i = 0; i < count; ++i) {
    store(to, compute(plan.function, load<T>(a), load<T>(b)));
    to += plan.row_steps[0], a += plan.row_steps[1], b += plan.row_steps[second];
  }
}

void run_lanes(const RowWork& work, const RowPlaces& places, int64_t first, int64_t count) {
  const OperatorPlan& plan = work.plan;
  const bool two = plan.operands == 3;
  Target to(plan.dtypes[0], plan.row_steps[0]);
  Source a(plan.dtypes[1], plan.row_steps[1]), b(plan.dtypes[1], plan.row_steps[two ? 2 : 1]);
  const auto compute = work.kernels(0).maps[static_cast<int>(plan.function)];
  const bool together = to.lies_together() && a.lies_together() && b.lies_together();
  const int64_t block = together ? count : block_elements;
  for (int64_t i = first; i < first + count; i += block) {
    const int64_t now = std::min(block, first + count - i);
    char* const at = places.at[0] + i * plan.row_steps[0];
    const void* const x = a.fetch(places.at[1] + i * plan.row_steps[1], now);
    const void* const y = two ? b.fetch(places.at[2] + i * plan.row_steps[2], now) : nullptr;
    compute(to.room(at), x, y, now, work.far && to.lies_together());
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
