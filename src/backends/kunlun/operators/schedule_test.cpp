// The law of operators' schedules: packing, walking the chunks as a kernel does and unpacking meets every element of the result
// once, each together with the elements of the sources that the plan names; no chunk leaves its buffer.
#include "backends/kunlun/operators/schedule.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "backends/kunlun/rearrange/tile.h"
#include "base/dtype.h"
#include "harness/operators/operator_problem.h"
#include "harness/operators/operator_table.h"

namespace infini::kunlun {
namespace {

using Bytes = std::map<int64_t, int64_t>;
// An element of the result by its offset; those of the sources, and its row's index in the innermost loop.
using Elements = std::map<int64_t, std::array<int64_t, max_operands>>;

void add_pairs(const RearrangePlan& plan, int level, int64_t dst, int64_t src, Bytes& out) {
  if (level == plan.depth) {
    for (int64_t i = 0; i < plan.atom_bytes; ++i) out[dst + i] = src + i;
    return;
  }
  const Loop& loop = plan.loops[level];
  for (int64_t i = 0; i < loop.extent; ++i)
    add_pairs(plan, level + 1, dst + i * loop.dst_step, src + i * loop.src_step, out);
}

// For each operand from the place that a kernel sees to the client's.
class Places {
 public:
  explicit Places(const PackedOperator& packed) {
    for (int k = 0; k < packed.plan.operands; ++k) {
      const PackedOperand& operand = packed.operands[k];
      packed_[k] = operand.packed;
      if (!operand.packed) continue;
      Bytes pairs;
      add_pairs(operand.copy, 0, operand.copy.dst_offset, operand.copy.src_offset, pairs);
      for (const auto& [to, from] : pairs) maps_[k][k == 0 ? from : to] = k == 0 ? to : from;
    }
  }
  int64_t client(int k, int64_t place) const {
    if (!packed_[k]) return place;
    const auto found = maps_[k].find(place);
    return found == maps_[k].end() ? INT64_MIN : found->second;
  }

 private:
  bool packed_[max_operands] = {};
  Bytes maps_[max_operands];
};

// One element (rope: one pair at a table's last row) of all operands, both halves of a pair.
void add_element(Elements& all, const OperatorPlan& plan, const Places* places, const int64_t* at,
                 int64_t innermost) {
  const bool rope = plan.function == Function::rope;
  for (int half = 0; half < (rope ? 2 : 1); ++half) {
    std::array<int64_t, max_operands> tuple{};
    int64_t result = 0;
    for (int k = 0; k < plan.operands; ++k) {
      int64_t place = at[k];
      if (rope && k < 2) place += half * plan.pair_steps[k];
      if (rope && k > 2) place += (plan.table_rows - 1) * plan.table_steps[k - 3];
      if (places) place = places->client(k, place);
      (k == 0 ? result : tuple[static_cast<size_t>(k)]) = place;
    }
    if (plan.function == Function::causal_softmax) tuple[0] = innermost;
    const bool is_new = all.emplace(result, tuple).second;
    EXPECT_TRUE(is_new || plan.function == Function::random_sample) << "written twice";
  }
}

void add_rows(const OperatorPlan& plan, int level, const int64_t* at, int64_t innermost,
              Elements& all) {
  int64_t now[max_operands];
  std::copy_n(at, max_operands, now);
  const bool row = level == plan.depth;
  const int64_t extent = row ? plan.length : plan.loops[level].extent;
  for (int64_t i = 0; i < extent; ++i) {
    if (row)
      add_element(all, plan, nullptr, now, innermost);
    else
      add_rows(plan, level + 1, now, i, all);
    for (int k = 0; k < plan.operands; ++k)
      now[k] += row ? plan.row_steps[k] : plan.loops[level].steps[k];
  }
}

// As kernels find them, written anew from row_nest.h's words.
Elements walked(const RowSchedule& schedule) {
  const RowNest& nest = schedule.nest;
  const OperatorPlan& plan = schedule.packed.plan;
  const Places places(schedule.packed);
  Elements all;
  for (int k = 0; k < nest.operands; ++k) {
    if (is_single(plan.function, k)) continue;
    EXPECT_LE(nest.chunk * dtype_bytes(plan.dtypes[k]), chunk_bytes);
  }
  for (int64_t unit = 0; unit < nest.rows * nest.chunks; ++unit) {
    int64_t row = unit / nest.chunks, at[max_operands], innermost = 0;
    std::copy_n(nest.offsets, max_operands, at);
    for (int i = nest.depth; i-- > 0; row /= nest.loops[i].extent) {
      const int64_t digit = row % nest.loops[i].extent;
      if (i + 1 == nest.depth) innermost = digit;
      for (int k = 0; k < nest.operands; ++k) at[k] += digit * nest.loops[i].steps[k];
    }
    const int64_t first = unit % nest.chunks * nest.chunk;
    EXPECT_LT(first, nest.length);
    for (int64_t i = first; i < std::min(nest.length, first + nest.chunk); ++i) {
      int64_t element[max_operands];
      for (int k = 0; k < nest.operands; ++k) element[k] = at[k] + i * nest.row_steps[k];
      add_element(all, plan, &places, element, innermost);
    }
  }
  return all;
}

TEST(OperatorSchedule, MeetsEveryElementOnce) {
  harness::Random random(11);
  int packed = 0, clustered = 0;
  for (int f = 0; f < named_count; ++f)
    for (int n = 0; n < 60; ++n) {
      const auto problem = harness::random_operator_problem(random, static_cast<Function>(f), 2000);
      const OperatorPlan plan = harness::make_plan(problem);
      if (plan.length == 0) continue;
      const RowSchedule schedule = make_row_schedule(plan, 12);
      Elements expected;
      add_rows(plan, 0, plan.offsets, 0, expected);
      ASSERT_EQ(expected, walked(schedule)) << to_text(problem) << "\n" << to_string(schedule);
      ASSERT_GE(schedule.clusters, 1);
      ASSERT_LE(schedule.cores, cores_per_cluster);
      packed += schedule.packed.bytes > 0;
      clustered += schedule.nest.clustered;
    }
  EXPECT_GT(packed, 50);
  EXPECT_GT(clustered, 20);
}

TEST(OperatorSchedule, LaysWhatIsWalkableNowhereElse) {
  const auto schedule_of = [](const char* text) {
    return make_row_schedule(harness::make_plan(harness::parse_operator(text)), 12);
  };
  EXPECT_EQ(0, schedule_of("add f32 17x300").packed.bytes);
  EXPECT_EQ(0, schedule_of("add f32 17x300 c=400,1 b_shape=1x300").packed.bytes);
  EXPECT_EQ(0, schedule_of("rope bf16 5x3x64").packed.bytes);  // pairs in turns: one burst
  EXPECT_EQ(0, schedule_of("rope bf16 5x3x64 algo=neox").packed.bytes);
  const auto transposed = schedule_of("add f32 64x300 b=1,64");
  EXPECT_FALSE(transposed.packed.operands[0].packed);
  EXPECT_TRUE(transposed.packed.operands[2].packed);
  EXPECT_NE(std::string::npos, to_string(transposed).find("packs b"));
}

}  // namespace
}  // namespace infini::kunlun
