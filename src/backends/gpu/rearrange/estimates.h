// What each candidate says of a plan, on a GPU that need not be there: whether it can, by which schedule, and how long
// that takes. Pure host code; rearrange.cu makes kernels of it.
#pragma once

#include <limits>
#include <optional>

#include "backends/gpu/model/device_model.h"
#include "backends/gpu/rearrange/fill/make_schedule.h"
#include "backends/gpu/rearrange/make_schedules.h"
#include "backends/gpu/rearrange/planes/make_schedule.h"
#include "backends/gpu/rearrange/tile/make_schedule.h"
#include "backends/gpu/rearrange/transpose/make_schedule.h"

namespace infini::gpu {

// What a vendor's blocks may use, see vendor.h.
struct BlockLimits {
  int tile_bytes = 16 << 10, least_tile_bytes = 4 << 10;  // that one block moves
  int shared_bytes = 32 << 10;
  int least_plane_bytes = 8 << 10;
  int warp_threads = 32;
};

// What the candidates bid by: the device, and what the base pointers allow.
struct Machine {
  DeviceModel model;
  BlockLimits limits;
  int max_unit = 16;          // the widest unit
  bool bases_aligned = true;  // both sides' first elements lie at multiples of 16 bytes
  bool early = false;         // a kernel may begin while the one before it ends
};

template <class Schedule>
struct Estimate {
  std::optional<Schedule> schedule =
      std::nullopt;  // none: it cannot, or takes longer than the limit
  double nanoseconds = std::numeric_limits<double>::infinity();
  const char* why_not = "";
};

struct CopySchedule {};  // the driver's own copy of one run
struct RowSchedules {
  RowSchedule even;
  ShiftSchedule shifted;  // where rows lie differently in their vectors on the two sides
};

// The last argument is a limit, see contract/candidate.h.
Estimate<TinySchedule> estimate_tiny(const Machine&, const RearrangePlan&, double);
Estimate<CopySchedule> estimate_copy(const Machine&, const RearrangePlan&, double);
Estimate<RowSchedules> estimate_rows(const Machine&, const RearrangePlan&, double);
Estimate<PlanesSchedule> estimate_planes(const Machine&, const RearrangePlan&, double);
Estimate<FillSchedule> estimate_fill(const Machine&, const RearrangePlan&, double);
Estimate<ScatterSchedule> estimate_scatter(const Machine&, const RearrangePlan&, double);
Estimate<GenericSchedule> estimate_generic(const Machine&, const RearrangePlan&, double);
Estimate<TransposeSchedule> estimate_transpose(const Machine&, const RearrangePlan&, double);
Estimate<TileSchedule> estimate_tiles(const Machine&, const RearrangePlan&, double);
Estimate<TileSchedule> estimate_staged(const Machine&, const RearrangePlan&, double);
Estimate<TileSchedule> estimate_words(const Machine&, const RearrangePlan&, double);
Estimate<TileSchedule> estimate_single(const Machine&, const RearrangePlan&, double);

// The candidate that bids least: what a device like this would run.
const char* cheapest_name(const Machine& machine, const RearrangePlan& plan);

}  // namespace infini::gpu
