// The record of broken rules, the thread's last message, faults on demand, and the queries of
// cann_emulator.h.
#include "state.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace cann_emulator {
namespace {

constexpr size_t kept_without_memory = 64;  // broken rules, without words

thread_local std::string pending_message;
thread_local std::string returned_message;

uint64_t number_from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

constexpr const char* rule_names[] = {"initialised",
                                      "context",
                                      "ownership",
                                      "live_handle",
                                      "pointer_class",
                                      "capacity",
                                      "null_free",
                                      "empty_allocation",
                                      "free_in_flight",
                                      "unsynchronised",
                                      "race",
                                      "out_of_bounds",
                                      "red_zone",
                                      "tensor_layout",
                                      "storage_coverage",
                                      "alignment",
                                      "executor_reuse",
                                      "address_between_phases",
                                      "workspace",
                                      "dtype",
                                      "shape",
                                      "aliasing",
                                      "event"};
static_assert(std::size(rule_names) == static_cast<size_t>(Rule::event) + 1);

// A process that broke a rule does not end well, even where nobody asked for the record.
void end_strictly() {
  const auto broken = violations();
  if (broken.empty()) return;
  for (const Violation& v : broken)
    std::fprintf(stderr, "cann_emulator: %s broke %s: %s\n", v.call.c_str(), name(v.rule),
                 v.detail.c_str());
  std::fflush(nullptr);
  std::_Exit(86);
}

}  // namespace

State& state() {
  static State& s =
      *new State;  // never destroyed: clients may call from their own static destructors
  return s;
}

void configure(State& s) {
  if (s.configured) return;
  s.violations.reserve(kept_without_memory);
  s.devices.resize(number_from_environment("CANN_EMULATOR_DEVICES", 2));
  s.memory_per_device = number_from_environment("CANN_EMULATOR_MEMORY_MB", 4096) << 20;
  s.calls_to_failure = number_from_environment("CANN_EMULATOR_FAIL_CALL", 0);
  s.refuse_repeatable = number_from_environment("CANN_EMULATOR_REFUSE_REPEATABLE", 0) != 0;
  s.refuse_gapped = number_from_environment("CANN_EMULATOR_REFUSE_GAPPED", 0) != 0;
  if (number_from_environment("CANN_EMULATOR_STRICT", 0) != 0) std::atexit(end_strictly);
  s.configured = true;
}

Call::Call(const char* name) : s(state()), lock_(s.lock), name_(name) { configure(s); }

bool Call::must_fail() {
  if (s.calls_to_failure == 0 || --s.calls_to_failure != 0) return false;
  s.fault_fired = true;
  message(0, "failed on demand");
  return true;
}

int Call::record(Rule rule, int code, const char* detail) noexcept {
  const size_t before = s.violations.size();
  try {
    s.violations.push_back({rule, name_, detail});
    return message(code, (std::string(cann_emulator::name(rule)) + ": " + detail).c_str());
  } catch (const std::bad_alloc&) {
    if (s.violations.size() == before && before < s.violations.capacity())
      s.violations.push_back({rule, {}, {}});
    return code;
  }
}

int Call::message(int code, const char* detail) noexcept {
  try {
    pending_message = std::string(name_) + ": " + detail;
  } catch (const std::bad_alloc&) {
    pending_message.clear();
  }
  return code;
}

int Call::require_initialised() {
  if (s.initialised) return 0;
  return broken(Rule::initialised, ACL_ERROR_UNINITIALIZE, "aclInit has not been called");
}

int Call::require_context() {
  if (int code = require_initialised()) return code;
  if (current_context()) return 0;
  return broken(Rule::context, ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no device: call aclrtSetDevice");
}

const char* name(Rule rule) { return rule_names[static_cast<size_t>(rule)]; }

std::vector<Violation> violations() {
  Call call("violations");
  return call.s.violations;
}

void clear_violations() {
  Call call("clear_violations");
  call.s.violations.clear();
}

Counters counters() {
  Call call("counters");
  return call.s.counters;
}

void reset_counters() {
  Call call("reset_counters");
  call.s.counters = {};
}

Live live() {
  Call call("live");
  Live live{};
  live.device_blocks = call.s.blocks.size();
  for (auto& [base, block] : call.s.blocks) live.device_bytes += block.size;
  live.host_blocks = call.s.host_blocks.size();
  live.events = call.s.events.size();
  for (auto& [handle, stream] : call.s.streams) {
    if (!stream.is_default) ++live.streams;
    live.queued_tasks += stream.queue.size();
  }
  return call.s.count_meta_objects ? call.s.count_meta_objects(live) : live;
}

void fail_call(uint64_t nth_from_now) {
  Call call("fail_call");
  call.s.calls_to_failure = nth_from_now;
  call.s.fault_fired = false;
}

bool fault_fired() {
  Call call("fault_fired");
  return call.s.fault_fired;
}

void refuse_repeatable(bool on) {
  Call call("refuse_repeatable");
  call.s.refuse_repeatable = on;
}

void refuse_gapped_sources(bool on) {
  Call call("refuse_gapped_sources");
  call.s.refuse_gapped = on;
}

void* host_view(const void* device_address) {
  Call call("host_view");
  uint64_t base = 0;
  Block* block = find_block(call.s, address_of(device_address), &base);
  return block ? block->bytes.data() + (address_of(device_address) - base) : nullptr;
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" const char* aclGetRecentErrMsg() {
  if (pending_message.empty()) return nullptr;
  returned_message.swap(pending_message);
  pending_message.clear();
  return returned_message.c_str();
}
