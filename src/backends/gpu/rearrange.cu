// Rearrange on a GPU: each candidate prepares a schedule and launches it; nothing else at run time.
#include "backends/gpu/rearrange.h"

#include <utility>
#include <vector>

#include "backends/gpu/check.h"
#include "backends/gpu/device.h"
#include "backends/gpu/make_schedules.h"
#include "backends/gpu/make_tile_schedule.h"
#include "backends/gpu/row_kernel.cuh"
#include "backends/gpu/tile_kernel.cuh"
#include "contract/candidate.h"

namespace infini::gpu {
namespace {

// A candidate's context: the widest unit that the base pointers allow.
struct Context {
  int max_unit;
  DeviceModel model;
};

template <class Schedule>
using Kernel = void (*)(Schedule, char*, const char*);

// kernels[i] moves units of 2^i bytes.
template <class Schedule>
Kernel<Schedule> for_unit(const Kernel<Schedule> (&kernels)[5], int unit) {
  int i = 0;
  while (1 << i < unit) ++i;
  return kernels[i];
}

// A schedule and the kernel that runs it.
template <class Schedule>
class Scheduled final : public RearrangeKernel {
 public:
  Scheduled(const char* name, const Schedule& schedule, Kernel<Schedule> kernel, uint32_t blocks,
            int threads, uint32_t shared_bytes = 0)
      : name_(name), schedule_(schedule), kernel_(kernel), blocks_(blocks), threads_(threads),
        shared_bytes_(shared_bytes) {}

  void run(void* dst, const void* src, void* stream) const override {
    const void* arguments[] = {&schedule_, &dst, &src};
    check(launch(reinterpret_cast<const void*>(kernel_), blocks_, threads_, arguments,
                 shared_bytes_, static_cast<Stream>(stream)),
          "cannot launch rearrange candidate ", name_);
  }
  const char* candidate() const override { return name_; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  const char* name_;
  Schedule schedule_;
  Kernel<Schedule> kernel_;
  uint32_t blocks_;
  int threads_;
  uint32_t shared_bytes_;
};

// One contiguous run: the driver's own copy is as fast as any.
class Copy final : public RearrangeKernel {
 public:
  explicit Copy(const RearrangePlan& plan)
      : bytes_(static_cast<size_t>(plan.atom_bytes)), dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset) {}
  void run(void* dst, const void* src, void* stream) const override {
    if (bytes_ == 0) return;
    check(copy_async(static_cast<char*>(dst) + dst_offset_,
                     static_cast<const char*>(src) + src_offset_, bytes_,
                     copy_kinds[INFINIRT_MEMCPY_D2D], static_cast<Stream>(stream)),
          "cannot copy ", bytes_, " bytes");
  }
  const char* candidate() const override { return "copy"; }

 private:
  size_t bytes_;
  int64_t dst_offset_, src_offset_;
};

bool is_one_run(const Context&, const RearrangePlan& plan) { return plan.depth == 0; }

std::unique_ptr<RearrangeKernel> make_copy(const Context&, const RearrangePlan& plan) {
  return std::make_unique<Copy>(plan);
}

// Short rows at odd places are better gathered into long runs by tiles.
bool has_long_rows(const Context& context, const RearrangePlan& plan) {
  return plan.atom_bytes >= 512 ||
         (plan.atom_bytes >= 64 && make_unit_nest(plan, context.max_unit).unit == vector_bytes);
}

std::unique_ptr<RearrangeKernel> make_rows(const Context& context, const RearrangePlan& plan) {
  static constexpr Kernel<RowSchedule> kernels[] = {move_rows<1>, move_rows<2>, move_rows<4>,
                                                    move_rows<8>, move_rows<16>};
  const auto schedule = make_row_schedule(plan, context.max_unit);
  if (!schedule) return nullptr;
  return std::make_unique<Scheduled<RowSchedule>>(
      "rows", *schedule, for_unit(kernels, schedule->unit), schedule->blocks, row_threads);
}

// Tiles write runs: a dst whose neighbours never touch has none.
bool has_runs(const Context& context, const RearrangePlan& plan) {
  const UnitNest nest = make_unit_nest(plan, context.max_unit);
  return nest.depth > 0 && nest.loops[nest.depth - 1].dst_step == nest.unit;
}

std::unique_ptr<RearrangeKernel> make_tile(const Context& context, const RearrangePlan& plan) {
  static constexpr Kernel<TileSchedule> uniform[] = {
      move_tiles<1, true>, move_tiles<2, true>, move_tiles<4, true>, move_tiles<8, true>,
      move_tiles<16, true>};
  static constexpr Kernel<TileSchedule> table[] = {
      move_tiles<1, false>, move_tiles<2, false>, move_tiles<4, false>, move_tiles<8, false>,
      move_tiles<16, false>};
  const auto schedule = make_tile_schedule(make_unit_nest(plan, context.max_unit), context.model);
  if (!schedule) return nullptr;
  const bool is_uniform = schedule->rows_uniform && schedule->runs_uniform;
  return std::make_unique<Scheduled<TileSchedule>>(
      "tile", *schedule, for_unit(is_uniform ? uniform : table, schedule->unit), schedule->tiles,
      tile_threads, schedule->shared_bytes);
}

bool always(const Context&, const RearrangePlan&) { return true; }

std::unique_ptr<RearrangeKernel> make_generic(const Context& context, const RearrangePlan& plan) {
  static constexpr Kernel<GenericSchedule> kernels[] = {
      move_units<1>, move_units<2>, move_units<4>, move_units<8>, move_units<16>};
  const auto schedule = make_generic_schedule(make_unit_nest(plan, context.max_unit));
  if (!schedule) return nullptr;
  return std::make_unique<Scheduled<GenericSchedule>>(
      "generic", *schedule, for_unit(kernels, schedule->unit), schedule->blocks, generic_threads);
}

constexpr Candidate<RearrangeKernel, Context, RearrangePlan> candidates[] = {
    {"copy", is_one_run, make_copy},
    {"rows", has_long_rows, make_rows},
    {"tile", has_runs, make_tile},
    {"generic", always, make_generic},
};

// What clients get: checks the pointers and takes the prepared variant that their alignment allows.
class ByAlignment final : public RearrangeKernel {
 public:
  ByAlignment(const GpuDevice& device, const RearrangePlan& plan)
      : device_(device), dst_offset_(plan.dst_offset), src_offset_(plan.src_offset) {}

  // Units in descending order; the last is 1.
  void add(int unit, std::unique_ptr<RearrangeKernel> kernel) {
    variants_.push_back({static_cast<uintptr_t>(unit) - 1, std::move(kernel)});
  }

  void run(void* dst, const void* src, void* stream) const override {
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
    std::unique_ptr<RearrangeKernel> kernel;
  };
  const GpuDevice& device_;
  int64_t dst_offset_, src_offset_;
  std::vector<Variant> variants_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(Device& device, const RearrangePlan& plan) {
  auto kernel = std::make_unique<ByAlignment>(static_cast<const GpuDevice&>(device), plan);
  int last_unit = 32;
  for (const int max_unit : {16, 4, 1}) {
    const int unit = plan.depth == 0 ? 1 : make_unit_nest(plan, max_unit).unit;
    if (unit == last_unit) continue;
    last_unit = unit;
    auto variant = first_accepting(candidates, Context{unit, {}}, plan, "INFINI_GPU_REARRANGE");
    if (!variant) return nullptr;
    kernel->add(unit, std::move(variant));
  }
  return kernel;
}

}  // namespace infini::gpu
