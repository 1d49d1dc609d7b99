// Drawing tokens on the host.
#include <acl/acl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"
#include "contract/greedy.h"

namespace infini::ascend {
namespace {

// In descending order; NaN is the least, equal ones as they lie.
std::vector<int64_t> descending(const float* logits, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[a] && logits[b] != logits[b]);
  });
  return order;
}

int64_t draw(const float* logits, int64_t count, const SampleOptions& options) {
  const auto order = descending(logits, count);
  const float most = logits[order[0]];
  if (is_greedy(options) || most != most) return order[0];
  std::vector<double> masses;  // the largest has 1, also where it is infinite
  for (const int64_t token : order) {
    const float x = logits[token];
    const double apart = static_cast<double>(x) - static_cast<double>(most);
    masses.push_back(x == most ? 1
                     : x != x  ? 0
                               : std::exp(apart / static_cast<double>(options.temperature)));
  }
  const int64_t kept = options.topk <= 0 ? count : std::min<int64_t>(options.topk, count);
  const double whole = std::accumulate(masses.begin(), masses.end(), 0.0),
               largest = std::accumulate(masses.begin(), masses.begin() + kept, 0.0);
  const double wanted = static_cast<double>(options.random_val) *
                        std::min(largest, whole * static_cast<double>(options.topp));
  double sum = 0;
  size_t last = 0;  // what has no mass is never drawn
  for (size_t i = 0; i < static_cast<size_t>(kept) && masses[i] > 0; ++i) {
    last = i;
    if ((sum += masses[i]) >= wanted) break;
  }
  return order[last];
}

}  // namespace

void run_sample(Calls& calls, const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;
  const int64_t rows = row_count(plan), length = plan.length;
  const View logits =
      calls.widened(dense_rows(cast_type(plan.dtypes[1]), rows, length, run.operands[1]));
  if (calls.is_dry()) return;
  std::vector<float> values(static_cast<size_t>(rows * length));
  check(aclrtSynchronizeStream(run.stream), "aclrtSynchronizeStream");
  check(aclrtMemcpy(values.data(), 4 * values.size(), logits.address, 4 * values.size(),
                    ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  const auto bytes = static_cast<size_t>(dtype_bytes(plan.dtypes[0]));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t token = draw(values.data() + row * length, length, run.samples[row]);
    char* const place =
        run.operands[0] + plan.offsets[0] + (plan.depth > 0 ? row * plan.loops[0].steps[0] : 0);
    check(aclrtMemcpy(place, bytes, &token, bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
  }
}

}  // namespace infini::ascend
