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

// The vendor's calls; a is b where a function has one source.
struct Map {
  Function function;
  void (*run)(Calls&, const View& y, const View& a, const View& b);
};
using V = const View&;
constexpr Map maps[] = {
    {Function::add, [](Calls& calls, V y, V a, V b) { calls.add(y, a, b); }},
    {Function::sub, [](Calls& calls, V y, V a, V b) { calls.sub(y, a, b); }},
    {Function::mul, [](Calls& calls, V y, V a, V b) { calls.mul(y, a, b); }},
    {Function::div, [](Calls& calls, V y, V a, V b) { calls.div(y, a, b); }},
    {Function::swiglu, run_swiglu},
    {Function::silu, [](Calls& calls, V y, V a, V) { calls.silu(y, a); }},
    {Function::gelu, [](Calls& calls, V y, V a, V) { calls.gelu(y, a); }},
    {Function::relu, [](Calls& calls, V y, V a, V) { calls.relu(y, a); }},
    {Function::sigmoid, [](Calls& calls, V y, V a, V) { calls.sigmoid(y, a); }}};

}  // namespace

bool has_call(Function function) {
  for (const Map& map : maps)
    if (map.function == function) return true;
  return function == Function::cast;
}

void run_map(Calls& calls, const FunctionRun& run) {
  const bool cast = run.plan.function == Function::cast;
  const auto type = [&](int k) {
    return cast ? cast_type(run.plan.dtypes[k]) : number_type(run.plan.dtypes[k]);
  };
  const View y = view_of(run, 0, type(0)), a = view_of(run, 1, type(1));
  const View b = run.plan.operands > 2 ? view_of(run, 2, type(2)) : a;
  if (cast) return calls.cast(y, a);
  for (const Map& map : maps)
    if (map.function == run.plan.function) return map.run(calls, y, a, b);
}

}  // namespace infini::ascend
