// Timing by clock or by the device's events; medians.
#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/interrupt.h"
#include "infinicore.h"

namespace infini::bench {
namespace {

// Seconds for `repeats` runs: by the device's own events, so that its queue stays full.
double time_runs(Device& device, const Body& body, int64_t repeats) {
  if (device.kind() == INFINI_DEVICE_CPU) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < repeats; ++i) body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void* start = device.create_event(INFINIRT_EVENT_DEFAULT);
  void* end = device.create_event(INFINIRT_EVENT_DEFAULT);
  device.record_event(start, nullptr);
  for (int64_t i = 0; i < repeats; ++i) body();
  device.record_event(end, nullptr);
  device.synchronize_event(end);
  const double seconds = device.elapsed_milliseconds(start, end) * 1e-3;
  device.destroy_event(start);
  device.destroy_event(end);
  return seconds;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double Side::median() const { return median_of(samples); }

double spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return (at(3) - at(1)) / 2 / at(2);
}

std::vector<double> ratios_of(const Side& other, const Side& side) {
  std::vector<double> ratios;
  for (size_t i = 0; i < side.samples.size(); ++i)
    ratios.push_back(other.samples[i] / side.samples[i]);
  return ratios;
}

double times_as_long(const Side& other, const Side& side) {
  return median_of(ratios_of(other, side));
}

void measure(Device& device, std::vector<Side>& sides, double seconds, double settle, double idle) {
  // Long enough for the clock and for the caches to hold what this side uses, not what the others left;
  // on accelerators also for the gaps before the first launch to vanish.
  const double sample = std::max(device.kind() == INFINI_DEVICE_CPU ? 1e-3 : 2e-3, settle / 4);
  double round = 0;
  for (Side& side : sides) {
    time_runs(device, side.body, 1);
    const double once = std::max(time_runs(device, side.body, 1), 1e-9);
    side.repeats = std::max<int64_t>(1, static_cast<int64_t>(sample / once));
    round += once * static_cast<double>(side.repeats) + settle + idle;
  }
  const int rounds = static_cast<int>(std::clamp(seconds / round, 7.0, 1000.0));
  for (int i = 0; i < rounds; ++i) {
    end_if_interrupted();
    for (Side& side : sides) {
      std::this_thread::sleep_for(std::chrono::duration<double>(idle));
      for (double spent = 0; spent < settle;) spent += time_runs(device, side.body, side.repeats);
      side.samples.push_back(time_runs(device, side.body, side.repeats) /
                             static_cast<double>(side.repeats));
    }
  }
}

double time_once(Device& device, const Body& body) {
  constexpr double is_short = 0.02;
  const double once = time_runs(device, body, 1);
  return once > is_short ? once : time_runs(device, body, 1);
}

int threads_in_use() {
  int count = 1;
  infiniGetNumThreads(&count);  // fails for a null pointer alone
  return count;
}
void set_threads(int count) { infiniSetNumThreads(count); }

}  // namespace infini::bench
