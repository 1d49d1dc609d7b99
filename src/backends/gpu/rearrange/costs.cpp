// Memory and instructions of the candidates without shared memory; fitted on an H200.
#include "backends/gpu/rearrange/costs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/rearrange/memory_traffic.h"

namespace infini::gpu {
namespace {

constexpr double warp = 32;

double as_double(int64_t x) { return static_cast<double>(x); }

double longer(double memory, double issue) {
  constexpr double others = 0.1;  // of what goes on beside the longer one
  return std::max(memory, issue) + others * std::min(memory, issue);
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
double scattered_bytes(const WarpSectors& sectors, double units, double traffic) {
  constexpr double joined = 0.25;
  const double alone = (2 * sectors.dst + sectors.src) * sector_bytes * units / warp;
  return traffic + (1 - joined) * std::max(0.0, alone - traffic);
}

}  // namespace

double memory_ns(double bytes, const DeviceModel& device) {
  constexpr double reached = 0.82;  // of the bus, by a copy
  return bytes / (reached * device.memory_bytes_per_ns);
}

double issue_ns(double instructions, const DeviceModel& device) {
  constexpr double issues_per_cycle = 3;
  return instructions / (issues_per_cycle * device.processors * device.clock_ghz);
}

double sector_traffic(const RearrangePlan& plan) {
  const MemoryTraffic traffic = memory_traffic(plan, sector_bytes);
  return traffic.read + traffic.written;
}

double copy_ns(const RearrangePlan& plan, const DeviceModel& device) {
  constexpr double driver_ns = 4000;  // that its copy takes longer to start than a kernel
  return start_ns + driver_ns + memory_ns(sector_traffic(plan), device);
}

double tiny_ns(const TinySchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  constexpr double short_ns = 500;  // that its start is faster than others'
  const auto sectors =
      count_sectors(tiny_threads, [&](uint32_t thread) { return place_tiny(s, thread); });
  const double instructions = 30 + 12 * s.depth + 2 * (sectors.dst + sectors.src);
  return start_ns - short_ns + memory_ns(sector_traffic(plan), device) +
         issue_ns(s.units / warp * instructions, device);
}

double rows_ns(const RowSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  // The parts of vectors at the ends of rows move unit by unit; in bytes of the row that they cost.
  const double ends = s.unit == 1 ? 60 : s.unit == 2 ? 30 : s.unit < vector_bytes ? 10 : 0;
  const double shifted = s.sides_even ? 0.91 : 0.94;
  const double vectors = std::ceil((as_double(s.row_bytes) + vector_bytes - s.unit) / vector_bytes);
  const double instructions = s.one_by_one ? 20 : 50 + 20.0 * s.depth;
  // What src repeats is read from the cache for most of the times that it is written.
  const double repeated = as_double(moved_bytes(plan)) * (s.sides_even ? 1.5 : 2.4);
  const double sectors = sector_traffic(plan);
  const double traffic =
      distinct_source_bytes(plan) < moved_bytes(plan) ? std::max(sectors, repeated) : sectors;
  // Of what lies beside a short row in its sectors, little is still in the caches when it is wanted.
  constexpr double lost = 0.75;
  const double rows = as_double(s.rows),
               row_sectors = std::ceil(as_double(s.row_bytes) / sector_bytes);
  const double alone = 2 * rows * row_sectors * sector_bytes;
  const double wasted = lost * std::max(0.0, std::min(alone, 2.0 * traffic) - traffic);
  const double memory =
      memory_ns(traffic + wasted, device) * shifted * (1 + ends / as_double(s.row_bytes));
  return start_ns +
         longer(memory, issue_ns(as_double(s.rows) * vectors / warp * instructions, device));
}

double planes_ns(const PlanesSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const double vectors = as_double(moved_bytes(plan)) / vector_bytes;
  constexpr double measured = 0.88;  // of what a copy reaches: all accesses are whole vectors
  const double instructions = 40 + 40.0 / s.unit;
  return start_ns + longer(measured * memory_ns(sector_traffic(plan), device),
                           issue_ns(vectors / warp * instructions, device));
}

double scatter_ns(const ScatterSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const double units = as_double(moved_bytes(plan)) / s.unit;
  const double instructions = s.rows_per_block > 1 ? 50 + 15.0 * s.depth : 14;
  return start_ns + longer(memory_ns(sector_traffic(plan), device),
                           issue_ns(units / warp * instructions, device));
}

double generic_ns(const GenericSchedule& s, const RearrangePlan& plan, const DeviceModel& device) {
  const double units = as_double(moved_bytes(plan)) / s.unit;
  const auto sectors = count_sectors(static_cast<int>(s.block_units),
                                     [&](uint32_t thread) { return place_unit(s, 0, thread); });
  const double threads = std::max<double>(s.block_units, warp) / s.block_units;  // idle ones, too
  const double instructions =
      40 + 12.0 * (s.block_depth + s.grid_depth) + 2 * (sectors.dst + sectors.src);
  constexpr double measured = 1.35;  // of what the sectors say
  return start_ns +
         measured * longer(memory_ns(scattered_bytes(sectors, units, sector_traffic(plan)), device),
                           issue_ns(units * threads / warp * instructions, device));
}

}  // namespace infini::gpu
