// Measuring beside copies.
#include "bench/copies/beside_copies.h"

#include "bench/copies/copy_limit.h"

namespace infini::bench {
namespace {

constexpr int64_t in_cache_bytes = 1 << 20;

// Plain copies of `bytes`: on an accelerator the system's, on a processor all that are known.
void add_copies(std::vector<Side>& sides, Device& device, char* to, const char* from,
                size_t bytes) {
  if (device.kind() == INFINI_DEVICE_CPU) {
    for (const PlainCopy& copy : plain_copies())
      sides.push_back({[=] { copy.run(to, from, bytes, threads_in_use()); }});
  } else {
    sides.push_back(
        {[=, &device] { device.copy_async(to, from, bytes, INFINIRT_MEMCPY_D2D, nullptr); }});
  }
}

}  // namespace

bool stays_in_cache(const Device& device, int64_t bytes) {
  return device.kind() == INFINI_DEVICE_CPU && bytes <= in_cache_bytes;
}

double settling_seconds(const Device& device, int64_t bytes) {
  constexpr int64_t last_cache_bytes = 64 << 20;
  if (device.kind() != INFINI_DEVICE_CPU || bytes > last_cache_bytes) return 0;
  return stays_in_cache(device, bytes) ? 2e-3 : 1e-9;
}

int64_t moved_line_bytes(const Device& device) {
  return device.kind() == INFINI_DEVICE_CPU ? 64 : 32;
}

void measure_beside_copies(Device& device, Body ours, char* to, const char* from, double seconds,
                           Row& row) {
  std::vector<Side> sides;
  sides.push_back({std::move(ours)});
  add_copies(sides, device, to, from, static_cast<size_t>(row.bytes) / 2);  // each byte moves twice
  measure(device, sides, seconds, settling_seconds(device, row.bytes));
  row.seconds = sides[0].median();
  for (size_t i = 1; i < sides.size(); ++i) {
    const double ratio = times_as_long(sides[i], sides[0]);
    if (i > 1 && ratio >= row.ratio) continue;
    row.ratio = ratio;
    row.spread = spread_of(ratios_of(sides[i], sides[0]));
    row.limit_seconds = sides[i].median();
    row.limit = device.kind() == INFINI_DEVICE_CPU ? plain_copies()[i - 1].name : "memcpy";
  }
}

}  // namespace infini::bench
