// Convert on the CPU: the list of candidates. Each bids by its own schedule and cost.
#include "backends/cpu/rearrange/candidates.h"

#include <limits>

#include "backends/cpu/backend.h"
#include "backends/cpu/convert/blocks/schedule.h"
#include "backends/cpu/convert/convert.h"
#include "backends/cpu/convert/rows/schedule.h"
#include "backends/cpu/convert/tiles/schedule.h"
#include "contract/candidate.h"

namespace infini::cpu {
namespace {

using Offered = Bid<OperatorKernel>;

// The device is only passed on to the rearrangements that some are made of.
struct Maker {
  Setting setting;
  infini::Device* device;
};

template <class Schedule>
Offered bid_of(std::optional<Schedule> schedule,
               double (*cost)(const Schedule&, const OperatorPlan&, const Setting&),
               std::unique_ptr<OperatorKernel> (*make)(Schedule, const OperatorPlan&,
                                                       const Policy&),
               const char* why_not, const Maker& maker, const OperatorPlan& plan, double limit) {
  if (!schedule) return cannot<OperatorKernel>(why_not);
  const double nanoseconds = cost(*schedule, plan, maker.setting);
  if (nanoseconds >= limit) return at_least<OperatorKernel>(nanoseconds);
  return would_take<OperatorKernel>(nanoseconds,
                                    [make, &maker, &plan, kept = std::move(*schedule)]() mutable {
                                      return make(std::move(kept), plan, maker.setting.policy);
                                    });
}

Offered bid_rows(const Maker& maker, const OperatorPlan& plan, double limit) {
  return bid_of<ConvertRows>(make_convert_rows(plan, maker.setting.policy), convert_rows_ns,
                             make_row_converter, "its rows are not contiguous on both sides", maker,
                             plan, limit);
}

Offered bid_tiles(const Maker& maker, const OperatorPlan& plan, double limit) {
  return bid_of<ConvertTiles>(
      make_convert_tiles(plan, maker.setting.policy), convert_tiles_ns, make_tile_converter,
      "needs an axis contiguous in y and another contiguous in x", maker, plan, limit);
}

Offered bid_blocks(const Maker& maker, const OperatorPlan& plan, double limit) {
  const Setting& setting = maker.setting;
  if (const double least = line_ns(plan, setting.machine) / convert_threads(plan, setting.policy);
      least >= limit)
    return at_least<OperatorKernel>(least);
  ConvertSchedule schedule = make_convert_schedule(plan, setting.policy);
  const double nanoseconds = convert_blocks_ns(schedule, plan, setting);
  if (nanoseconds >= limit) return at_least<OperatorKernel>(nanoseconds);
  return would_take<OperatorKernel>(
      nanoseconds, [&maker, &plan, kept = std::move(schedule)]() mutable {
        return make_block_converter(std::move(kept), plan, maker.setting.policy, *maker.device);
      });
}

constexpr Candidate<OperatorKernel, Maker, OperatorPlan> candidates[] = {
    {"rows", bid_rows}, {"tiles", bid_tiles}, {"blocks", bid_blocks}};

}  // namespace

const char* cheapest_convert_name(const Setting& setting, const OperatorPlan& plan) {
  const Maker maker{setting, nullptr};
  const char* best = "";
  double limit = std::numeric_limits<double>::infinity();
  for (const auto& candidate : candidates) {
    const Offered bid = candidate.bid(maker, plan, limit);
    if (bid.offer == nullptr || bid.nanoseconds >= limit) continue;
    limit = bid.nanoseconds;
    best = candidate.name;
  }
  return best;
}

std::unique_ptr<OperatorKernel> make_convert(infini::Device& device, const OperatorPlan& plan,
                                             const Choice& choice) {
  const Maker maker{current_setting(), &device};
  return cheapest(candidates, maker, plan, choice, {"INFINI_CPU_CONVERT"});
}

}  // namespace infini::cpu
