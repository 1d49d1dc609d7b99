// Memory and instructions of the candidates without shared memory.
#include "backends/gpu/rearrange/costs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/rearrange/memory_traffic.h"

namespace infini::gpu {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

double longer(double memory, double issue, const DeviceModel& device) {
  return std::max(memory, issue) + device.rearrange->launch.beside_longer * std::min(memory, issue);
}

// Sectors that the first warp of a block touches on each side.
struct WarpSectors {
  double dst, src;
};
template <class Place>
WarpSectors count_sectors(int threads, Place place) {
  std::set<int64_t> dst, src;
  int count = 0;
  for (int thread = 0; thread < threads && thread < static_cast<int>(warp); ++thread, ++count) {
    const auto at = place(static_cast<uint32_t>(thread));
    dst.insert(at.dst / sector_bytes);
    src.insert(at.src / sector_bytes);
  }
  const double scale = warp / std::max(count, 1);
  return {as_double(static_cast<int64_t>(dst.size())) * scale,
          as_double(static_cast<int64_t>(src.size())) * scale};
}

// What memory moves when every warp's access stands alone, of which the caches join a part.
double scattered_bytes(const WarpSectors& sectors, double units, double traffic, double joined) {
  const double alone = (2 * sectors.dst + sectors.src) * sector_bytes * units / warp;
  return traffic + (1 - joined) * std::max(0.0, alone - traffic);
}

double instructions_of(const PlaceCosts& place, int loops, const WarpSectors& sectors) {
  return place.once + place.loop * loops + place.sector * (sectors.dst + sectors.src);
}

}  // namespace

double memory_ns(double bytes, const DeviceModel& device) {
  return bytes / (device.rearrange->launch.copy_of_bus * device.memory_bytes_per_ns);
}

double issue_ns(double instructions, const DeviceModel& device) {
  return instructions /
         (device.rearrange->launch.issues_per_cycle * device.processors * device.clock_ghz);
}

double sector_traffic(const RearrangePlan& plan) {
  const MemoryTraffic traffic = memory_traffic(plan, sector_bytes);
  return traffic.read + traffic.written;
}

double copy_ns(const RearrangePlan& plan, const DeviceModel& device) {
  const LaunchCosts& launch = device.rearrange->launch;
  return launch.start_ns + launch.driver_copy_ns + memory_ns(sector_traffic(plan), device);
}

double tiny_ns(const TinySchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const LaunchCosts& launch = device.rearrange->launch;
  const auto sectors =
      count_sectors(tiny_threads, [&](uint32_t thread) { return place_tiny(s, thread); });
  const double instructions = instructions_of(device.rearrange->plain.tiny, s.depth, sectors);
  return launch.start_ns - launch.tiny_saved_ns + memory_ns(sector_traffic(plan), device) +
         issue_ns(s.units / warp * instructions, device);
}

double rows_ns(const RowSchedule& s, const ShiftSchedule& shifted_rows, const RearrangePlan& plan,
               const DeviceModel& device) {
  const PlainCosts& costs = device.rearrange->plain;
  // The parts of vectors at the ends of rows move unit by unit.
  const double ends = s.unit < vector_bytes ? costs.row_end_bytes[std::min(s.unit / 2, 2)] : 0;
  const double shifted = s.sides_even ? costs.rows_even : costs.rows_shifted;
  const double vectors = std::ceil((as_double(s.row_bytes) + vector_bytes - s.unit) / vector_bytes);
  const double instructions =
      s.one_by_one ? costs.row_one_by_one : instructions_of(costs.rows, s.depth, {});
  // What src repeats is read from the cache for most of the times that it is written, or shifted out of one image.
  const bool shared = !s.sides_even && shifted_rows.images < shifted_rows.rows_per_block;
  const double repeated =
      as_double(moved_bytes(plan)) * (s.sides_even ? costs.repeated_even : costs.repeated_shifted);
  const double sectors = sector_traffic(plan);
  const double traffic = distinct_source_bytes(plan) < moved_bytes(plan) && !shared
                             ? std::max(sectors, repeated)
                             : sectors;
  const double rows = as_double(s.rows),
               row_sectors = std::ceil(as_double(s.row_bytes) / sector_bytes);
  const double alone = 2 * rows * row_sectors * sector_bytes;
  const double wasted =
      costs.row_sectors_lost * std::max(0.0, std::min(alone, 2.0 * traffic) - traffic);
  const double memory =
      memory_ns(traffic + wasted, device) * shifted * (1 + ends / as_double(s.row_bytes));
  return device.rearrange->launch.start_ns +
         longer(memory, issue_ns(as_double(s.rows) * vectors / warp * instructions, device),
                device);
}

double planes_ns(const PlanesSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const PlainCosts& costs = device.rearrange->plain;
  const double vectors = as_double(moved_bytes(plan)) / vector_bytes;
  const double instructions = costs.planes_once + costs.planes_unit_bytes / s.unit;
  return device.rearrange->launch.start_ns +
         longer(costs.planes * memory_ns(sector_traffic(plan), device),
                issue_ns(vectors / warp * instructions, device), device);
}

double scatter_ns(const ScatterSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const PlainCosts& costs = device.rearrange->plain;
  const double units = as_double(moved_bytes(plan)) / s.unit;
  const double instructions =
      s.rows_per_block > 1 ? instructions_of(costs.scatter, s.depth, {}) : costs.scatter_short;
  return device.rearrange->launch.start_ns + longer(memory_ns(sector_traffic(plan), device),
                                                    issue_ns(units / warp * instructions, device),
                                                    device);
}

double generic_ns(const GenericSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const PlainCosts& costs = device.rearrange->plain;
  const double units = as_double(moved_bytes(plan)) / s.unit;
  const auto sectors = count_sectors(static_cast<int>(s.block_units),
                                     [&](uint32_t thread) { return place_unit(s, 0, thread); });
  const double threads = std::max<double>(s.block_units, warp) / s.block_units;  // idle ones, too
  const double instructions = instructions_of(costs.generic, s.block_depth + s.grid_depth, sectors);
  const double bytes = scattered_bytes(sectors, units, sector_traffic(plan), costs.sectors_joined);
  return device.rearrange->launch.start_ns +
         costs.generic_of_sectors * longer(memory_ns(bytes, device),
                                           issue_ns(units * threads / warp * instructions, device),
                                           device);
}

}  // namespace infini::gpu
