// Measuring one rearrange problem: ours and a plain copy in turns, medians.
#include "bench/rearrange_bench.h"

#include <algorithm>
#include <cstdio>

#include "base/device_kind.h"
#include "base/error.h"
#include "base/thread_count.h"
#include "bench/copy_limit.h"
#include "bench/measure.h"
#include "harness/check.h"
#include "ops/rearrange.h"
#include "plan/memory_traffic.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

// Processors move lines of 64 bytes, GPUs a line's sectors.
int64_t line_bytes(const Device& device) { return device.kind() == INFINI_DEVICE_CPU ? 64 : 32; }

constexpr int64_t verify_limit = int64_t{256} << 20, in_cache_bytes = 1 << 20;

size_t extent_of(const ByteRange& range) { return static_cast<size_t>(range.end - range.begin); }

// Small enough to stay in a processor's caches, where lines of memory are nobody's limit.
bool stays_in_cache(const Device& device, int64_t bytes) {
  return device.kind() == INFINI_DEVICE_CPU && bytes <= in_cache_bytes;
}

// The row of a problem, verified if asked for, without its times.
Row make_row(const std::string& name, const std::string& text, const Rearrange& op, bool verify) {
  const RearrangePlan plan = op.plan();
  require(op.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, name, ": nothing to measure");
  Row row{.name = name,
          .problem = text,
          .device = device_kind_name(op.device().kind()),
          .candidate = op.kernel()->candidate(),
          .bytes = moved_bytes(plan) + distinct_source_bytes(plan)};
  if (verify && moved_bytes(plan) <= verify_limit) {
    const auto verdict = harness::check(harness::parse_rearrange(text));
    row.verified = verdict.passed;
    if (!verdict.passed) std::printf("%s\n", verdict.message.c_str());
  }
  if (!stays_in_cache(op.device(), row.bytes)) {
    const MemoryTraffic traffic = memory_traffic(plan, line_bytes(op.device()));
    row.allowed = static_cast<double>(row.bytes) / (traffic.read + traffic.written);
  }
  return row;
}

// Plain copies of `bytes`: on an accelerator the system's, on a processor all that are known.
void add_copies(std::vector<Side>& sides, Device& device, char* to, const char* from,
                size_t bytes) {
  if (device.kind() == INFINI_DEVICE_CPU) {
    for (const PlainCopy& copy : plain_copies())
      sides.push_back({[=] { copy.run(to, from, bytes, thread_count()); }});
  } else {
    sides.push_back(
        {[=, &device] { device.copy_async(to, from, bytes, INFINIRT_MEMCPY_D2D, nullptr); }});
  }
}

// What runs before every turn and does not count. A processor takes up to a millisecond to switch between narrow and wide
// registers; the peers, each measured alone, have that behind them. And what the last cache may hold is there when a
// turn begins, though a copy past the caches had the turn before.
double settling_seconds(const Device& device, int64_t bytes) {
  constexpr int64_t last_cache_bytes = 64 << 20;
  if (device.kind() != INFINI_DEVICE_CPU || bytes > last_cache_bytes) return 0;
  return stays_in_cache(device, bytes) ? 2e-3 : 1e-9;
}

Row measure_once(const std::string& name, const std::string& text, const Options& options) {
  const auto problem = harness::parse_rearrange(text);
  Device& device = current_device();
  const Rearrange op(device, problem.dst, problem.src);
  Row row = make_row(name, text, op, options.verify);
  const auto dst = dst_range(op.plan()), src = src_range(op.plan());
  const size_t half = static_cast<size_t>(row.bytes) / 2;  // a copy moves each byte twice
  const Memory to(device, std::max(extent_of(dst) + 64, half)),
      from(device, std::max(extent_of(src) + 64, half));
  std::vector<Side> sides;
  sides.push_back({[&] {
    op.run(to.get() - dst.begin + problem.dst_at % 64, from.get() - src.begin + problem.src_at % 64,
           nullptr);
  }});
  add_copies(sides, device, to.get(), from.get(), half);
  measure(device, sides, options.seconds, settling_seconds(device, row.bytes));
  row.seconds = sides[0].median();
  for (size_t i = 1; i < sides.size(); ++i) {
    const double ratio = times_as_long(sides[i], sides[0]);
    if (i > 1 && ratio >= row.ratio) continue;
    row.ratio = ratio;
    row.spread = spread_of(ratios_of(sides[i], sides[0]));
    row.limit_seconds = sides[i].median();
    row.limit = device.kind() == INFINI_DEVICE_CPU ? plain_copies()[i - 1].name : "memcpy";
  }
  return row;
}

}  // namespace

Row measure_rearrange(const std::string& name, const std::string& text, const Options& options) {
  Row row = measure_once(name, text, options);
  if (!options.scaling || current_device().kind() != INFINI_DEVICE_CPU) return row;
  const int threads = thread_count();
  set_thread_count(1);
  const Row alone = measure_once(name, text, {.seconds = options.seconds, .verify = false});
  set_thread_count(threads);
  row.scaling = alone.seconds / row.seconds;
  row.limit_scaling = alone.limit_seconds / row.limit_seconds;
  return row;
}

}  // namespace infini::bench
