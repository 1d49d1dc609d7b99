// RoPE: sines and cosines gathered by position, then four products and two sums in f32 (f64 in f64).
//
// Operands are dense: y and x have the first elements of a head's pairs and then the second ones.
#include <acl/acl.h>

#include <cstring>
#include <limits>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"

namespace infini::ascend {
namespace {

int64_t integer_at(const char* p, infiniDtype_t dtype) {
  int64_t value = 0;
  const auto bytes = static_cast<size_t>(dtype_bytes(dtype));
  std::memcpy(&value, p, bytes);  // little-endian
  const bool is_signed = dtype >= INFINI_DTYPE_I8 && dtype <= INFINI_DTYPE_I64;
  const int unused = static_cast<int>(64 - 8 * bytes);
  return is_signed ? static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused : value;
}

// For every head which row of the tables it takes, and NaN where there is none.
struct Positions {
  std::vector<int64_t> rows;
  std::vector<double> poison;
  bool all_inside = true;
};

Positions positions_of(const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;
  int64_t bytes = dtype_bytes(plan.dtypes[2]);
  for (int i = 0; i < plan.depth; ++i) bytes += (plan.loops[i].extent - 1) * plan.loops[i].steps[2];
  std::vector<char> ids(static_cast<size_t>(bytes));
  check(aclrtSynchronizeStream(run.stream), "aclrtSynchronizeStream");
  check(aclrtMemcpy(ids.data(), ids.size(), run.operands[2], ids.size(), ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  Positions all;
  for (int64_t row = 0; row < row_count(plan); ++row) {
    int64_t at = 0, rest = row;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent)
      at += rest % plan.loops[i].extent * plan.loops[i].steps[2];
    const int64_t position = integer_at(ids.data() + at, plan.dtypes[2]);
    const bool inside = position >= 0 && position < plan.table_rows;
    all.rows.push_back(inside ? position : 0);
    all.poison.push_back(inside ? 0 : std::numeric_limits<double>::quiet_NaN());
    all.all_inside = all.all_inside && inside;
  }
  return all;
}

template <class T>
void upload(char* to, const std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  check(aclrtMemcpy(to, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
}

// What is computed in.
aclDataType wide_type(const OperatorPlan& plan) {
  return plan.dtypes[0] == INFINI_DTYPE_F64 ? ACL_DOUBLE : ACL_FLOAT;
}
View widened(Calls& calls, const View& view) {
  return view.dtype == ACL_DOUBLE ? view : calls.widened(view);
}

// Half of every head's pairs.
View half_of(const FunctionRun& run, int operand, int half) {
  const int64_t length = run.plan.length;
  const aclDataType dtype = number_type(run.plan.dtypes[operand]);
  char* const base = run.operands[operand];
  return {dtype,
          2,
          {row_count(run.plan), length},
          {2 * length, 1},
          base == nullptr ? nullptr : base + half * length * bytes_of(dtype)};
}

// y = a + b or a - b, rounded to y's type; where the head has no position, NaN.
void finish(Calls& calls, const View& y, const View& a, const View& b, bool subtract,
            const View* poison) {
  const bool direct = y.dtype == a.dtype && poison == nullptr;
  View sum = direct ? y : calls.temporary(y, a.dtype);
  subtract ? calls.sub(sum, a, b) : calls.add(sum, a, b);
  if (poison != nullptr) {
    const View marked = calls.temporary(y, a.dtype);
    calls.add(marked, sum, *poison);
    sum = marked;
  }
  if (!direct) calls.cast(y, sum);
}

}  // namespace

void run_rope(Calls& calls, const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;
  const int64_t heads = row_count(plan), half = plan.length;
  const View index{ACL_INT64, 1, {heads}, {1}, calls.take(8 * heads)};
  const aclDataType wide = wide_type(plan);
  const View poison{wide, 2, {heads, half}, {1, 0}, calls.take(8 * heads)};
  bool marks = true;  // a dry run counts everything
  if (!calls.is_dry()) {
    const Positions positions = positions_of(run);
    upload(index.address, positions.rows);
    const std::vector<float> narrow(positions.poison.begin(), positions.poison.end());
    wide == ACL_DOUBLE ? upload(poison.address, positions.poison) : upload(poison.address, narrow);
    marks = !positions.all_inside;
  }
  const View a = widened(calls, half_of(run, 1, 0)), b = widened(calls, half_of(run, 1, 1));
  const View* const mark = marks ? &poison : nullptr;
  if (plan.table_rows == 0) {  // nothing to gather: all are NaN
    finish(calls, half_of(run, 0, 0), a, b, true, mark);
    return finish(calls, half_of(run, 0, 1), a, b, false, mark);
  }
  View factors[2];  // sines, cosines
  for (int k = 0; k < 2; ++k) {
    const aclDataType dtype = number_type(plan.dtypes[3 + k]);
    const View table = dense_rows(dtype, plan.table_rows, half, run.operands[3 + k]);
    const View rows = dense_rows(dtype, heads, half, calls.take(heads * half * bytes_of(dtype)));
    calls.select_rows(rows, table, index);
    factors[k] = widened(calls, rows);
  }
  const auto product = [&](const View& x, const View& factor) {
    const View result = calls.temporary(x, wide);
    calls.mul(result, x, factor);
    return result;
  };
  const View ac = product(a, factors[1]), bs = product(b, factors[0]), as = product(a, factors[0]),
             bc = product(b, factors[1]);
  finish(calls, half_of(run, 0, 0), ac, bs, true, mark);
  finish(calls, half_of(run, 0, 1), as, bc, false, mark);
}

}  // namespace infini::ascend
