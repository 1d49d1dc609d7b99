// Functions of whole rows: RMSNorm, causal softmax, rotary embedding.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/operators/rows.h"

namespace infini::cpu {
namespace {

double at(const char* row, int64_t step, int64_t i) {
  double value;
  std::memcpy(&value, row + i * step, sizeof value);
  return value;
}
void put(char* row, int64_t step, int64_t i, double value) {
  std::memcpy(row + i * step, &value, sizeof value);
}
bool is_f64(const OperatorPlan& plan) { return plan.dtypes[0] == INFINI_DTYPE_F64; }

// Of a row that lies together so many elements are summed at once: a lane then adds up 64, as the bounds want it.
constexpr int64_t long_block = 4096;

// body(first element, how many) for the blocks of [0, count).
template <class Body>
void in_blocks(int64_t count, int64_t block, const Body& body) {
  for (int64_t i = 0; i < count; i += block) body(i, std::min(block, count - i));
}

// In blocks, and there in lanes: one running sum of 4096 squares was 430 roundings off.
template <class Term>
double sum_f64(int64_t count, const Term& term) {
  constexpr int64_t lanes = 16;
  double sum = 0;
  in_blocks(count, block_elements, [&](int64_t first, int64_t here) {
    double sums[lanes] = {}, block = 0;
    for (int64_t i = 0; i < here; ++i) sums[i % lanes] += term(first + i);
    for (const double lane : sums) block += lane;
    sum += block;
  });
  return sum;
}

void rms_norm_f64(const OperatorPlan& plan, const RowPlaces& places) {
  const int64_t y_step = plan.row_steps[0], x_step = plan.row_steps[1], w_step = plan.row_steps[2];
  const double sum = sum_f64(plan.length, [&](int64_t i) {
    const double x = at(places.at[1], x_step, i);
    return x * x;
  });
  const double factor =
      1 / std::sqrt(sum / static_cast<double>(plan.length) + static_cast<double>(plan.epsilon));
  for (int64_t i = 0; i < plan.length; ++i)
    put(places.at[0], y_step, i,
        at(places.at[1], x_step, i) * factor * at(places.at[2], w_step, i));
}

void softmax_f64(const OperatorPlan& plan, const RowPlaces& places, int64_t seen) {
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < seen; ++i) {
    const double x = at(places.at[1], plan.row_steps[1], i);
    if (!(x <= most)) most = x;
  }
  const double sum = sum_f64(
      seen, [&](int64_t i) { return std::exp(at(places.at[1], plan.row_steps[1], i) - most); });
  for (int64_t i = 0; i < plan.length; ++i)
    put(places.at[0], plan.row_steps[0], i,
        i < seen ? std::exp(at(places.at[1], plan.row_steps[1], i) - most) / sum : 0.0);
}

void rope_f64(const OperatorPlan& plan, const RowPlaces& places, const char* sin, const char* cos) {
  for (int64_t i = 0; i < plan.length; ++i) {
    const double a = at(places.at[1], plan.row_steps[1], i),
                 b = at(places.at[1] + plan.pair_steps[1], plan.row_steps[1], i),
                 s = at(sin, plan.row_steps[3], i), c = at(cos, plan.row_steps[4], i);
    put(places.at[0], plan.row_steps[0], i, a * c - b * s);
    put(places.at[0] + plan.pair_steps[0], plan.row_steps[0], i, a * s + b * c);
  }
}

// Elements of any strides, by way of buffers.
void rope_strided(const OperatorPlan& plan, const LaneKernels& kernels, const RowPlaces& places,
                  const char* sin, const char* cos) {
  Target p(plan.dtypes[0], plan.row_steps[0]), q(plan.dtypes[0], plan.row_steps[0]);
  Source a(plan.dtypes[1], plan.row_steps[1]), b(plan.dtypes[1], plan.row_steps[1]),
      s(plan.dtypes[3], plan.row_steps[3]), c(plan.dtypes[4], plan.row_steps[4]);
  in_blocks(plan.length, block_elements, [&](int64_t i, int64_t count) {
    char *const first = places.at[0] + i * plan.row_steps[0], *const second =
                                                                  first + plan.pair_steps[0];
    const char* const from = places.at[1] + i * plan.row_steps[1];
    kernels.rotate(p.room(first), q.room(second), a.fetch(from, count),
                   b.fetch(from + plan.pair_steps[1], count),
                   s.fetch(sin + i * plan.row_steps[3], count),
                   c.fetch(cos + i * plan.row_steps[4], count), count, false);
    p.put(first, count);
    q.put(second, count);
  });
}

// A row whose position is not in the tables: NaN.
void rope_nowhere(const OperatorPlan& plan, const RowPlaces& places) {
  const auto write = [&]<class Bits>(Bits nan) {
    for (char* const row : {places.at[0], places.at[0] + plan.pair_steps[0]})
      for (int64_t i = 0; i < plan.length; ++i)
        std::memcpy(row + i * plan.row_steps[0], &nan, sizeof nan);
  };
  switch (plan.dtypes[0]) {
    case INFINI_DTYPE_F64: return write(std::numeric_limits<double>::quiet_NaN());
    case INFINI_DTYPE_F16: return write(uint16_t{0x7e00});
    case INFINI_DTYPE_BF16: return write(uint16_t{0x7fc0});
    default: return write(std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace

void run_rms_norm(const RowWork& work, const RowPlaces& places) {
  const OperatorPlan& plan = work.plan;
  if (is_f64(plan)) return rms_norm_f64(plan, places);
  const LaneKernels& kernels = work.kernels(1);
  Target to(plan.dtypes[0], plan.row_steps[0]);
  Source from(plan.dtypes[1], plan.row_steps[1]), weights(plan.dtypes[2], plan.row_steps[2]);
  const int64_t block = to.lies_together() && from.lies_together() && weights.lies_together()
                            ? long_block
                            : block_elements;
  double sum = 0;
  in_blocks(plan.length, block, [&](int64_t i, int64_t count) {
    const void* const x = from.fetch(places.at[1] + i * plan.row_steps[1], count);
    sum += static_cast<double>(kernels.sum_squares(x, count, work.far));
  });
  const auto mean = static_cast<float>(sum / static_cast<double>(plan.length));
  const float factor = 1 / std::sqrt(mean + plan.epsilon);
  const auto scaled = kernels.scaled[lane_of(plan.dtypes[2])];
  in_blocks(plan.length, block, [&](int64_t i, int64_t count) {
    char* const place = places.at[0] + i * plan.row_steps[0];
    const void* const x = from.fetch(places.at[1] + i * plan.row_steps[1], count);
    const void* const w = weights.fetch(places.at[2] + i * plan.row_steps[2], count);
    scaled(to.room(place), x, w, factor, count, work.far && to.lies_together(),
           work.next(places, i));
    to.put(place, count);
  });
}

void run_causal_softmax(const RowWork& work, const RowPlaces& places, int64_t row) {
  const OperatorPlan& plan = work.plan;
  const int64_t rows = plan.loops[plan.depth - 1].extent, seen = plan.length - rows + row + 1;
  if (is_f64(plan)) return softmax_f64(plan, places, seen);
  const LaneKernels& kernels = work.kernels(1);
  Target to(plan.dtypes[0], plan.row_steps[0]);
  Source from(plan.dtypes[1], plan.row_steps[1]);
  const bool together = to.lies_together() && from.lies_together();
  const int64_t block = together ? long_block : block_elements;
  const auto fetch = [&](int64_t i, int64_t count) {
    return from.fetch(places.at[1] + i * plan.row_steps[1], count);
  };
  float most = -std::numeric_limits<float>::infinity();
  in_blocks(seen, block, [&](int64_t i, int64_t count) {
    most = std::max(most, kernels.largest(fetch(i, count), count, work.far));
  });
  double sum = 0;
  in_blocks(seen, block, [&](int64_t i, int64_t count) {
    sum += static_cast<double>(
        kernels.sum_exponentials(fetch(i, count), most, count, work.next(places, i)));
  });
  // Exponentials are computed once more: to keep them would cost as much.
  const auto factor = static_cast<float>(1 / sum);
  const bool far = work.far && to.lies_together();
  in_blocks(plan.length, block, [&](int64_t i, int64_t count) {
    char* const place = places.at[0] + i * plan.row_steps[0];
    const int64_t here = std::clamp<int64_t>(seen - i, 0, count);
    auto* const out = static_cast<char*>(to.room(place));
    if (here > 0) kernels.exponentials(out, fetch(i, here), most, factor, here, far);
    kernels.zeros(out + here * dtype_bytes(plan.dtypes[0]), count - here, far);
    to.put(place, count);
  });
}

void run_rope(const RowWork& work, const RowPlaces& places) {
  const OperatorPlan& plan = work.plan;
  const int64_t position = load_integer(places.at[2], plan.dtypes[2]);
  const bool inside = position >= 0 && position < plan.table_rows;
  const char *sin = places.at[3] + (inside ? position : 0) * plan.table_steps[0],
             *cos = places.at[4] + (inside ? position : 0) * plan.table_steps[1];
  if (!inside) return rope_nowhere(plan, places);
  if (is_f64(plan)) return rope_f64(plan, places, sin, cos);
  const LaneKernels& kernels = work.kernels(0);
  const int64_t bytes = dtype_bytes(plan.dtypes[0]), *const steps = plan.row_steps;
  const bool tables = steps[3] == bytes && steps[4] == bytes;
  const auto step = [&](int64_t wanted, int64_t pair) {
    return steps[0] == wanted && steps[1] == wanted && plan.pair_steps[0] == pair &&
           plan.pair_steps[1] == pair;
  };
  if (tables && step(2 * bytes, bytes))
    return kernels.rotate_pairs(places.at[0], places.at[1], sin, cos, plan.length, work.far);
  if (tables && steps[0] == bytes && steps[1] == bytes)
    return kernels.rotate(places.at[0], places.at[0] + plan.pair_steps[0], places.at[1],
                          places.at[1] + plan.pair_steps[1], sin, cos, plan.length, work.far);
  rope_strided(plan, kernels, places, sin, cos);
}

}  // namespace infini::cpu
