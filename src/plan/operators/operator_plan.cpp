// Making operator plans.
#include "plan/operators/operator_plan.h"

#include <algorithm>
#include <sstream>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "plan/layout/disjoint.h"

namespace infini {
namespace {

bool is_float(infiniDtype_t d) {
  return d == INFINI_DTYPE_F16 || d == INFINI_DTYPE_BF16 || d == INFINI_DTYPE_F32 ||
         d == INFINI_DTYPE_F64;
}
bool is_integer(infiniDtype_t d) { return d >= INFINI_DTYPE_I8 && d <= INFINI_DTYPE_U64; }
bool is_castable(infiniDtype_t d) {
  return is_float(d) || is_integer(d) || d == INFINI_DTYPE_BOOL || d == INFINI_DTYPE_BYTE;
}

bool takes(Function function, infiniDtype_t dtype) {
  const Takes types = facts_of(function).takes;
  return types == Takes::anything  ? is_castable(dtype)
         : types == Takes::numbers ? is_float(dtype) || is_integer(dtype)
                                   : is_float(dtype);
}

void require_dtype(const OperatorPlan& plan, int operand, bool fine, const char* expected) {
  const FunctionFacts& facts = facts_of(plan.function);
  require(fine, INFINI_STATUS_BAD_TENSOR_DTYPE, facts.name, ": ", facts.names[operand], " is ",
          dtype_name(plan.dtypes[operand]), "; expected ", expected);
}

void set_dtypes(OperatorPlan& plan, const Layout* const* layouts) {
  plan.operands = facts_of(plan.function).operands;
  for (int i = 0; i < plan.operands; ++i) plan.dtypes[i] = layouts[i]->dtype;
}

// The step of a dim of dst in an operand that may have it once, or not at all.
int64_t step_of(const Layout& dst, const Layout& layout, int dim) {
  const int at = dim - (dst.rank - layout.rank);
  if (at < 0 || layout.shape[at] == 1) return 0;
  return layout.strides[at] * dtype_bytes(layout.dtype);
}

void require_broadcast(const OperatorPlan& plan, const Layout& dst, const Layout& source,
                       int operand) {
  const FunctionFacts& facts = facts_of(plan.function);
  bool fits = source.rank <= dst.rank;
  for (int i = 0; fits && i < source.rank; ++i) {
    const int64_t wanted = dst.shape[i + dst.rank - source.rank];
    fits = source.shape[i] == wanted || source.shape[i] == 1;
  }
  require(fits, INFINI_STATUS_BAD_TENSOR_SHAPE, facts.name, ": ", facts.names[operand],
          " has shape ", ShapeOf{source}, ", which does not become ", facts.names[0], "'s ",
          ShapeOf{dst});
}

// A loop for each dim of dst in [first, last).
void take_dims(OperatorPlan& plan, const Layout* const* layouts, int operands, int first,
               int last) {
  const Layout& dst = *layouts[0];
  for (int dim = first; dim < last; ++dim) {
    if (dst.shape[dim] == 1) continue;
    OperatorLoop& loop = plan.loops[plan.depth++];
    loop = {dst.shape[dim], {}};
    for (int i = 0; i < operands; ++i) loop.steps[i] = step_of(dst, *layouts[i], dim);
  }
}

void make_ascending(OperatorPlan& plan) {
  for (OperatorLoop* loop = plan.loops; loop != plan.loops + plan.depth; ++loop) {
    if (loop->steps[0] >= 0) continue;
    for (int i = 0; i < plan.operands; ++i) {
      plan.offsets[i] += (loop->extent - 1) * loop->steps[i];
      loop->steps[i] = -loop->steps[i];
    }
  }
}

bool continues(const OperatorLoop& outer, const OperatorLoop& inner, int operands) {
  for (int i = 0; i < operands; ++i) {
    int64_t next;
    if (!checked_mul(inner.extent, inner.steps[i], next) || outer.steps[i] != next) return false;
  }
  return true;
}

void fuse(OperatorPlan& plan) {
  int kept = 0;
  for (int i = 0; i < plan.depth; ++i) {
    const OperatorLoop loop = plan.loops[i];
    if (kept > 0 && continues(plan.loops[kept - 1], loop, plan.operands)) {
      const int64_t extent = plan.loops[kept - 1].extent * loop.extent;
      plan.loops[kept - 1] = loop;
      plan.loops[kept - 1].extent = extent;
    } else {
      plan.loops[kept++] = loop;
    }
  }
  plan.depth = kept;
}

// The innermost loop is the row.
void take_row(OperatorPlan& plan) {
  plan.length = 1;
  for (int i = 0; i < plan.operands; ++i) plan.row_steps[i] = dtype_bytes(plan.dtypes[i]);
  if (plan.depth == 0) return;
  const OperatorLoop& inner = plan.loops[--plan.depth];
  plan.length = inner.extent;
  std::copy_n(inner.steps, plan.operands, plan.row_steps);
}

// Rows along the last dim of operands that are alike; leading dims in the order of the tensor.
void take_rows(OperatorPlan& plan, const Layout* const* layouts, int operands, int row_dims) {
  const Layout& dst = *layouts[0];
  take_dims(plan, layouts, operands, 0, dst.rank - row_dims);
}

void require_same_shape(const OperatorPlan& plan, const Layout& a, const Layout& b, int operand) {
  const FunctionFacts& facts = facts_of(plan.function);
  require(same_shape(a, b), INFINI_STATUS_BAD_TENSOR_SHAPE, facts.name, ": ", facts.names[operand],
          " has shape ", ShapeOf{b}, " but ", facts.names[0], " has ", ShapeOf{a},
          "; they must be equal");
}

// The step of a dim in bytes. Strides of dims that nobody walks along may be any number: an element's size stands for them.
int64_t step_of(const Layout& layout, int dim) {
  const int64_t bytes = dtype_bytes(layout.dtype);
  return layout.shape[dim] <= 1 || element_count(layout) == 0 ? bytes : layout.strides[dim] * bytes;
}
int64_t last_step(const Layout& layout) { return step_of(layout, layout.rank - 1); }

}  // namespace

int function_from_name(std::string_view name) {
  const auto plain = [](std::string_view text) {
    std::string letters(text);
    std::erase(letters, '_');
    return letters;
  };
  int i = 0;
  while (i < function_count && plain(functions[i].name) != plain(name)) ++i;
  return i;
}

int64_t row_count(const OperatorPlan& plan) {
  int64_t rows = plan.length == 0 ? 0 : 1;
  for (int i = 0; i < plan.depth; ++i) rows *= plan.loops[i].extent;
  return rows;
}

void fuse_loops(OperatorPlan& plan) {
  if (plan.length == 0) return;
  if (facts_of(plan.function).elementwise) {
    OperatorLoop& row = plan.loops[plan.depth];
    if (plan.length > 1) {
      row = {plan.length, {}};
      std::copy_n(plan.row_steps, plan.operands, row.steps);
      ++plan.depth;
    }
    fuse(plan);
    return take_row(plan);
  }
  // The innermost loop of a causal softmax has a meaning of its own.
  const bool keeps = plan.function == Function::causal_softmax;
  const OperatorLoop last = plan.depth > 0 ? plan.loops[plan.depth - 1] : OperatorLoop{};
  plan.depth -= keeps ? 1 : 0;
  fuse(plan);
  if (keeps) plan.loops[plan.depth++] = last;
}

OperatorPlan make_map_plan(Function function, const Layout& dst, const Layout* const* sources) {
  OperatorPlan plan;
  plan.function = function;
  const int operands = facts_of(function).operands;
  const Layout* layouts[max_operands] = {&dst};
  std::copy_n(sources, operands - 1, layouts + 1);
  set_dtypes(plan, layouts);
  for (int i = 0; i < operands; ++i) {
    if (i > 0) require_broadcast(plan, dst, *layouts[i], i);
    if (function == Function::convert) continue;
    require_dtype(plan, i, takes(function, plan.dtypes[i]),
                  function == Function::cast          ? "an integer, bool or float"
                  : takes(function, INFINI_DTYPE_I32) ? "an integer or f16, bf16, f32, f64"
                                                      : "f16, bf16, f32 or f64");
    require_dtype(plan, i, function == Function::cast || plan.dtypes[i] == plan.dtypes[0],
                  dtype_name(plan.dtypes[0]));
  }
  require_disjoint(are_disjoint(dst), facts_of(function).names[0], dst);
  if (element_count(dst) == 0) return plan;
  take_dims(plan, layouts, operands, 0, dst.rank);
  make_ascending(plan);
  std::stable_sort(
      plan.loops, plan.loops + plan.depth,
      [](const OperatorLoop& a, const OperatorLoop& b) { return a.steps[0] > b.steps[0]; });
  fuse(plan);
  take_row(plan);
  return plan;
}

OperatorPlan make_rms_norm_plan(const Layout& y, const Layout& x, const Layout& w, float epsilon) {
  OperatorPlan plan;
  plan.function = Function::rms_norm;
  plan.epsilon = epsilon;
  const Layout* layouts[] = {&y, &x, &w};
  set_dtypes(plan, layouts);
  require_dtype(plan, 1, is_float(x.dtype), "f16, bf16, f32 or f64");
  require_dtype(plan, 0, y.dtype == x.dtype, dtype_name(x.dtype));
  const bool narrow = x.dtype == INFINI_DTYPE_F16 || x.dtype == INFINI_DTYPE_BF16;
  require_dtype(plan, 2,
                w.dtype == x.dtype ||
                    (narrow && (w.dtype == INFINI_DTYPE_F16 || w.dtype == INFINI_DTYPE_BF16 ||
                                w.dtype == INFINI_DTYPE_F32)),
                narrow ? "f16, bf16 or f32" : dtype_name(x.dtype));
  require(y.rank >= 1, INFINI_STATUS_BAD_TENSOR_SHAPE, "rms_norm: y has no dims; expected rows");
  require_same_shape(plan, y, x, 1);
  require(w.rank == 1 && w.shape[0] == y.shape[y.rank - 1], INFINI_STATUS_BAD_TENSOR_SHAPE,
          "rms_norm: w has shape ", ShapeOf{w}, "; expected ", y.shape[y.rank - 1]);
  require_disjoint(are_disjoint(y), "y", y);
  if (element_count(y) == 0) return plan;
  take_rows(plan, layouts, 2, 1);
  plan.length = y.shape[y.rank - 1];
  for (int i = 0; i < 3; ++i) plan.row_steps[i] = last_step(*layouts[i]);
  return plan;
}

OperatorPlan make_causal_softmax_plan(const Layout& y, const Layout& x) {
  OperatorPlan plan;
  plan.function = Function::causal_softmax;
  const Layout* layouts[] = {&y, &x};
  set_dtypes(plan, layouts);
  require_dtype(plan, 1, is_float(x.dtype), "f16, bf16, f32 or f64");
  require_dtype(plan, 0, y.dtype == x.dtype, dtype_name(x.dtype));
  require(y.rank >= 2 && y.shape[y.rank - 1] >= y.shape[y.rank - 2], INFINI_STATUS_BAD_TENSOR_SHAPE,
          "causal_softmax: y has shape ", ShapeOf{y},
          "; expected [..., s, T] with at least as many columns as rows");
  require_same_shape(plan, y, x, 1);
  require_disjoint(are_disjoint(y), "y", y);
  if (element_count(y) == 0) return plan;
  take_rows(plan, layouts, 2, 2);
  // The rows of a matrix are a loop of their own, be it of one row.
  const int rows = y.rank - 2;
  OperatorLoop& loop = plan.loops[plan.depth++];
  loop = {y.shape[rows], {}};
  for (int i = 0; i < 2; ++i) {
    loop.steps[i] = y.shape[rows] == 1 ? 0 : layouts[i]->strides[rows] * dtype_bytes(y.dtype);
    plan.row_steps[i] = last_step(*layouts[i]);
  }
  plan.length = y.shape[y.rank - 1];
  return plan;
}

OperatorPlan make_rope_plan(const Layout& y, const Layout& x, const Layout& positions,
                            const Layout& sin, const Layout& cos, bool neox) {
  OperatorPlan plan;
  plan.function = Function::rope;
  const Layout* layouts[] = {&y, &x, &positions, &sin, &cos};
  set_dtypes(plan, layouts);
  require_dtype(plan, 1, is_float(x.dtype), "f16, bf16, f32 or f64");
  for (const int i : {0, 3, 4})
    require_dtype(plan, i, plan.dtypes[i] == x.dtype, dtype_name(x.dtype));
  require_dtype(plan, 2, is_integer(positions.dtype), "an integer");
  require((y.rank == 3 || y.rank == 4) && y.shape[y.rank - 1] % 2 == 0,
          INFINI_STATUS_BAD_TENSOR_SHAPE, "rope: y has shape ", ShapeOf{y},
          "; expected [s, h, dh] or [b, s, h, dh] with an even dh");
  require_same_shape(plan, y, x, 1);
  const int s = y.rank - 3;
  const int64_t half = y.shape[y.rank - 1] / 2;
  require(positions.rank >= 1 && positions.rank <= y.rank - 2 &&
              positions.shape[positions.rank - 1] == y.shape[s] &&
              (positions.rank == 1 || positions.shape[0] == y.shape[0]),
          INFINI_STATUS_BAD_TENSOR_SHAPE, "rope: pos_ids has shape ", ShapeOf{positions},
          "; expected [s]", y.rank == 4 ? " or [b, s]" : "", " of ", ShapeOf{y});
  for (int i = 3; i < 5; ++i)
    require(layouts[i]->rank == 2 && layouts[i]->shape[1] == half &&
                layouts[i]->shape[0] == sin.shape[0],
            INFINI_STATUS_BAD_TENSOR_SHAPE, "rope: ", facts_of(plan.function).names[i],
            " has shape ", ShapeOf{*layouts[i]}, "; expected [rows, ", half, "]");
  require_disjoint(are_disjoint(y), "y", y);
  if (element_count(y) == 0) return plan;
  const int64_t bytes = dtype_bytes(x.dtype);
  for (int dim = 0; dim < y.rank - 1; ++dim) {
    if (y.shape[dim] == 1) continue;
    OperatorLoop& loop = plan.loops[plan.depth++];
    loop = {y.shape[dim], {y.strides[dim] * bytes, x.strides[dim] * bytes}};
    const int at = dim - (y.rank - 2 - positions.rank);
    if (dim <= s && at >= 0 && at < positions.rank && positions.shape[at] != 1)
      loop.steps[2] = positions.strides[at] * dtype_bytes(positions.dtype);
  }
  plan.length = half;
  for (int i = 0; i < 2; ++i) {
    const int64_t step = last_step(*layouts[i]);
    plan.row_steps[i] = neox || half == 1 ? step : 2 * step;
    plan.pair_steps[i] = neox ? half * step : step;
    plan.row_steps[3 + i] = last_step(*layouts[3 + i]);
    plan.table_steps[i] = step_of(*layouts[3 + i], 0);
  }
  plan.table_rows = sin.shape[0];
  return plan;
}

OperatorPlan make_random_sample_plan(const Layout& result, const Layout& logits) {
  OperatorPlan plan;
  plan.function = Function::random_sample;
  const Layout* layouts[] = {&result, &logits};
  set_dtypes(plan, layouts);
  require_dtype(plan, 0, is_integer(result.dtype), "an integer");
  require_dtype(plan, 1, is_float(logits.dtype), "f16, bf16, f32 or f64");
  require((logits.rank == 1 || logits.rank == 2) && logits.shape[logits.rank - 1] >= 1,
          INFINI_STATUS_BAD_TENSOR_SHAPE, "random_sample: probs has shape ", ShapeOf{logits},
          "; expected [n] or [batch, n] with at least one logit");
  const int64_t rows = logits.rank == 1 ? 1 : logits.shape[0];
  require(element_count(result) == rows && result.rank <= 1, INFINI_STATUS_BAD_TENSOR_SHAPE,
          "random_sample: result has shape ", ShapeOf{result},
          "; expected one element for each of ", rows, " rows");
  require_disjoint(are_disjoint(result), "result", result);
  const int64_t bits = 8 * dtype_bytes(result.dtype) - (result.dtype < INFINI_DTYPE_U8 ? 1 : 0);
  require_dtype(plan, 0, bits >= 63 || logits.shape[logits.rank - 1] - 1 < int64_t{1} << bits,
                "an integer that can say every token's number");
  if (rows == 0) return plan;
  plan.length = logits.shape[logits.rank - 1];
  plan.row_steps[1] = last_step(logits);
  if (rows > 1)
    plan.loops[plan.depth++] = {rows,
                                {result.strides[0] * dtype_bytes(result.dtype),
                                 logits.strides[0] * dtype_bytes(logits.dtype)}};
  return plan;
}

OperatorPlan make_operator_plan(Function function, const Layout* const* layouts,
                                const OperatorOptions& options) {
  switch (function) {
    case Function::rms_norm:
      return make_rms_norm_plan(*layouts[0], *layouts[1], *layouts[2], options.epsilon);
    case Function::causal_softmax: return make_causal_softmax_plan(*layouts[0], *layouts[1]);
    case Function::rope:
      return make_rope_plan(*layouts[0], *layouts[1], *layouts[2], *layouts[3], *layouts[4],
                            options.neox);
    case Function::random_sample: return make_random_sample_plan(*layouts[0], *layouts[1]);
    default: return make_map_plan(function, *layouts[0], layouts + 1);
  }
}

std::string to_string(const OperatorPlan& plan) {
  const FunctionFacts& facts = facts_of(plan.function);
  std::ostringstream text;
  text << facts.name;
  for (int i = 0; i < plan.operands; ++i)
    text << (i == 0 ? " " : ", ") << facts.names[i] << " " << dtype_name(plan.dtypes[i]);
  for (int i = 0; i < plan.depth; ++i) {
    text << "\n"
         << std::string(static_cast<size_t>(2 * i), ' ') << "for " << plan.loops[i].extent << ":";
    for (int k = 0; k < plan.operands; ++k)
      text << (k == 0 ? " " : ", ") << facts.names[k] << " += " << plan.loops[i].steps[k];
  }
  text << "\n"
       << std::string(static_cast<size_t>(2 * plan.depth), ' ') << "a row of " << plan.length;
  return text.str();
}

}  // namespace infini
