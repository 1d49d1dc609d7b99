// The book of broken rules, the counters, and the switches of xpu_emulator.h.
#include <unistd.h>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "state.h"

namespace xpu_emu {
namespace {
constexpr size_t kept_messages = 64;

// A program that runs with XPU_EMU_STRICT=1 cannot end well after a violation it never asked about.
__attribute__((destructor)) void report_at_exit() {
  const char* strict = std::getenv("XPU_EMU_STRICT");
  if (!strict || strict[0] != '1' || xpu_emu_violations() == 0) return;
  std::fprintf(stderr, "emulated XPU: %d violations\n", xpu_emu_violations());
  for (const auto& text : state().violations) std::fprintf(stderr, "  %s\n", text.c_str());
  _exit(86);
}
}  // namespace

State::State() {
  if (const char* seed = std::getenv("XPU_EMU_SEED")) random.seed(std::strtoull(seed, nullptr, 0));
}

State& state() {
  static State* const instance = new State;  // never destroyed: threads may outlive main
  return *instance;
}

void violate(XpuEmuRule rule, const char* format, ...) {
  static const char* const names[XPU_EMU_RULES] = {"bounds",
                                                   "dma size",
                                                   "wrong space",
                                                   "scalar global access",
                                                   "read before fence",
                                                   "write before fence",
                                                   "shared race",
                                                   "global race",
                                                   "divergent barrier",
                                                   "lm budget",
                                                   "sm budget",
                                                   "unaligned simd",
                                                   "pending at exit",
                                                   "stream race",
                                                   "host source",
                                                   "freed in use",
                                                   "host access"};
  char text[320];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  Lock lock(state().mutex);
  ++state().violation_counts[rule];
  if (state().violations.size() < kept_messages)
    state().violations.push_back(std::string(names[rule]) + ": " + text);
}

int injected(int code) {
  State& s = state();
  ++s.calls;
  if (s.fail_call == 0 || --s.fail_call != 0) return 0;
  return code;
}
}  // namespace xpu_emu

using namespace xpu_emu;

extern "C" {
int xpu_emu_violations(void) {
  Lock lock(state().mutex);
  int total = 0;
  for (int count : state().violation_counts) total += count;
  return total;
}
int xpu_emu_violations_of(XpuEmuRule rule) {
  Lock lock(state().mutex);
  return state().violation_counts[rule];
}
const char* xpu_emu_violation(int index) {
  Lock lock(state().mutex);
  const auto& all = state().violations;
  return index >= 0 && static_cast<size_t>(index) < all.size() ? all[index].c_str() : nullptr;
}
void xpu_emu_stats(XpuEmuStats* out) {
  Lock lock(state().mutex);
  State& s = state();
  *out = s.stats;
  out->live_allocations = out->live_streams = out->live_events = 0;
  for (const auto& device : s.devices) out->live_allocations += device.allocations.size();
  out->live_host = s.host_blocks.size() + s.registered.size();
  for (const auto& stream : s.streams) out->live_streams += !stream->closed;
  for (const auto& device : s.devices) out->live_streams -= device.default_stream != nullptr;
  for (const auto& event : s.events) out->live_events += !event->closed;
}
void xpu_emu_clear(void) {
  Lock lock(state().mutex);
  State& s = state();
  s.violations.clear();
  for (int& count : s.violation_counts) count = 0;
  s.stats = {};
  s.calls = s.fail_call = s.fail_kernel = 0;
}
void xpu_emu_seed(uint64_t seed) {
  Lock lock(state().mutex);
  state().random.seed(seed);
}
void xpu_emu_read_sources_early(int early) {
  Lock lock(state().mutex);
  state().early_sources = early != 0;
}
void xpu_emu_reset_device(int device) {
  Lock lock(state().mutex);
  if (device < 0 || device >= device_count) return;
  state().devices[device].abnormal = false;
  state().devices[device].fresh_error = 0;
}
void xpu_emu_limit_memory(uint64_t bytes) {
  Lock lock(state().mutex);
  state().hbm_limit = bytes && bytes < hbm_capacity ? bytes : hbm_capacity;
}
void xpu_emu_fail_call(int64_t n) {
  Lock lock(state().mutex);
  state().fail_call = n;
}
void xpu_emu_fail_kernel(int64_t n) {
  Lock lock(state().mutex);
  state().fail_kernel = n;
}
int64_t xpu_emu_calls(void) {
  Lock lock(state().mutex);
  return state().calls;
}
}
