// Rearrange on a GPU: the candidates in order of preference, and the choice by alignment.
#include "backends/gpu/rearrange/rearrange.h"

#include <climits>
#include <utility>
#include <vector>

#include "backends/gpu/rearrange/prepared.cuh"
#include "backends/gpu/rearrange/transpose/cost.h"
#include "backends/gpu/runtime/device.h"
#include "contract/candidate.h"

namespace infini::gpu {
namespace {

// A candidate's context: the device, and what the base pointers allow.
struct Context {
  const DeviceFacts& facts;
  int max_unit;        // the widest unit
  bool bases_aligned;  // both sides' first elements lie at multiples of 16 bytes
  mutable std::optional<BestTile> tiles = std::nullopt;  // several candidates ask for them
};

UnitNest nest_of(const Context& context, const RearrangePlan& plan) {
  return make_unit_nest(plan, context.max_unit);
}

// Where gathering is dear, larger tiles pay: what a block prepares serves more bytes.
constexpr int64_t most_tile_bytes = tile_bytes * 4 / 3;

// Every processor should get some tiles.
DeviceModel model_for(const Context& context, const RearrangePlan& plan, int64_t most_bytes) {
  const int64_t share = moved_bytes(plan) / context.facts.processors;
  return {static_cast<int>(std::clamp(share, int64_t{least_tile_bytes}, most_bytes)),
          shared_bytes_per_block, DeviceModel{}.many_tiles, warp_threads};
}

bool always(const Context&, const RearrangePlan&) { return true; }

// Tiles write runs: a dst whose neighbours never touch has none.
bool has_runs(const Context& context, const RearrangePlan& plan) {
  const UnitNest nest = nest_of(context, plan);
  return nest.depth > 0 && nest.loops[nest.depth - 1].dst_step == nest.unit;
}

const BestTile& best_tiles(const Context& context, const RearrangePlan& plan) {
  if (context.tiles) return *context.tiles;
  BestTile& best = context.tiles.emplace();
  if (has_runs(context, plan))
    best = make_tile_schedule(nest_of(context, plan), model_for(context, plan, most_tile_bytes));
  return best;
}

// What src holds once and dst many times is read once by tiles, and then only written. (Of long
// rows that follow one another the row kernel does so, too.)
bool tiles_repeat(const Context& context, const RearrangePlan& plan) {
  constexpr int64_t long_row = 64 * 1024;
  const bool repeats = std::any_of(plan.loops, plan.loops + plan.depth,
                                   [](const Loop& loop) { return loop.src_step == 0; });
  if (!repeats || (plan.atom_bytes >= long_row && plan.loops[plan.depth - 1].src_step == 0))
    return false;
  return best_tiles(context, plan).cost < 0.74 * copy_cost;
}

// A long run is left to the driver's own copy, which is as fast as any.
bool is_small(const Context&, const RearrangePlan& plan) {
  return plan.depth > 0 || plan.atom_bytes <= 65536;
}

std::unique_ptr<Prepared> make_tiny(const Context& context, const RearrangePlan& plan) {
  const auto schedule = make_tiny_schedule(nest_of(context, plan));
  return schedule ? std::make_unique<Tiny>(*schedule, plan, context.facts.early_launch) : nullptr;
}

std::unique_ptr<Prepared> make_copy(const Context&, const RearrangePlan& plan) {
  return plan.depth == 0 ? std::make_unique<Copy>(plan) : nullptr;
}

// Short rows at odd places are often better gathered into long runs by tiles: shifted, their ends
// are dear, the more so the smaller the units.
bool has_long_rows(const Context& context, const RearrangePlan& plan) {
  if (plan.atom_bytes < 64) return false;
  const int unit = nest_of(context, plan).unit;
  if (plan.atom_bytes >= 512 || unit == vector_bytes) return !tiles_repeat(context, plan);
  const double ends = unit == 1 ? 140 : unit == 2 ? 60 : 10;
  return best_tiles(context, plan).cost >
         1.1 * copy_cost * (1 + ends / static_cast<double>(plan.atom_bytes));
}

std::unique_ptr<Prepared> make_rows(const Context& context, const RearrangePlan& plan) {
  const auto even = make_row_schedule(plan, context.max_unit);
  const auto shifted = make_shift_schedule(plan, context.max_unit);
  return even && shifted ? std::make_unique<Rows>(*even, *shifted, context.facts.early_launch)
                         : nullptr;
}

bool may_have_planes(const Context& context, const RearrangePlan& plan) {
  return !tiles_repeat(context, plan);
}

std::unique_ptr<Prepared> make_planes(const Context& context, const RearrangePlan& plan) {
  if (!context.bases_aligned) return nullptr;
  const auto schedule = make_planes_schedule(nest_of(context, plan), least_plane_bytes);
  return schedule ? prepare(*schedule, context.facts.early_launch) : nullptr;
}

std::optional<TransposeSchedule> transpose_for(const Context& context, const RearrangePlan& plan) {
  return make_transpose_schedule(nest_of(context, plan), model_for(context, plan, tile_bytes),
                                 context.bases_aligned);
}

// Short runs that lie side by side are better written as one. In doubt tiles are dearer than the
// model of a processor says, the more so beside words.
bool transposes_well(const Context& context, const RearrangePlan& plan) {
  const auto schedule = transpose_for(context, plan);
  return schedule &&
         best_tiles(context, plan).cost >= (schedule->by_words ? 0.78 : 0.88) *
                                               cost_of_transpose(*schedule, nest_of(context, plan));
}

std::unique_ptr<Prepared> make_transpose(const Context& context, const RearrangePlan& plan) {
  const auto schedule = transpose_for(context, plan);
  return schedule ? prepare(*schedule, context.bases_aligned, context.facts.early_launch) : nullptr;
}

std::unique_ptr<Prepared> make_tiles(const Context& context, const RearrangePlan& plan) {
  const BestTile& best = best_tiles(context, plan);
  return best.schedule ? std::make_unique<Tiles>(*best.schedule, context.facts.early_launch)
                       : nullptr;
}

std::unique_ptr<Prepared> make_scatter(const Context& context, const RearrangePlan& plan) {
  const auto schedule = make_scatter_schedule(nest_of(context, plan));
  return schedule ? prepare(*schedule, context.facts.early_launch) : nullptr;
}

std::unique_ptr<Prepared> make_generic(const Context& context, const RearrangePlan& plan) {
  const auto schedule = make_generic_schedule(nest_of(context, plan));
  return schedule ? prepare(*schedule, context.facts.early_launch) : nullptr;
}

template <int rank, auto accepts, auto make>
constexpr auto rule = bid_by_rule<rank, accepts, make, Prepared, Context, RearrangePlan>;

constexpr Candidate<Prepared, Context, RearrangePlan> candidates[] = {
    {"tiny", rule<0, is_small, make_tiny>},
    {"copy", rule<1, always, make_copy>},
    {"rows", rule<2, has_long_rows, make_rows>},
    {"planes", rule<3, may_have_planes, make_planes>},
    {"transpose", rule<4, transposes_well, make_transpose>},
    {"tile", rule<5, has_runs, make_tiles>},
    {"scatter", rule<6, always, make_scatter>},
    {"generic", rule<7, always, make_generic>},
};

// INFINI_<VENDOR>_REARRANGE.
const char* vendor_variable() {
  static const std::string variable = [] {
    std::string name = "INFINI_";
    for (const char* c = vendor_name; *c != 0; ++c) name += static_cast<char>(*c - 'a' + 'A');
    return name + "_REARRANGE";
  }();
  return variable.c_str();
}

// What clients get: checks the pointers and takes the prepared variant that their alignment allows.
class ByAlignment final : public RearrangeKernel {
 public:
  ByAlignment(const GpuDevice& device, const RearrangePlan& plan)
      : device_(device), dst_offset_(plan.dst_offset), src_offset_(plan.src_offset) {}

  // Those that want less alignment come later; the last takes any.
  void add(std::unique_ptr<Prepared> kernel) {
    const auto alignment = static_cast<uintptr_t>(kernel->alignment());
    variants_.push_back({alignment - 1, std::move(kernel)});
  }
  // What the last one added wants.
  int alignment() const {
    return variants_.empty() ? INT_MAX : variants_.back().kernel->alignment();
  }

  void run(void* dst, const void* src, void* stream) const override {
    device_.live(stream);
    require_reachable(device_, dst, "dst");
    require_reachable(device_, src, "src");
    const uintptr_t low_bits = (reinterpret_cast<uintptr_t>(dst) + dst_offset_) |
                               (reinterpret_cast<uintptr_t>(src) + src_offset_);
    size_t i = 0;
    while (low_bits & variants_[i].mask) ++i;
    variants_[i].kernel->run(dst, src, stream);
  }
  const char* candidate() const override { return variants_[0].kernel->candidate(); }
  std::string schedule() const override { return variants_[0].kernel->schedule(); }

 private:
  struct Variant {
    uintptr_t mask;  // these address bits must be 0
    std::unique_ptr<Prepared> kernel;
  };
  const GpuDevice& device_;
  int64_t dst_offset_, src_offset_;
  std::vector<Variant> variants_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan,
                                                const Choice& choice) {
  const auto& gpu = static_cast<const GpuDevice&>(device);
  auto kernel = std::make_unique<ByAlignment>(gpu, plan);
  const int natural = make_unit_nest(plan, vector_bytes).unit;
  for (const int bases : {vector_bytes, 8, 4, 2, 1}) {
    const bool rare = bases < natural && bases != 4 && bases != 1;
    if (rare || (bases > natural && bases < vector_bytes) || kernel->alignment() <= bases) continue;
    const Context context{gpu.facts(), std::min(bases, natural), bases == vector_bytes};
    // The bids that are told are those of bases that allow all.
    const Choice shown{choice.wanted, bases == vector_bytes ? choice.lines : nullptr};
    auto variant =
        cheapest(candidates, context, plan, shown, {vendor_variable(), "INFINI_GPU_REARRANGE"});
    if (!variant) return nullptr;
    kernel->add(std::move(variant));
  }
  return kernel;
}

}  // namespace infini::gpu
