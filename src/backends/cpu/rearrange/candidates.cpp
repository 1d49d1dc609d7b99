// Rearrange on the CPU: the list of candidates. Each bids by its own schedule and cost.
#include "backends/cpu/rearrange/candidates.h"

#include <algorithm>

#include "backends/cpu/backend.h"
#include "backends/cpu/rearrange/blocks/schedule.h"
#include "backends/cpu/rearrange/buffered/schedule.h"
#include "backends/cpu/rearrange/nest/schedule.h"
#include "backends/cpu/rearrange/pins.h"
#include "backends/cpu/rearrange/repeated/schedule.h"
#include "backends/cpu/rearrange/runs/schedule.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"
#include "backends/cpu/rearrange/shuffle/schedule.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "contract/candidate.h"

namespace infini::cpu {
namespace {

using Offered = Bid<RearrangeKernel>;

template <class Schedule>
using Cost = double (*)(const Schedule&, const RearrangePlan&, const Setting&);
template <class Schedule>
using Make = std::unique_ptr<RearrangeKernel> (*)(Schedule, const RearrangePlan&, const Policy&);

// To make a kernel takes time, too, which its runs share: so many, at least, where somebody asks for the best one.
constexpr double runs_of_a_kernel = 200;
constexpr double making_runs_ns = 500, making_tiles_ns = 500, making_blocks_ns = 4000,
                 making_shuffle_ns = 30000;

template <class Schedule>
Offered bid_of(std::optional<Schedule> schedule, Cost<Schedule> cost, Make<Schedule> make,
               double making_ns, const char* why_not, const Setting& setting,
               const RearrangePlan& plan, double limit) {
  if (!schedule) return cannot<RearrangeKernel>(why_not);
  const double nanoseconds = cost(*schedule, plan, setting) + making_ns / runs_of_a_kernel;
  if (nanoseconds >= limit) return at_least<RearrangeKernel>(nanoseconds);
  return would_take<RearrangeKernel>(
      nanoseconds, [make, &setting, &plan, kept = std::move(*schedule)]() mutable {
        return make(std::move(kept), plan, setting.policy);
      });
}

// Nobody begins with less than this.
double least_ns(const Setting& setting, double making_ns) {
  return task_ns(setting.machine) + making_ns / runs_of_a_kernel;
}

Offered bid_nest(const Setting& setting, const RearrangePlan& plan, double limit) {
  return bid_of<NestSchedule>(make_nest_schedule(plan), nest_ns, make_nest, 0, "", setting, plan,
                              limit);
}

Offered bid_runs(const Setting& setting, const RearrangePlan& plan, double limit) {
  if (const double least = least_ns(setting, making_runs_ns); least > limit)
    return at_least<RearrangeKernel>(least);
  return bid_of<RunSchedule>(make_run_schedule(plan, setting.policy), runs_ns, make_runs,
                             making_runs_ns, "no run of bytes is contiguous on both sides", setting,
                             plan, limit);
}

Offered bid_tiles(const Setting& setting, const RearrangePlan& plan, double limit) {
  if (const double least = least_ns(setting, making_tiles_ns); least > limit)
    return at_least<RearrangeKernel>(least);
  return bid_of<TileSchedule>(
      make_tile_schedule(plan, setting.policy), tiles_ns, make_tiles, making_tiles_ns,
      "needs an axis contiguous in dst and another contiguous in src", setting, plan, limit);
}

Offered bid_buffered(const Setting& setting, const RearrangePlan& plan, double limit) {
  if (setting.isa == Isa::portable || setting.isa == Isa::neon)
    return cannot<RearrangeKernel>("this processor has no vectors of a line");
  if (const double least = least_ns(setting, making_tiles_ns); least > limit)
    return at_least<RearrangeKernel>(least);
  return bid_of<BufferedSchedule>(
      make_buffered_schedule(plan, setting.policy), buffered_ns, make_buffered, making_tiles_ns,
      "needs an axis contiguous in dst and another contiguous in src", setting, plan, limit);
}

Offered bid_blocks(const Setting& setting, const RearrangePlan& plan, double limit) {
  if (const double least = least_ns(setting, making_blocks_ns); least > limit)
    return at_least<RearrangeKernel>(least);
  return bid_of<BlockSchedule>(make_block_schedule(plan), blocks_ns, make_blocks, making_blocks_ns,
                               "no box of axes has runs on both sides", setting, plan, limit);
}

Offered bid_shuffle(const Setting& setting, const RearrangePlan& plan, double limit) {
  const int width = shuffle_width(setting.isa);
  if (width == 0) return cannot<RearrangeKernel>("this processor shuffles no bytes");
  const double least =
      std::max(least_ns(setting, making_shuffle_ns), limit < std::numeric_limits<double>::infinity()
                                                         ? least_shuffle_time(plan, setting, width)
                                                         : 0);
  if (least > limit) return at_least<RearrangeKernel>(least);
  return bid_of<ShuffleSchedule>(
      make_shuffle_schedule(plan, setting.policy, width), shuffle_ns, make_shuffle,
      making_shuffle_ns, "its rows are too long, or gather from too many places, for one program",
      setting, plan, limit);
}

Offered bid_repeated(const Setting& setting, const RearrangePlan& plan, double limit);

constexpr Candidate<RearrangeKernel, Setting, RearrangePlan> candidates[] = {
    {"nest", bid_nest},         {"runs", bid_runs},     {"tiles", bid_tiles},
    {"buffered", bid_buffered}, {"blocks", bid_blocks}, {"repeated", bid_repeated},
    {"shuffle", bid_shuffle},
};

struct Best {
  const char* name = "";
  Offered bid;
};
// `but`: not by that one.
Best find_best(const Setting& setting, const RearrangePlan& plan, double limit,
               decltype(&bid_nest) but = nullptr) {
  Best best;
  for (const auto& candidate : candidates) {
    if (candidate.bid == but) continue;
    auto bid = candidate.bid(setting, plan, limit);
    if (bid.offer == nullptr || bid.nanoseconds >= limit) continue;
    limit = bid.nanoseconds;
    best = {candidate.name, std::move(bid)};
  }
  return best;
}

constexpr const char* variables[] = {"INFINI_CPU_REARRANGE", "INFINI_REARRANGE"};

// Of two parts, each by whoever bids least for it.
Offered bid_repeated(const Setting& setting, const RearrangePlan& plan, double limit) {
  auto schedule = make_repeated_schedule(plan);
  if (!schedule) return cannot<RearrangeKernel>("no block of dst is repeated");
  struct Parts {
    RepeatedPlans plans;
    Best once, again;
  };
  auto parts = std::make_unique<Parts>();
  parts->plans = schedule->parts;
  parts->once = find_best(setting, parts->plans.once, limit);
  if (parts->once.bid.offer == nullptr) return at_least<RearrangeKernel>(limit);
  const double left = limit - parts->once.bid.nanoseconds;
  parts->again = find_best(setting, parts->plans.again, left, bid_repeated);
  if (parts->again.bid.offer == nullptr) return at_least<RearrangeKernel>(limit);
  const double both = parts->once.bid.nanoseconds + parts->again.bid.nanoseconds;
  return would_take<RearrangeKernel>(both, [&plan, kept = std::move(parts)] {
    return make_repeated(plan, kept->once.bid.offer->make(), kept->again.bid.offer->make());
  });
}

}  // namespace

Setting current_setting() { return {machine(), current_policy(), isa()}; }

const char* cheapest_name(const Setting& setting, const RearrangePlan& plan) {
  if (const char* const pinned = pinned_candidate(setting.machine.kind, plan)) return pinned;
  return find_best(setting, plan, std::numeric_limits<double>::infinity()).name;
}

double cheapest_ns(const Setting& setting, const RearrangePlan& plan) {
  return find_best(setting, plan, std::numeric_limits<double>::infinity()).bid.nanoseconds;
}

namespace {

// Of a piece the caches hold as much as they do of the whole.
Policy policy_of_piece(Policy policy, int64_t bytes, int64_t whole_bytes) {
  const double part = static_cast<double>(bytes) / static_cast<double>(whole_bytes);
  for (int64_t* from : {&policy.streamed_bytes, &policy.tile_streamed_bytes})
    *from = static_cast<int64_t>(static_cast<double>(*from) * part);
  return policy;
}

// The same again and again until it moves as much.
RearrangePlan whole_of_piece(RearrangePlan plan, int64_t whole_bytes) {
  int64_t& longest = plan.depth == 0 ? plan.atom_bytes : plan.loops[0].extent;
  longest = saturating_mul(longest, ceil_div(whole_bytes, moved_bytes(plan)));
  return plan;
}

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device&, const RearrangePlan& plan,
                                                const Choice& choice) {
  Setting setting = current_setting();
  Choice asked = choice;
  const bool free = asked.wanted == nullptr && environment(variables[0]) == nullptr &&
                    environment(variables[1]) == nullptr;
  if (const int64_t bytes = moved_bytes(plan); bytes > 0 && choice.whole_bytes > bytes) {
    if (free) asked.wanted = cheapest_name(setting, whole_of_piece(plan, choice.whole_bytes));
    setting.policy = policy_of_piece(setting.policy, bytes, choice.whole_bytes);
  } else if (free) {
    asked.wanted = pinned_candidate(setting.machine.kind, plan);
  }
  return cheapest(candidates, setting, plan, asked, {variables[0], variables[1]});
}

}  // namespace infini::cpu
