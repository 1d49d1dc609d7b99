// Packing operands.
#include "plan/operators/packed_operator.h"

#include <algorithm>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini {
namespace {

constexpr int64_t place_alignment = 256;

// A dim of an operand and where its step stands in the plan.
struct PlanDim {
  int64_t extent;
  int64_t* step;
};

// All dims of an operand, outermost first.
int dims_of(OperatorPlan& plan, int operand, PlanDim* dims) {
  int count = 0;
  const bool rope = plan.function == Function::rope, table = rope && operand >= 3;
  for (int i = 0; i < plan.depth; ++i)
    dims[count++] = {plan.loops[i].extent, &plan.loops[i].steps[operand]};
  if (rope && operand < 2) dims[count++] = {2, &plan.pair_steps[operand]};
  if (table) dims[count++] = {plan.table_rows, &plan.table_steps[operand - 3]};
  if (!is_single(plan.function, operand)) dims[count++] = {plan.length, &plan.row_steps[operand]};
  return count;
}

// Gives the operand dense steps and makes the copy between both.
void pack(OperatorPlan& plan, int operand, bool expand, PackedOperator& out) {
  PlanDim dims[max_rank + 2];
  const int count = dims_of(plan, operand, dims);
  const int64_t bytes = dtype_bytes(plan.dtypes[operand]);
  Layout client{}, dense{};
  client.dtype = dense.dtype = plan.dtypes[operand];
  int64_t elements = 1;
  for (int i = count; i-- > 0;) {
    if (dims[i].extent == 1 || (*dims[i].step == 0 && !expand)) continue;
    client.shape[client.rank] = dense.shape[client.rank] = dims[i].extent;
    client.strides[client.rank++] = *dims[i].step / bytes;
    dense.strides[dense.rank++] = elements;
    *dims[i].step = elements * bytes;
    elements *= dims[i].extent;
  }
  for (Layout* const layout : {&client, &dense}) {  // outermost first
    std::reverse(layout->shape, layout->shape + layout->rank);
    std::reverse(layout->strides, layout->strides + layout->rank);
  }
  PackedOperand& packed = out.operands[operand];
  packed.packed = true;
  packed.at = out.bytes;
  out.bytes += round_up(elements * bytes, place_alignment);
  const bool written = operand == 0;
  packed.copy = written ? make_rearrange_plan(client, dense) : make_rearrange_plan(dense, client);
  (written ? packed.copy.dst_offset : packed.copy.src_offset) += plan.offsets[operand];
  plan.offsets[operand] = 0;
}

}  // namespace

bool is_dense_row(const OperatorPlan& plan, int operand) {
  return plan.length == 1 || plan.row_steps[operand] == dtype_bytes(plan.dtypes[operand]);
}

PackedOperator pack_operands(const OperatorPlan& plan, unsigned which, bool expand) {
  PackedOperator out;
  out.plan = plan;
  for (int i = 0; i < plan.operands; ++i) {
    const bool empty_table = plan.function == Function::rope && i >= 3 && plan.table_rows == 0;
    if (which >> i & 1 && !empty_table) pack(out.plan, i, expand, out);
  }
  if (which != 0) fuse_loops(out.plan);
  return out;
}

}  // namespace infini
