// The book of broken rules, the counters, and the switches of simt_emulator.h.
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "state.h"

namespace simt {
namespace {

constexpr size_t kept_messages = 64;
constexpr const char* rule_names[SIMT_EMU_RULES] = {
    "bounds",      "wrong device", "host access",      "misaligned",      "divergent barrier",
    "shared race", "global race",  "read before wait", "pending at exit", "early access",
    "stream race", "after destroy"};

template <class Objects>
uint64_t count_open(const Objects& objects) {
  return static_cast<uint64_t>(std::count_if(objects.begin(), objects.end(),
                                             [](const auto& object) { return !object->closed; }));
}

// Streams are not asked for: a program may keep some for later.
uint64_t leaks(const SimtEmuStats& stats) {
  return stats.live_device + stats.live_pinned + stats.live_events + stats.live_graphs +
         stats.live_execs;
}

// With SIMT_EMU_STRICT=1 a program cannot end well that broke a rule or left something behind.
__attribute__((destructor)) void report_at_exit() {
  const char* strict = std::getenv("SIMT_EMU_STRICT");
  if (strict == nullptr || strict[0] != '1') return;
  SimtEmuStats stats;
  simt_emu_stats(&stats);
  if (simt_emu_violations() == 0 && leaks(stats) == 0) return;
  std::fprintf(stderr, "emulated GPU: %d violations\n", simt_emu_violations());
  for (const auto& text : state().violations) std::fprintf(stderr, "  %s\n", text.c_str());
  std::fprintf(stderr,
               "still alive: %lu device and %lu pinned allocations, %lu events, %lu graphs, %lu "
               "executable graphs\n",
               stats.live_device, stats.live_pinned, stats.live_events, stats.live_graphs,
               stats.live_execs);
  _exit(86);
}

}  // namespace

State::State() {
  if (const char* seed = std::getenv("SIMT_EMU_SEED")) random.seed(std::strtoull(seed, nullptr, 0));
  if (const char* count = std::getenv("SIMT_EMU_DEVICES"))
    device_count = std::clamp(std::atoi(count), 0, most_devices);
}

State& state() {
  static State* const instance = new State;  // never destroyed: threads may outlive main
  return *instance;
}

void violate(SimtEmuRule rule, const char* format, ...) {
  const Lock lock(state().mutex);
  ++state().violation_counts[rule];
  if (state().violations.size() >= kept_messages) return;
  char text[320];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  try {
    state().violations.push_back(std::string(rule_names[rule]) + ": " + text);
  } catch (
      const std::
          bad_alloc&) {  // it counts without its words; a kernel's frames let no exception pass
  }
}

}  // namespace simt

using namespace simt;

int simt_emu_violations() {
  const Lock lock(state().mutex);
  int total = 0;
  for (const int count : state().violation_counts) total += count;
  return total;
}
int simt_emu_violations_of(SimtEmuRule rule) {
  const Lock lock(state().mutex);
  return state().violation_counts[rule];
}
const char* simt_emu_violation(int index) {
  const Lock lock(state().mutex);
  const auto& all = state().violations;
  return index >= 0 && static_cast<size_t>(index) < all.size() ? all[index].c_str() : nullptr;
}
void simt_emu_stats(SimtEmuStats* out) {
  const Lock lock(state().mutex);
  const State& s = state();
  *out = s.stats;
  out->live_device = 0;
  for (const Device& device : s.devices)
    for (const auto& [begin, allocation] : device.allocations)
      out->live_device += !allocation.host_freed && !allocation.of_graph;
  out->live_pinned = s.pinned.size();
  out->live_streams = count_open(s.streams);
  for (const Device& device : s.devices) out->live_streams -= device.default_stream != nullptr;
  out->live_events = count_open(s.events);
  out->live_graphs = count_open(s.graphs);
  out->live_execs = count_open(s.execs);
}
void simt_emu_clear() {
  const Lock lock(state().mutex);
  State& s = state();
  s.violations.clear();
  std::fill(std::begin(s.violation_counts), std::end(s.violation_counts), 0);
  s.stats = {};
  s.calls = s.fail_call = s.fail_kernel = 0;
}
void simt_emu_seed(uint64_t seed) {
  const Lock lock(state().mutex);
  state().random.seed(seed);
}
void simt_emu_reset_device(int device) {
  const Lock lock(state().mutex);
  if (device >= 0 && device < state().device_count) state().devices[device].error = simtSuccess;
}
void simt_emu_fail_call(int64_t n, simtError_t error) {
  const Lock lock(state().mutex);
  state().fail_call = n;
  state().fail_with = error;
}
void simt_emu_fail_kernel(int64_t n) {
  const Lock lock(state().mutex);
  state().fail_kernel = n;
}
int64_t simt_emu_calls() {
  const Lock lock(state().mutex);
  return state().calls;
}
