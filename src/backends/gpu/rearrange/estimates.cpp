// The candidates' answers: a schedule and its cost.
#include "backends/gpu/rearrange/estimates.h"

#include <algorithm>

#include "backends/gpu/rearrange/costs.h"
#include "backends/gpu/rearrange/fill/cost.h"
#include "backends/gpu/rearrange/transpose/cost.h"

namespace infini::gpu {
namespace {

constexpr const char* too_many = "more blocks, loops or units than a launch can have";

UnitNest nest_of(const Machine& machine, const RearrangePlan& plan) {
  return make_unit_nest(plan, machine.max_unit);
}

// Every processor should get some tiles.
TileBudget budget_for(const Machine& machine, const RearrangePlan& plan, int most_bytes) {
  const int64_t share = moved_bytes(plan) / machine.model.processors;
  const auto bytes = std::clamp<int64_t>(share, machine.limits.least_tile_bytes, most_bytes);
  return {static_cast<int>(bytes), machine.limits.shared_bytes,
          TileBudget{}.many_tiles, machine.limits.warp_threads,
          machine.model,           machine.bases_aligned};
}

// What no launch can be faster than: memory moves whole sectors.
double floor_ns(const RearrangePlan& plan, const DeviceModel& model) {
  const LaunchCosts& launch = model.rearrange->launch;
  return launch.start_ns + launch.floor_of_copy * memory_ns(sector_traffic(plan), model);
}

}  // namespace

Estimate<TinySchedule> estimate_tiny(const Machine& machine, const RearrangePlan& plan, double) {
  const auto schedule = make_tiny_schedule(nest_of(machine, plan));
  if (!schedule) return {.why_not = "too many units, loops or bytes between them"};
  return {schedule, tiny_ns(*schedule, plan, machine.model)};
}

Estimate<CopySchedule> estimate_copy(const Machine& machine, const RearrangePlan& plan, double) {
  if (plan.depth > 0) return {.why_not = "more than one run"};
  return {CopySchedule{}, copy_ns(plan, machine.model)};
}

Estimate<RowSchedules> estimate_rows(const Machine& machine, const RearrangePlan& plan, double) {
  const auto even = make_row_schedule(plan, machine.max_unit);
  const auto shifted = make_shift_schedule(plan, machine.max_unit);
  if (!even || !shifted) return {.why_not = too_many};
  return {RowSchedules{*even, *shifted}, rows_ns(*even, *shifted, plan, machine.model)};
}

Estimate<PlanesSchedule> estimate_planes(const Machine& machine, const RearrangePlan& plan,
                                         double) {
  if (!machine.bases_aligned) return {.why_not = "bases are not aligned to 16 bytes"};
  const auto schedule =
      make_planes_schedule(nest_of(machine, plan), machine.limits.least_plane_bytes);
  if (!schedule) return {.why_not = "no 2 to 4 planes of whole vectors"};
  return {schedule, planes_ns(*schedule, plan, machine.model)};
}

Estimate<FillSchedule> estimate_fill(const Machine& machine, const RearrangePlan& plan, double) {
  const auto schedule = make_fill_schedule(nest_of(machine, plan));
  if (!schedule) return {.why_not = "no runs that repeat one unit of up to 8 bytes"};
  return {schedule, fill_ns(*schedule, plan, machine.model)};
}

Estimate<ScatterSchedule> estimate_scatter(const Machine& machine, const RearrangePlan& plan,
                                           double) {
  const auto schedule = make_scatter_schedule(nest_of(machine, plan));
  if (!schedule) return {.why_not = "no neighbours with gaps that share sectors"};
  return {schedule, scatter_ns(*schedule, plan, machine.model)};
}

Estimate<GenericSchedule> estimate_generic(const Machine& machine, const RearrangePlan& plan,
                                           double) {
  const auto schedule = make_generic_schedule(nest_of(machine, plan));
  if (!schedule) return {.why_not = too_many};
  return {schedule, generic_ns(*schedule, plan, machine.model)};
}

Estimate<TransposeSchedule> estimate_transpose(const Machine& machine, const RearrangePlan& plan,
                                               double limit) {
  const double floor = floor_ns(plan, machine.model);
  if (floor > limit) return {.nanoseconds = floor};
  const UnitNest nest = nest_of(machine, plan);
  const auto schedule = make_transpose_schedule(
      nest, budget_for(machine, plan, machine.limits.tile_bytes), machine.bases_aligned);
  if (!schedule) return {.why_not = "no rows of src that are columns of dst"};
  return {schedule, std::max(floor, transpose_ns(*schedule, nest, machine.model))};
}

namespace {

// Of what the model says, which was fitted to vectors.
double as_measured(Stores stores, int unit, const TileCosts& costs) {
  switch (stores) {
    case Stores::vectors: break;
    case Stores::staged: return costs.of_staged;
    case Stores::words: return costs.of_words[unit / 2];  // 1, 2 or 4 bytes
    case Stores::single: return costs.of_single;
  }
  return 1;
}

Estimate<TileSchedule> estimate_stores(const Machine& machine, const RearrangePlan& plan,
                                       double limit, Stores stores, const char* why_not) {
  const UnitNest nest = nest_of(machine, plan);
  if (!can_store(nest, stores)) return {.why_not = why_not};
  const double floor = floor_ns(plan, machine.model);
  if (floor > limit) return {.nanoseconds = floor};
  // Where gathering is dear, larger tiles pay: what a block prepares serves more bytes.
  const auto best = make_tile_schedule(
      nest, budget_for(machine, plan, machine.limits.tile_bytes * 4 / 3), stores);
  if (!best.schedule) return {.why_not = "no tile fits into shared memory"};
  const TileCosts& costs = machine.model.rearrange->tile;
  const double measured = as_measured(stores, nest.unit, costs);
  const double least = stores == Stores::single ? costs.single_of_floor * floor : floor;
  return {best.schedule, std::max(least, launch_ns(measured * best.cost, nest, machine.model))};
}

}  // namespace

Estimate<TileSchedule> estimate_tiles(const Machine& machine, const RearrangePlan& plan,
                                      double limit) {
  return estimate_stores(machine, plan, limit, Stores::vectors, "neighbours never touch in dst");
}

Estimate<TileSchedule> estimate_staged(const Machine& machine, const RearrangePlan& plan,
                                       double limit) {
  return estimate_stores(machine, plan, limit, Stores::staged,
                         "neighbours never touch in dst, or units have more than 4 bytes");
}

Estimate<TileSchedule> estimate_words(const Machine& machine, const RearrangePlan& plan,
                                      double limit) {
  return estimate_stores(machine, plan, limit, Stores::words,
                         "neighbours never touch in dst, or units have more than 4 bytes");
}

Estimate<TileSchedule> estimate_single(const Machine& machine, const RearrangePlan& plan,
                                       double limit) {
  return estimate_stores(machine, plan, limit, Stores::single,
                         "neighbours share no sector of dst, or touch in long runs");
}

const char* cheapest_name(const Machine& machine, const RearrangePlan& plan) {
  const char* best = "none";
  double least = std::numeric_limits<double>::infinity();
  const auto ask = [&](const char* name, auto estimate) {
    const auto found = estimate(machine, plan, least);
    if (!found.schedule || found.nanoseconds >= least) return;
    least = found.nanoseconds;
    best = name;
  };
  ask("tiny", estimate_tiny);
  ask("copy", estimate_copy);
  ask("rows", estimate_rows);
  ask("planes", estimate_planes);
  ask("fill", estimate_fill);
  ask("scatter", estimate_scatter);
  ask("generic", estimate_generic);
  ask("transpose", estimate_transpose);
  ask("tile", estimate_tiles);
  ask("staged", estimate_staged);
  ask("single", estimate_single);
  ask("words", estimate_words);
  return best;
}

}  // namespace infini::gpu
