// RMSNorm and causal softmax as the vendor's calls on dense operands.
#include "backends/ascend/operators/functions.h"

namespace infini::ascend {

// Weights of another type than x: all in f32, rounded once.
void run_rms_norm(Calls& calls, const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;
  const int64_t rows = row_count(plan), length = plan.length;
  const aclDataType dtype = number_type(plan.dtypes[0]);
  const View y = dense_rows(dtype, rows, length, run.operands[0]),
             x = dense_rows(dtype, rows, length, run.operands[1]);
  const View w{number_type(plan.dtypes[2]), 1, {length}, {1}, run.operands[2]};
  const View rstd = dense_rows(ACL_FLOAT, rows, 1, calls.take(4 * rows));
  if (w.dtype == dtype) return calls.rms_norm(y, x, w, rstd, plan.epsilon);
  const View wide_x = calls.widened(x), wide_w = calls.widened(w),
             wide_y = calls.temporary(y, ACL_FLOAT);
  calls.rms_norm(wide_y, wide_x, wide_w, rstd, plan.epsilon);
  calls.cast(y, wide_y);
}

// x is a copy, which may be changed.
void run_softmax(Calls& calls, const FunctionRun& run, char* mask) {
  const OperatorPlan& plan = run.plan;
  const aclDataType dtype = number_type(plan.dtypes[0]);
  const int64_t height = plan.loops[plan.depth - 1].extent, matrices = row_count(plan) / height;
  const auto view = [&](char* address) {
    return View{
        dtype, 3, {matrices, height, plan.length}, {height * plan.length, plan.length, 1}, address};
  };
  const View x = view(run.operands[1]);
  if (mask != nullptr)
    calls.hide(x, View{ACL_BOOL, 2, {height, plan.length}, {plan.length, 1}, mask});
  calls.softmax(view(run.operands[0]), x);
}

}  // namespace infini::ascend
