// Rearrange on a GPU: the candidates with their bids, and the choice by alignment.
#include "backends/gpu/rearrange/rearrange.h"

#include <climits>
#include <utility>
#include <vector>

#include "backends/gpu/rearrange/estimates.h"
#include "backends/gpu/rearrange/prepared.cuh"
#include "backends/gpu/runtime/device.h"
#include "contract/candidate.h"

namespace infini::gpu {
namespace {

std::unique_ptr<Prepared> prepare(const Machine& machine, const RearrangePlan& plan,
                                  const TinySchedule& s) {
  return std::make_unique<Tiny>(s, plan, machine.early);
}
std::unique_ptr<Prepared> prepare(const Machine&, const RearrangePlan& plan, const CopySchedule&) {
  return std::make_unique<Copy>(plan);
}
std::unique_ptr<Prepared> prepare(const Machine& machine, const RearrangePlan&,
                                  const RowSchedules& s) {
  return std::make_unique<Rows>(s.even, s.shifted, machine.early);
}
std::unique_ptr<Prepared> prepare(const Machine& machine, const RearrangePlan&,
                                  const TransposeSchedule& s) {
  return prepare(s, machine.bases_aligned, machine.early);
}
std::unique_ptr<Prepared> prepare(const Machine& machine, const RearrangePlan&,
                                  const TileSchedule& s) {
  return std::make_unique<Tiles>(s, machine.early);
}
// Planes, fill, scatter and generic.
template <class Schedule>
std::unique_ptr<Prepared> prepare(const Machine& machine, const RearrangePlan&, const Schedule& s) {
  return prepare(s, machine.early);
}

template <auto estimate>
Bid<Prepared> bid(const Machine& machine, const RearrangePlan& plan, double limit) {
  const auto found = estimate(machine, plan, limit);
  if (!found.schedule) return {.nanoseconds = found.nanoseconds, .why_not = found.why_not};
  return would_take<Prepared>(found.nanoseconds, [&machine, &plan, schedule = *found.schedule] {
    return prepare(machine, plan, schedule);
  });
}

// Those that are found fast come first: the others stop where they cannot be better.
constexpr Candidate<Prepared, Machine, RearrangePlan> candidates[] = {
    {"tiny", bid<estimate_tiny>},       {"copy", bid<estimate_copy>},
    {"rows", bid<estimate_rows>},       {"planes", bid<estimate_planes>},
    {"fill", bid<estimate_fill>},       {"scatter", bid<estimate_scatter>},
    {"generic", bid<estimate_generic>}, {"transpose", bid<estimate_transpose>},
    {"tile", bid<estimate_tiles>},      {"staged", bid<estimate_staged>},
    {"single", bid<estimate_single>},   {"words", bid<estimate_words>},
};

constexpr BlockLimits limits{tile_bytes, least_tile_bytes, shared_bytes_per_block,
                             least_plane_bytes, warp_threads};

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
  std::string schedule() const override {
    return variants_[0].kernel->schedule() + "\n" + to_string(device_.facts().model);
  }

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
    const Machine machine{gpu.facts().model, limits, std::min(bases, natural),
                          bases == vector_bytes, gpu.facts().early_launch};
    // The bids that are told are those of bases that allow all.
    const Choice shown{choice.wanted, bases == vector_bytes ? choice.lines : nullptr};
    auto variant =
        cheapest(candidates, machine, plan, shown, {vendor_variable(), "INFINI_GPU_REARRANGE"});
    if (!variant) return nullptr;
    kernel->add(std::move(variant));
  }
  return kernel;
}

}  // namespace infini::gpu
