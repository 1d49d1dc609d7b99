// Measuring one rearrange problem: ours and a plain copy in turns, medians.
#include "bench/rearrange_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "base/device_kind.h"
#include "base/error.h"
#include "base/thread_count.h"
#include "bench/copy_limit.h"
#include "harness/check.h"
#include "ops/rearrange.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

constexpr int64_t verify_limit = int64_t{256} << 20;

// Device memory that is touched before it is measured.
class Memory {
 public:
  Memory(Device& device, size_t bytes) : device_(device), p_(device.allocate(bytes)) {
    device.set(p_, 0x5a, bytes);
  }
  ~Memory() { device_.free(p_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* get() const { return static_cast<char*>(p_); }

 private:
  Device& device_;
  void* p_;
};

using Body = std::function<void()>;

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

struct Side {
  Body body;
  int64_t repeats = 1;
  std::vector<double> samples;
  double median() {
    std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2),
                     samples.end());
    return samples[samples.size() / 2];
  }
};

// Samples of at least 100 µs, each side in turn.
void measure(Device& device, std::vector<Side>& sides, double seconds) {
  double round = 0;
  for (Side& side : sides) {
    time_runs(device, side.body, 1);
    const double once = std::max(time_runs(device, side.body, 1), 1e-9);
    side.repeats = std::max<int64_t>(1, static_cast<int64_t>(1e-4 / once));
    round += once * static_cast<double>(side.repeats);
  }
  const int rounds = static_cast<int>(std::clamp(seconds / round, 7.0, 1000.0));
  for (int i = 0; i < rounds; ++i)
    for (Side& side : sides)
      side.samples.push_back(time_runs(device, side.body, side.repeats) /
                             static_cast<double>(side.repeats));
}

size_t extent_of(const ByteRange& range) { return static_cast<size_t>(range.end - range.begin); }

}  // namespace

Row measure_rearrange(const std::string& name, const std::string& text, const Options& options) {
  const auto problem = harness::parse_rearrange(text);
  Device& device = current_device();
  const Rearrange op(device, problem.dst, problem.src);
  const RearrangePlan plan = op.plan();
  require(op.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, name, ": nothing to measure");
  Row row{.name = name, .problem = text, .device = device_kind_name(device.kind()),
          .candidate = op.kernel()->candidate()};
  if (options.verify && moved_bytes(plan) <= verify_limit) {
    const auto verdict = harness::check(problem);
    row.verified = verdict.passed;
    if (!verdict.passed) std::printf("%s\n", verdict.message.c_str());
  }
  row.bytes = moved_bytes(plan) + distinct_source_bytes(plan);

  const auto dst = dst_range(plan), src = src_range(plan);
  const size_t half = static_cast<size_t>(row.bytes) / 2;  // a copy moves each byte twice
  const Memory to(device, std::max(extent_of(dst) + 64, half)), from(device, std::max(extent_of(src) + 64, half));
  std::vector<Side> sides;
  sides.push_back({[&] {
    op.run(to.get() - dst.begin + problem.dst_at % 64, from.get() - src.begin + problem.src_at % 64,
           nullptr);
  }});
  if (device.kind() == INFINI_DEVICE_CPU) {
    sides.push_back({[&] { memcpy_copy(to.get(), from.get(), half, thread_count()); }});
    sides.push_back({[&] { streaming_copy(to.get(), from.get(), half, thread_count()); }});
  } else {
    sides.push_back({[&] {
      device.copy_async(to.get(), from.get(), half, INFINIRT_MEMCPY_D2D, nullptr);
    }});
  }
  measure(device, sides, options.seconds);
  row.seconds = sides[0].median();
  row.limit_seconds = sides[1].median();
  row.limit = "memcpy";
  if (sides.size() > 2 && sides[2].median() < row.limit_seconds) {
    row.limit_seconds = sides[2].median();
    row.limit = "streaming copy";
  }
  return row;
}

}  // namespace infini::bench
