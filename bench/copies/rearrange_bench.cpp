// Measuring one rearrange problem: ours and a plain copy in turns, medians.
#include "bench/copies/rearrange_bench.h"

#include <algorithm>
#include <cstdio>

#include "base/device_kind.h"
#include "base/error.h"
#include "bench/copies/beside_copies.h"
#include "bench/measure.h"
#include "harness/rearrange/check.h"
#include "ops/rearrange.h"
#include "plan/rearrange/memory_traffic.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

constexpr int64_t verify_limit = int64_t{256} << 20;

size_t extent_of(const ByteRange& range) { return static_cast<size_t>(range.end - range.begin); }

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
    const MemoryTraffic traffic = memory_traffic(plan, moved_line_bytes(op.device()));
    row.allowed = static_cast<double>(row.bytes) / (traffic.read + traffic.written);
  }
  return row;
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
  measure_beside_copies(
      device,
      [&] {
        op.run(to.get() - dst.begin + problem.dst_at % 64,
               from.get() - src.begin + problem.src_at % 64, nullptr);
      },
      to.get(), from.get(), options.seconds, row);
  return row;
}

}  // namespace

Row measure_rearrange(const std::string& name, const std::string& text, const Options& options) {
  Row row = measure_once(name, text, options);
  if (!options.scaling || current_device().kind() != INFINI_DEVICE_CPU) return row;
  const int threads = threads_in_use();
  set_threads(1);
  const Row alone = measure_once(name, text, {.seconds = options.seconds, .verify = false});
  set_threads(threads);
  row.scaling = alone.seconds / row.seconds;
  row.limit_scaling = alone.limit_seconds / row.limit_seconds;
  return row;
}

}  // namespace infini::bench
