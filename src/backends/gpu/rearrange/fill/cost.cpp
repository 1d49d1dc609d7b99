// Memory and instructions of a fill.
#include "backends/gpu/rearrange/fill/cost.h"

#include <algorithm>
#include <cmath>

#include "backends/gpu/rearrange/costs.h"
#include "plan/rearrange/memory_traffic.h"

namespace infini::gpu {
namespace {

// Units of neighbouring runs that share no sector are read by a sector each, which the caches join in part.
double read_alone(const FillSchedule& s, double runs, const RearrangePlan& plan,
                  const PlainCosts& costs) {
  const auto step = s.depth > 0 ? std::abs(s.loops[0].src_step) : 0;
  const double alone = runs * static_cast<double>(std::min(step, int64_t{sector_bytes}));
  const double once = source_traffic(plan, sector_bytes);
  return (1 - costs.sectors_joined) * std::max(0.0, alone - once);
}

}  // namespace

double fill_ns(const FillSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const LaunchCosts& launch = device.rearrange->launch;
  const FillCosts& costs = device.rearrange->fill;
  const double pieces = static_cast<double>(s.stretches) * s.pieces.divisor;
  const double runs = pieces * s.listed.divisor, warps = pieces * s.vectors.divisor / warp;
  const double ends = std::min(warps, 2.0 * s.stretches);  // warps that have some
  const double instructions = warps * costs.vector +
                              runs / warp * (costs.run + costs.run_loop * s.depth) +
                              ends * costs.end;
  const double busy = std::min(1.0, static_cast<double>(s.blocks) / device.processors);
  const double memory =
      memory_ns(sector_traffic(plan) + read_alone(s, runs, plan, device.rearrange->plain), device);
  const double issue = issue_ns(instructions, device) / busy;
  return launch.start_ns + std::max(memory, issue) + launch.beside_longer * std::min(memory, issue);
}

}  // namespace infini::gpu
