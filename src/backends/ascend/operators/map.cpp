// Elementwise functions as the vendor's calls; SwiGLU of two tensors is composed of two in f32, since aclnnSwiGlu wants both in one.
#include "backends/ascend/operators/functions.h"

namespace infini::ascend {
namespace {

// All loops and the row; dims along which a source repeats itself have a stride of 0.
View view_of(const FunctionRun& run, int operand, aclDataType dtype) {
  const OperatorPlan& plan = run.plan;
  const int64_t bytes = bytes_of(dtype);
  View view;
  view.dtype = dtype;
  for (int i = 0; i < plan.depth; ++i) {
    view.dims[view.rank] = plan.loops[i].extent;
    view.strides[view.rank++] = plan.loops[i].steps[operand] / bytes;
  }
  view.dims[view.rank] = plan.length;
  view.strides[view.rank++] = plan.length == 1 ? 1 : plan.row_steps[operand] / bytes;
  if (char* const base = run.operands[operand]) view.address = base + plan.offsets[operand];
  return view;
}

void run_swiglu(Calls& calls, const View& c, const View& a, const View& b) {
  const View up = calls.widened(a), gate = calls.widened(b);
  const View active = calls.temporary(gate, ACL_FLOAT);
  calls.silu(active, gate);
  if (c.dtype == ACL_FLOAT) return calls.mul(c, up, active);
  const View product = calls.temporary(c, ACL_FLOAT);
  calls.mul(product, up, active);
  calls.cast(c, product);
}

}  // namespace

void run_map(Calls& calls, const FunctionRun& run) {
  const bool cast = run.plan.function == Function::cast;
  const auto type = [&](int k) {
    return cast ? cast_type(run.plan.dtypes[k]) : number_type(run.plan.dtypes[k]);
  };
  const View y = view_of(run, 0, type(0)), a = view_of(run, 1, type(1));
  const View b = run.plan.operands > 2 ? view_of(run, 2, type(2)) : a;
  switch (run.plan.function) {
    case Function::add: return calls.add(y, a, b);
    case Function::sub: return calls.sub(y, a, b);
    case Function::mul: return calls.mul(y, a, b);
    case Function::div: return calls.div(y, a, b);
    case Function::swiglu: return run_swiglu(calls, y, a, b);
    case Function::silu: return calls.silu(y, a);
    case Function::gelu: return calls.gelu(y, a);
    case Function::relu: return calls.relu(y, a);
    case Function::sigmoid: return calls.sigmoid(y, a);
    default: return calls.cast(y, a);
  }
}

}  // namespace infini::ascend
