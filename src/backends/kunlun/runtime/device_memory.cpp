// The range of our devices' memory, and a look whether the host can read an address.
#include "backends/kunlun/runtime/device_memory.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace infini::kunlun {
namespace {

std::atomic<uintptr_t> lowest{UINTPTR_MAX}, highest{0};

// The kernel copies 8 bytes from there before it finds that there is no such way to set a mask.
bool host_can_read(uintptr_t address) {
  constexpr int no_such_way = ~0;
  const long code = syscall(SYS_rt_sigprocmask, no_such_way, address & ~uintptr_t{7}, nullptr, 8);
  return code == -1 && errno == EINVAL;
}

}  // namespace

void note_device_memory(const void* p, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(p), end = begin + bytes;
  for (uintptr_t now = lowest; begin < now && !lowest.compare_exchange_weak(now, begin);) {
  }
  for (uintptr_t now = highest; end > now && !highest.compare_exchange_weak(now, end);) {
  }
}

void require_device_memory(const void* p, const char* argument) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  if (address >= lowest.load(std::memory_order_relaxed) &&
      address < highest.load(std::memory_order_relaxed))
    return;
  require(!host_can_read(address), INFINI_STATUS_BAD_PARAM, argument, " (", p,
          ") is memory of the host; expected the XPU's");
}

}  // namespace infini::kunlun
