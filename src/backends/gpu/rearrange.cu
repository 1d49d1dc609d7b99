// Rearrange on a GPU: each candidate prepares a schedule and launches it; nothing else at run time.
#include "backends/gpu/rearrange.h"

#include <algorithm>
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

// Launches need no planning: the schedule is a kernel argument.
template <class Schedule>
void start(const char* name, Kernel<Schedule> kernel, uint32_t blocks, int threads,
           uint32_t shared_bytes, const Schedule& schedule, void* dst, const void* src,
           void* stream) {
  const void* arguments[] = {&schedule, &dst, &src};
  check(launch(reinterpret_cast<const void*>(kernel), blocks, static_cast<unsigned>(threads),
               arguments, shared_bytes, static_cast<Stream>(stream)),
        "cannot launch rearrange candidate ", name);
}

class Rows final : public RearrangeKernel {
 public:
  explicit Rows(const RowSchedule& schedule)
      : schedule_(schedule),
        even_(for_unit(kernels<false>, schedule.unit)),
        shifting_(for_unit(kernels<true>, schedule.unit)) {}
  void run(void* dst, const void* src, void* stream) const override {
    const bool shift =
        rows_shift(schedule_, reinterpret_cast<uintptr_t>(dst), reinterpret_cast<uintptr_t>(src));
    start("rows", shift ? shifting_ : even_, schedule_.blocks, row_threads, 0, schedule_, dst, src,
          stream);
  }
  const char* candidate() const override { return "rows"; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  template <bool shifts>
  static constexpr Kernel<RowSchedule> kernels[] = {move_rows<1, shifts>, move_rows<2, shifts>,
                                                    move_rows<4, shifts>, move_rows<8, shifts>,
                                                    move_rows<16, shifts>};
  RowSchedule schedule_;
  Kernel<RowSchedule> even_, shifting_;
};

class Tiles final : public RearrangeKernel {
 public:
  explicit Tiles(const TileSchedule& schedule)
      : schedule_(schedule),
        kernel_(kernel_for(schedule, schedule.gather)),
        kernel_for_any_base_(kernel_for(schedule, std::min(schedule.gather, Gather::prepared))) {}
  void run(void* dst, const void* src, void* stream) const override {
    const bool allowed =
        bases_allow(schedule_.gather, reinterpret_cast<uintptr_t>(dst) + schedule_.dst_offset,
                    reinterpret_cast<uintptr_t>(src) + schedule_.src_offset);
    start("tile", allowed ? kernel_ : kernel_for_any_base_, schedule_.tiles, tile_threads,
          schedule_.shared_bytes, schedule_, dst, src, stream);
  }
  const char* candidate() const override { return "tile"; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  template <Gather gather>
  static constexpr Kernel<TileSchedule> kernels[] = {move_tiles<1, gather>, move_tiles<2, gather>,
                                                     move_tiles<4, gather>, move_tiles<8, gather>,
                                                     move_tiles<16, gather>};

  static Kernel<TileSchedule> kernel_for(const TileSchedule& schedule, Gather gather) {
    switch (gather) {
      case Gather::table:
        return for_unit(kernels<Gather::table>, schedule.unit);
      case Gather::prepared:
        return for_unit(kernels<Gather::prepared>, schedule.unit);
      case Gather::linear:
        return for_unit(kernels<Gather::linear>, schedule.unit);
      case Gather::columns:
        break;
    }
    return schedule.unit == 1 ? move_tiles<1, Gather::columns> : move_tiles<2, Gather::columns>;
  }

  TileSchedule schedule_;
  Kernel<TileSchedule> kernel_, kernel_for_any_base_;
};

class Generic final : public RearrangeKernel {
 public:
  explicit Generic(const GenericSchedule& schedule)
      : schedule_(schedule), kernel_(for_unit(kernels, schedule.unit)) {}
  void run(void* dst, const void* src, void* stream) const override {
    start("generic", kernel_, schedule_.blocks, generic_threads, 0, schedule_, dst, src, stream);
  }
  const char* candidate() const override { return "generic"; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  static constexpr Kernel<GenericSchedule> kernels[] = {move_units<1>, move_units<2>, move_units<4>,
                                                        move_units<8>, move_units<16>};
  GenericSchedule schedule_;
  Kernel<GenericSchedule> kernel_;
};

// One contiguous run: the driver's own copy is as fast as any.
class Copy final : public RearrangeKernel {
 public:
  explicit Copy(const RearrangePlan& plan)
      : bytes_(static_cast<size_t>(plan.atom_bytes)),
        dst_offset_(plan.dst_offset),
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
  const auto schedule = make_row_schedule(plan, context.max_unit);
  return schedule ? std::make_unique<Rows>(*schedule) : nullptr;
}

// Tiles write runs: a dst whose neighbours never touch has none.
bool has_runs(const Context& context, const RearrangePlan& plan) {
  const UnitNest nest = make_unit_nest(plan, context.max_unit);
  return nest.depth > 0 && nest.loops[nest.depth - 1].dst_step == nest.unit;
}

// Where gathering is dear, larger tiles pay: what a block prepares serves more bytes.
std::unique_ptr<RearrangeKernel> make_tiles(const Context& context, const RearrangePlan& plan) {
  const UnitNest nest = make_unit_nest(plan, context.max_unit);
  auto schedule = make_tile_schedule(nest, context.model);
  if (!schedule) return nullptr;
  if (schedule->gather <= Gather::prepared || schedule->unit == 1) {
    const DeviceModel larger{context.model.tile_bytes * 4 / 3, context.model.shared_bytes};
    if (const auto other = make_tile_schedule(nest, larger)) schedule = other;
  }
  return std::make_unique<Tiles>(*schedule);
}

bool always(const Context&, const RearrangePlan&) { return true; }

std::unique_ptr<RearrangeKernel> make_generic(const Context& context, const RearrangePlan& plan) {
  const auto schedule = make_generic_schedule(make_unit_nest(plan, context.max_unit));
  return schedule ? std::make_unique<Generic>(*schedule) : nullptr;
}

constexpr Candidate<RearrangeKernel, Context, RearrangePlan> candidates[] = {
    {"copy", is_one_run, make_copy},
    {"rows", has_long_rows, make_rows},
    {"tile", has_runs, make_tiles},
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
    auto variant = first_accepting(candidates, Context{unit, {tile_bytes, shared_bytes_per_block}},
                                   plan, "INFINI_GPU_REARRANGE");
    if (!variant) return nullptr;
    kernel->add(unit, std::move(variant));
  }
  return kernel;
}

}  // namespace infini::gpu
