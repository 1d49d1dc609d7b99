// Making schedules of operators.
#include "backends/kunlun/operators/schedule.h"

#include <algorithm>
#include <sstream>

#include "backends/kunlun/rearrange/tile.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/operators/convert_plan.h"

namespace infini::kunlun {
namespace {

constexpr int64_t short_row = 64;  // bytes: below, a burst costs as much as this many

bool is_map(const OperatorPlan& plan) { return facts_of(plan.function).elementwise; }

// Pairs that lie one after another, first and second elements in turns: one burst for both.
bool is_interleaved(const OperatorPlan& plan, int operand) {
  const int64_t bytes = dtype_bytes(plan.dtypes[operand]);
  return plan.row_steps[operand] == 2 * bytes && plan.pair_steps[operand] == bytes;
}

bool is_walkable(const OperatorPlan& plan, int operand) {
  if (is_single(plan.function, operand) || is_dense_row(plan, operand)) return true;
  if (plan.function == Function::rope && operand < 2) return is_interleaved(plan, operand);
  return is_map(plan) && operand > 0 && plan.row_steps[operand] == 0;
}

// What cannot be walked as it lies is packed; all is, where loops are too many for a launch, or elementwise rows so short that
// bursts would be wasted on them.
PackedOperator pack(const OperatorPlan& plan) {
  unsigned which = 0;
  unsigned all = (1u << plan.operands) - 1;
  for (int i = 0; i < plan.operands; ++i) all &= is_absent(plan, i) ? ~(1u << i) : ~0u;
  for (int i = 0; i < plan.operands; ++i) which |= is_walkable(plan, i) ? 0u : 1u << i;
  if (is_map(plan) && plan.depth > 0 && plan.length * dtype_bytes(plan.dtypes[0]) < short_row)
    return pack_operands(plan, all, true);
  PackedOperator packed = pack_operands(plan, which);
  return packed.plan.depth <= max_nest_loops ? packed : pack_operands(plan, all, is_map(plan));
}

RowNest nest_of(const OperatorPlan& plan) {
  RowNest nest{};
  nest.function = static_cast<int32_t>(plan.function);
  nest.operands = plan.operands;
  nest.depth = plan.depth;
  nest.rows = row_count(plan);
  nest.length = plan.length;
  nest.table_rows = plan.table_rows;
  int64_t widest = 1;
  for (int k = 0; k < plan.operands; ++k) {
    const int64_t bytes = dtype_bytes(plan.dtypes[k]);
    nest.dtypes[k] = static_cast<int32_t>(plan.dtypes[k]);
    nest.offsets[k] = plan.offsets[k];
    nest.row_steps[k] =
        plan.length == 1 && !is_single(plan.function, k) ? bytes : plan.row_steps[k];
    if (!is_single(plan.function, k)) widest = std::max(widest, bytes);
  }
  std::copy_n(plan.pair_steps, 2, nest.pair_steps);
  std::copy_n(plan.table_steps, 2, nest.table_steps);
  for (int i = 0; i < plan.depth; ++i) {
    nest.loops[i].extent = plan.loops[i].extent;
    std::copy_n(plan.loops[i].steps, plan.operands, nest.loops[i].steps);
  }
  nest.chunk = static_cast<int32_t>(chunk_bytes / widest);
  nest.chunks = ceil_div(nest.length, nest.chunk);
  return nest;
}

// Rows of several chunks, and too few of them for all cores, are shared by the cores of a cluster; drawing needs all of one.
bool is_clustered(const OperatorPlan& plan, const RowNest& nest, int clusters) {
  if (is_map(plan) || plan.function == Function::rope) return false;
  return plan.function == Function::random_sample ||
         (nest.chunks > 1 && nest.rows < int64_t{clusters} * cores_per_cluster);
}

}  // namespace

RowSchedule make_row_schedule(const OperatorPlan& plan, int device_clusters) {
  RowSchedule s;
  s.packed = pack(plan);
  s.nest = nest_of(s.packed.plan);
  s.nest.clustered = is_clustered(s.packed.plan, s.nest, device_clusters);
  const bool by_chunks = is_map(plan) || plan.function == Function::rope;
  const int64_t units = saturating_mul(s.nest.rows, by_chunks ? s.nest.chunks : 1);
  s.clusters = static_cast<int>(std::min<int64_t>(device_clusters, units));
  s.cores =
      s.nest.clustered
          ? cores_per_cluster
          : static_cast<int>(std::min<int64_t>(cores_per_cluster, ceil_div(units, s.clusters)));
  return s;
}

std::string to_string(const RowSchedule& schedule) {
  std::ostringstream text;
  const RowNest& nest = schedule.nest;
  text << nest.rows << " rows of " << nest.length << " by " << schedule.clusters << "x"
       << schedule.cores << " cores, in chunks of " << nest.chunk;
  if (nest.clustered) text << ", a cluster for each row";
  const char* word = ", packs ";
  for (int k = 0; k < nest.operands; ++k) {
    if (!schedule.packed.operands[k].packed) continue;
    text << word << facts_of(schedule.packed.plan.function).names[k];
    word = " ";
  }
  return text.str();
}

}  // namespace infini::kunlun
