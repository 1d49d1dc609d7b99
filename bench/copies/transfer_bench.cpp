// Measuring copies between the host's pinned memory and the device, any strides on both sides.
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "bench/copies/pages_bench.h"
#include "bench/measure.h"
#include "harness/json.h"
#include "harness/rearrange/problem.h"
#include "ops/transfer/between.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

struct TransferCase {
  const char* name;
  const char* problem;
};

constexpr TransferCase cases[] = {
    {"dense", "rearrange f32 64x1048576"},
    {"rows of 1 KiB in 1.5 KiB", "rearrange f32 65536x256 src=384,1"},
    {"rows of 64 bytes in 96", "rearrange f16 1048576x32 src=48,1"},
    {"transposed weight", "rearrange f16 4096x14336 perm=1,0"},
    {"transposed f32", "rearrange f32 8192x4096 perm=1,0"},
    {"heads before tokens", "rearrange f16 2048x32x128 perm=1,0,2"},
    {"bytes turned round", "rearrange u8 8192x8192 perm=1,0"},
    {"every other number", "rearrange f32 16777216 src=2"},
};

class PinnedMemory {
 public:
  PinnedMemory(Device& device, size_t bytes) : device_(device), p_(device.allocate_host(bytes)) {
    std::memset(p_, 0x3c, bytes);
  }
  ~PinnedMemory() { device_.free_host(p_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  char* get() const { return static_cast<char*>(p_); }

 private:
  Device& device_;
  void* p_;
};

size_t extent_of(const ByteRange& range) { return static_cast<size_t>(range.end - range.begin); }

// A transfer's two sides, their first bytes at the memory's.
struct Setup {
  Setup(Device& device, const harness::RearrangeProblem& problem, bool to_device)
      : device(device),
        to_device(to_device),
        plan(make_rearrange_plan(problem.dst, problem.src)),
        op(device, to_device ? Direction::to_device : Direction::to_host, problem.dst, problem.src),
        dst_bytes(std::max(extent_of(dst_range(plan)), static_cast<size_t>(moved_bytes(plan)))),
        src_bytes(std::max(extent_of(src_range(plan)), static_cast<size_t>(moved_bytes(plan)))),
        host(device, to_device ? src_bytes : dst_bytes),
        far(device, to_device ? dst_bytes : src_bytes) {}
  void run() const {
    char* dst = (to_device ? far.get() : host.get()) - dst_range(plan).begin;
    const char* src = (to_device ? host.get() : far.get()) - src_range(plan).begin;
    op.run(dst, src, nullptr);
  }
  void copy_plainly() const {
    const auto bytes = static_cast<size_t>(moved_bytes(plan));
    if (to_device)
      device.copy_async(far.get(), host.get(), bytes, INFINIRT_MEMCPY_H2D, nullptr);
    else
      device.copy_async(host.get(), far.get(), bytes, INFINIRT_MEMCPY_D2H, nullptr);
  }
  bool verify() const;

  Device& device;
  bool to_device;
  RearrangePlan plan;
  RearrangeBetween op;
  size_t dst_bytes, src_bytes;
  PinnedMemory host;
  Memory far;
};

// About a million of the plan's runs, all of them where they are fewer.
bool Setup::verify() const {
  std::vector<char> from(src_bytes), to(dst_bytes);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 2654435761u >> 11);
  if (to_device)
    std::memcpy(host.get(), from.data(), src_bytes);
  else
    device.copy(far.get(), from.data(), src_bytes, INFINIRT_MEMCPY_H2D);
  run();
  device.synchronize();
  if (to_device)
    device.copy(to.data(), far.get(), dst_bytes, INFINIRT_MEMCPY_D2H);
  else
    std::memcpy(to.data(), host.get(), dst_bytes);
  const int64_t atoms = atom_count(plan);
  for (int64_t n = 0; n < atoms; n += (atoms >> 20) | 1) {
    int64_t rest = n, d = plan.dst_offset - dst_range(plan).begin,
            s = plan.src_offset - src_range(plan).begin;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent) {
      d += rest % plan.loops[i].extent * plan.loops[i].dst_step;
      s += rest % plan.loops[i].extent * plan.loops[i].src_step;
    }
    if (std::memcmp(to.data() + d, from.data() + s, static_cast<size_t>(plan.atom_bytes)) != 0)
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> transfer_cases() {
  std::vector<std::string> names;
  for (const char* direction : {" to the device", " to the host"})
    for (const auto& each : cases) names.push_back(each.name + std::string(direction));
  return names;
}

CopyRow measure_transfer(const std::string& name, const Options& options) {
  const bool to_device = name.ends_with(" to the device");
  const std::string what = name.substr(0, name.rfind(" to the "));
  const char* text = nullptr;
  for (const auto& each : cases)
    if (what == each.name) text = each.problem;
  require(text != nullptr, INFINI_STATUS_BAD_PARAM, "there is no case \"", name, "\"");
  Device& device = current_device();
  require(device.kind() != INFINI_DEVICE_CPU, INFINI_STATUS_BAD_PARAM,
          "transfers are between the host and a device; name one: --device nvidia");
  device.make_current();
  const Setup setup(device, harness::parse_rearrange(text), to_device);
  CopyRow row;
  row.name = name;
  row.way = setup.op.pinned()->name();
  row.bytes = moved_bytes(setup.plan);
  if (options.verify) row.verified = setup.verify();
  std::vector<Side> sides;
  sides.push_back({[&] { setup.run(); }});
  sides.push_back({[&] { setup.copy_plainly(); }});
  measure(device, sides, options.seconds);
  row.seconds = sides[0].median();
  row.limit_seconds = sides[1].median();
  row.ratio = times_as_long(sides[1], sides[0]);
  row.spread = spread_of(ratios_of(sides[1], sides[0]));
  return row;
}

void print_copy_header(const char* limit) {
  std::printf("%-50s %-8s %9s %9s %6s %9s %9s\n", "", "way", "GB/s", limit, "ratio", "host us",
              "by batch");
}

void print_copy_row(const CopyRow& row) {
  const auto speed = [&](double seconds) {
    return static_cast<double>(row.bytes) / seconds * 1e-9;
  };
  std::printf("%-50s %-8s %9.1f %9.1f %6.2f ", row.name.c_str(), row.way.c_str(),
              speed(row.seconds), speed(row.limit_seconds), row.ratio);
  if (row.host_seconds > 0)
    std::printf("%9.2f", row.host_seconds * 1e6);
  else
    std::printf("%9s", "-");
  if (row.batch_seconds > 0)
    std::printf(" %9.1f", speed(row.batch_seconds));
  else
    std::printf(" %9s", "-");
  std::printf("%s\n", row.verified ? "" : "  WRONG");
  std::fflush(stdout);
}

std::string copy_rows_json(const std::vector<CopyRow>& rows) {
  std::vector<std::string> all;
  for (const CopyRow& row : rows)
    all.push_back(harness::JsonObject()
                      .add("name", row.name)
                      .add("way", row.way)
                      .add("bytes", row.bytes)
                      .add("seconds", row.seconds)
                      .add("copy_seconds", row.limit_seconds)
                      .add("ratio", row.ratio)
                      .add("host_seconds", row.host_seconds)
                      .add("batch_seconds", row.batch_seconds)
                      .add("batch_ratio", row.batch_ratio)
                      .add("verified", row.verified)
                      .text());
  return harness::json_array(all);
}

}  // namespace infini::bench
