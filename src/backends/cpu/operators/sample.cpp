// Drawing a token from a row of logits.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/operators/rows.h"
#include "base/checked.h"
#include "contract/greedy.h"

namespace infini::cpu {
namespace {

constexpr int64_t first_sorted = 256;  // most draws end among the largest

// NaN is less than everything.
bool less(float a, float b) { return a < b || (a != a && b == b); }

// Logits as f32.
void widen(const RowWork& work, const char* row, float* out) {
  const OperatorPlan& plan = work.plan;
  if (plan.dtypes[1] == INFINI_DTYPE_F64) {
    for (int64_t i = 0; i < plan.length; ++i) {
      double x;
      std::memcpy(&x, row + i * plan.row_steps[1], sizeof x);
      out[i] = static_cast<float>(x);
    }
  } else {
    FloatSource from(work.lanes, plan.dtypes[1], plan.row_steps[1]);
    for (int64_t i = 0; i < plan.length; i += block_elements) {
      const int64_t count = std::min(block_elements, plan.length - i);
      std::memcpy(out + i, from.fetch(row + i * plan.row_steps[1], count),
                  static_cast<size_t>(count) * sizeof(float));
    }
  }
}

// The tokens in descending order of their logits, equal ones as they lie; sorted as far as they are asked for.
class Order {
 public:
  Order(const float* logits, int32_t* tokens, int64_t count)
      : logits_(logits), tokens_(tokens), count_(count) {
    for (int64_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i);
  }
  int32_t operator[](int64_t i) {
    while (i >= sorted_) sort_more();
    return tokens_[i];
  }

 private:
  void sort_more() {
    const int64_t next = std::min(count_, std::max(first_sorted, 4 * sorted_));
    std::partial_sort(tokens_ + sorted_, tokens_ + next, tokens_ + count_,
                      [&](int32_t a, int32_t b) {
                        const float x = logits_[a], y = logits_[b];
                        return less(y, x) || (a < b && !less(x, y));
                      });
    sorted_ = next;
  }
  const float* logits_;
  int32_t* tokens_;
  int64_t count_, sorted_ = 0;
};

int64_t draw(const float* logits, int32_t* tokens, int64_t count, float most,
             const SampleOptions& options) {
  // The largest has 1, also where it is infinite.
  const auto mass = [&](float x) {
    if (x == most) return 1.0;
    return x != x ? 0.0
                  : std::exp((static_cast<double>(x) - static_cast<double>(most)) /
                             static_cast<double>(options.temperature));
  };
  double whole = 0;
  for (int64_t i = 0; i < count; ++i) whole += mass(logits[i]);
  Order order(logits, tokens, count);
  const int64_t topk = options.topk <= 0 ? count : std::min<int64_t>(options.topk, count);
  double kept = whole;
  if (topk < count) {
    kept = 0;
    for (int64_t i = 0; i < topk; ++i) kept += mass(logits[order[i]]);
  }
  const double wanted = static_cast<double>(options.random_val) *
                        std::min(kept, whole * static_cast<double>(options.topp));
  double sum = 0;
  int64_t last = 0;  // a token without mass is never drawn, however sums are rounded
  for (int64_t i = 0; i < topk; ++i) {
    const double own = mass(logits[order[i]]);
    if (own == 0) break;
    last = i;
    if ((sum += own) >= wanted) break;
  }
  return order[last];
}

}  // namespace

int64_t sample_bytes(int64_t length) {
  return round_up(saturating_mul(length, int64_t{sizeof(float) + sizeof(int32_t)}), 64);
}

void run_random_sample(const RowWork& work, const RowPlaces& places, const SampleOptions& options) {
  const int64_t count = work.plan.length;
  auto* const logits = static_cast<float*>(work.run.workspace);
  auto* const tokens = reinterpret_cast<int32_t*>(logits + count);
  widen(work, places.at[1], logits);
  const float* const most = std::max_element(logits, logits + count, less);
  const int64_t token = is_greedy(options) || *most != *most
                            ? most - logits
                            : draw(logits, tokens, count, *most, options);
  store_integer(places.at[0], work.plan.dtypes[0], token);
}

}  // namespace infini::cpu
