// Rearrange on the CPU: the ordered list of candidates.
#include "backends/cpu/backend.h"
#include "backends/cpu/rearrange/blocks/schedule.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "contract/candidate.h"

namespace infini::cpu {
namespace {

using Make = std::unique_ptr<RearrangeKernel> (*)(const RearrangePlan&, const Policy&);

bool any(const infini::Device&, const RearrangePlan&) { return true; }

template <Make make>
std::unique_ptr<RearrangeKernel> from_plan(const infini::Device&, const RearrangePlan& plan) {
  return make(plan, current_policy());
}

// Past the cache, long rows that become columns are moved fastest in blocks and tiles.
bool is_narrow(const infini::Device&, const RearrangePlan& plan) {
  return !beyond_caches(plan, current_policy()) || !is_wide_transposition(plan);
}

// Short rows that end within lines and lie far apart are better put together in blocks.
bool is_line(const infini::Device& device, const RearrangePlan& plan) {
  const bool ragged = plan.atom_bytes % line_bytes != 0 && !is_word(plan.atom_bytes);
  return is_narrow(device, plan) && !(ragged && make_block_schedule(plan, current_policy()));
}

// To find the windows takes as long as moving some of them.
bool is_worth_a_program(const infini::Device& device, const RearrangePlan& plan) {
  return moved_bytes(plan) >= current_policy().prepared_bytes && is_narrow(device, plan);
}

std::unique_ptr<RearrangeKernel> choose(const infini::Device& device, const RearrangePlan& plan,
                                        const Choice& choice);

std::unique_ptr<RearrangeKernel> repeated(const infini::Device& device, const RearrangePlan& plan) {
  return make_repeated(plan, current_policy(),
                       [&](const RearrangePlan& part) { return choose(device, part, {}); });
}

template <int rank, auto accepts, auto make>
constexpr auto rule =
    bid_by_rule<rank, accepts, make, RearrangeKernel, infini::Device, RearrangePlan>;

constexpr Candidate<RearrangeKernel, infini::Device, RearrangePlan> candidates[] = {
    {"repeated", rule<1, any, repeated>},
    {"shuffle", rule<2, is_worth_a_program, from_plan<make_shuffle>>},
    {"runs", rule<3, is_line, from_plan<make_runs>>},
    {"blocks", rule<4, any, from_plan<make_blocks>>},
    {"tiles", rule<5, any, from_plan<make_tiles>>},
    {"nest", rule<6, any, from_plan<make_nest>>},
};

std::unique_ptr<RearrangeKernel> choose(const infini::Device& device, const RearrangePlan& plan,
                                        const Choice& choice) {
  return cheapest(candidates, device, plan, choice, {"INFINI_CPU_REARRANGE", "INFINI_REARRANGE"});
}

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan,
                                                const Choice& choice) {
  return choose(device, plan, choice);
}

}  // namespace infini::cpu
