// Rearrange on the XPU: three ways to walk a plan, the cheapest of which is chosen when it is made.
#include "backends/kunlun/backend.h"
#include "backends/kunlun/rearrange/kernels.h"
#include "backends/kunlun/rearrange/schedule.h"
#include "backends/kunlun/runtime/device_memory.h"
#include "backends/kunlun/runtime/runtime_error.h"
#include "contract/candidate.h"

namespace infini::kunlun {
namespace {

class TiledRearrange final : public RearrangeKernel {
 public:
  explicit TiledRearrange(const Schedule& schedule) : schedule_(schedule) {}

  void run(void* dst, const void* src, void* stream) const override {
    require_device_memory(dst, "dst");
    require_device_memory(src, "src");
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

template <Walk walk>
Bid<RearrangeKernel> bid(const int& clusters, const RearrangePlan& plan, double) {
  Schedule schedule = make_schedule(plan, walk, clusters);
  const double nanoseconds = static_cast<double>(schedule.cost);
  return would_take<RearrangeKernel>(
      nanoseconds, [schedule = std::move(schedule)] { return make_rearrange(schedule); });
}

// Local memory is nearer than shared memory, and needs no barrier: of the tiles, ties go to the cores.
constexpr Candidate<RearrangeKernel, int, RearrangePlan> candidates[] = {
    {"rows", bid<Walk::rows>},
    {"core_tiles", bid<Walk::core_tiles>},
    {"cluster_tiles", bid<Walk::cluster_tiles>},
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(const Schedule& schedule) {
  return std::make_unique<TiledRearrange>(schedule);
}

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan,
                                                const Choice& choice) {
  return cheapest(candidates, static_cast<Device&>(device).clusters(), plan, choice,
                  {"INFINI_KUNLUN_REARRANGE", "INFINI_REARRANGE"});
}

}  // namespace infini::kunlun
