// Reading the environment once, and remembering what was not understood in it.
#include "base/environment.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/device_kind.h"

namespace infini {
namespace {

constexpr const char* prefix = "INFINI_";

// What is not about one operator of one device.
constexpr const char* known[] = {
    "INFINI_ALLOW_TF32",   "INFINI_BACKEND_PATH",  "INFINI_CCL_TIMEOUT",   "INFINI_CPU_ISA",
    "INFINI_GEMM",         "INFINI_IO_URING",      "INFINI_NVIDIA_RECORD", "INFINI_NUM_THREADS",
    "INFINI_READ_THROUGH", "INFINI_TRANSFER",      "INFINI_TUNE",          "INFINI_VERBOSE",
    "INFINI_REARRANGE",    "INFINI_GPU_REARRANGE",
    "INFINI_ROOT",  // the last is our clients'
};
constexpr const char* shared = "OMP_NUM_THREADS";  // the one that others read, too
constexpr const char* operators[] = {"REARRANGE", "GEMM"};

using Pairs = std::vector<std::pair<std::string, std::string>>;

bool is_ours(const char* entry) { return std::strncmp(entry, prefix, std::strlen(prefix)) == 0; }

// Only for people who wonder why nothing happens.
bool any_is_set() {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (is_ours(*at)) return true;
  return false;
}

Pairs read_variables() {
  Pairs pairs;
  if (getauxval(AT_SECURE) != 0) return pairs;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const char* const equals = std::strchr(*at, '=');
    if (equals == nullptr) continue;
    std::string name(*at, static_cast<size_t>(equals - *at));
    if (is_ours(*at) || name == shared) pairs.emplace_back(std::move(name), equals + 1);
  }
  return pairs;
}

// Never destroyed: static destructors may still ask. What a test rereads stays behind, since somebody
// may hold one of its values.
std::atomic<const Pairs*>& variables() {
  static std::atomic<const Pairs*> pairs{new Pairs(read_variables())};
  return pairs;
}
// Read when the library is loaded, not at the first call.
[[maybe_unused]] const bool read_at_load = variables().load() != nullptr;

const char* own_value(const char* name) {
  for (const auto& [key, value] : *variables().load(std::memory_order_acquire))
    if (key == name) return value.c_str();
  return nullptr;
}

struct Complaints {
  std::mutex mutex;
  std::vector<std::string> lines;
};
Complaints& complaints() {
  static auto* all = new Complaints;
  return *all;
}

void own_tell(const char* name, const std::string& expected) {
  const char* const value = own_value(name);
  std::string line = std::string(name) + "=" + (value == nullptr ? "" : value) +
                     " is not understood; expected " + expected;
  Complaints& all = complaints();
  std::lock_guard lock(all.mutex);
  if (std::find(all.lines.begin(), all.lines.end(), line) == all.lines.end())
    all.lines.push_back(std::move(line));
}

std::atomic<const EnvironmentSource*> adopted{nullptr};

// INFINI_<DEVICE>_<OPERATOR>.
bool names_an_operator(const std::string& name) {
  for (int kind = 0; kind < INFINI_DEVICE_TYPE_COUNT; ++kind)
    for (const char* op : operators) {
      std::string built = prefix;
      for (const char* c = device_kind_name(static_cast<infiniDevice_t>(kind)); *c != 0; ++c)
        built += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
      if (name == built + "_" + op) return true;
    }
  return false;
}

bool is_known(const std::string& name) {
  return std::find(std::begin(known), std::end(known), name) != std::end(known) || name == shared ||
         name.starts_with("INFINI_TEST_") || name.starts_with("INFINI_FUZZ_") ||
         names_an_operator(name);
}

}  // namespace

const char* environment(const char* name) {
  const EnvironmentSource* const source = adopted.load(std::memory_order_acquire);
  return source == nullptr ? own_value(name) : source->value(name);
}

void tell_not_understood(const char* name, const std::string& expected) {
  const EnvironmentSource* const source = adopted.load(std::memory_order_acquire);
  source == nullptr ? own_tell(name, expected) : source->tell(name, expected);
}

std::vector<std::string> environment_complaints() {
  std::vector<std::string> lines;
  for (const auto& [name, value] : *variables().load(std::memory_order_acquire))
    if (!is_known(name)) lines.push_back(name + " is no variable of this library");
  if (getauxval(AT_SECURE) != 0 && any_is_set())
    lines.push_back("in a privileged program no INFINI_ variable is read");
  Complaints& all = complaints();
  std::lock_guard lock(all.mutex);
  lines.insert(lines.end(), all.lines.begin(), all.lines.end());
  return lines;
}

bool environment_flag(const char* name, bool by_default) {
  const char* const value = environment(name);
  if (value == nullptr || *value == 0) return by_default;
  if (std::strcmp(value, "0") == 0 || std::strcmp(value, "1") == 0) return *value == '1';
  tell_not_understood(name, "0 or 1");
  return by_default;
}

EnvironmentSource own_environment() { return {environment, tell_not_understood}; }

void adopt_environment(const EnvironmentSource& source) {
  static EnvironmentSource kept;
  kept = source;
  adopted.store(&kept, std::memory_order_release);
}

void reread_environment() {
  static auto& before = *new std::vector<const Pairs*>;
  Complaints& all = complaints();
  std::lock_guard lock(all.mutex);
  before.push_back(nullptr);
  before.back() = variables().exchange(new Pairs(read_variables()), std::memory_order_acq_rel);
  all.lines.clear();
}

}  // namespace infini
