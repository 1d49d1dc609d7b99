// Rearrange on the XPU: three ways to walk a plan, the cheapest of which is chosen when it is made.
#include "backends/kunlun/backend.h"
#include "backends/kunlun/kernels.h"
#include "backends/kunlun/runtime_error.h"
#include "backends/kunlun/schedule.h"
#include "contract/candidate.h"

namespace infini::kunlun {
namespace {

class TiledRearrange final : public RearrangeKernel {
 public:
  explicit TiledRearrange(const Schedule& schedule) : schedule_(schedule) {}

  void run(void* dst, const void* src, void* stream) const override {
    walk_outer(0, static_cast<char*>(dst), static_cast<const char*>(src), stream);
  }
  const char* candidate() const override { return walk_name(schedule_.walk); }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  // One launch, but for plans of more loops than a launch can hold.
  void walk_outer(int level, char* dst, const char* src, void* stream) const {
    if (level == schedule_.outer_depth) return launch(dst, src, stream);
    const Loop& loop = schedule_.outer[level];
    for (int64_t i = 0; i < loop.extent; ++i)
      walk_outer(level + 1, dst + i * loop.dst_step, src + i * loop.src_step, stream);
  }
  void launch(char* dst, const char* src, void* stream) const {
    const Schedule& s = schedule_;
    const int code = s.walk == Walk::cluster_tiles
                         ? launch_cluster_tiles(s.clusters, stream, dst, src, s.arguments)
                         : launch_core_tiles(s.clusters, s.cores, stream, dst, src, s.arguments);
    check(code, walk_name(s.walk));
  }

  Schedule schedule_;
};

// The plan as each walk would run it.
struct Choices {
  Choices(const RearrangePlan& plan, int clusters)
      : rows(make_schedule(plan, Walk::rows, clusters)),
        cluster_tiles(make_schedule(plan, Walk::cluster_tiles, clusters)),
        core_tiles(make_schedule(plan, Walk::core_tiles, clusters)) {}
  Schedule rows, cluster_tiles, core_tiles;
};

// Local memory is nearer than shared memory, and needs no barrier: ties go to the cores.
constexpr Candidate<RearrangeKernel, Choices, RearrangePlan> candidates[] = {
    {"rows",
     [](const Choices& c, const RearrangePlan&) {
       return c.rows.cost <= c.cluster_tiles.cost && c.rows.cost <= c.core_tiles.cost;
     },
     [](const Choices& c, const RearrangePlan&) { return make_rearrange(c.rows); }},
    {"cluster_tiles",
     [](const Choices& c, const RearrangePlan&) {
       return c.cluster_tiles.cost < c.core_tiles.cost;
     },
     [](const Choices& c, const RearrangePlan&) { return make_rearrange(c.cluster_tiles); }},
    {"core_tiles", [](const Choices&, const RearrangePlan&) { return true; },
     [](const Choices& c, const RearrangePlan&) { return make_rearrange(c.core_tiles); }},
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(const Schedule& schedule) {
  return std::make_unique<TiledRearrange>(schedule);
}

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan) {
  const Choices choices(plan, static_cast<Device&>(device).clusters());
  return first_accepting(candidates, choices, plan, "INFINI_REARRANGE");
}

}  // namespace infini::kunlun
