// The thread count: an atomic that starts from the environment.
#include "base/threads/thread_count.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/environment.h"
#include "base/error.h"
#include "base/threads/processors.h"

namespace infini {
namespace {

int default_thread_count() {
  if (const char* text = environment("INFINI_NUM_THREADS")) {
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && value >= 1 && value <= max_thread_count)
      return static_cast<int>(value);
    tell_not_understood("INFINI_NUM_THREADS",
                        "a number from 1 to " + std::to_string(max_thread_count));
  }
  if (const auto count = parse_thread_count(environment("OMP_NUM_THREADS"))) return *count;
  return std::min(usable_processors(), max_thread_count);
}

std::atomic<int> count{0};  // 0: not yet known

}  // namespace

int thread_count() {
  const int known = count.load(std::memory_order_relaxed);
  if (known > 0) return known;
  const int value = default_thread_count();
  count.store(value, std::memory_order_relaxed);
  return value;
}

void set_thread_count(int value) {
  require(value >= 0 && value <= max_thread_count, INFINI_STATUS_BAD_PARAM, "count is ", value,
          "; expected 1..", max_thread_count, ", or 0 for the default");
  count.store(value, std::memory_order_relaxed);
}

}  // namespace infini
