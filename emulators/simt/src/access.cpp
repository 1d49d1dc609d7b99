// Judges every load and store of a kernel.
#include <dlfcn.h>

#include <algorithm>

#include "kernel.h"

namespace simt {
namespace {

constexpr size_t most_logged = 1 << 20;  // accesses of one kernel; larger ones are not judged

[[noreturn]] void refuse(SimtEmuRule rule, Error error, Address address, size_t size, bool write,
                         const char* what) {
  const Engine& e = engine();
  violate(rule, "thread %d of block %lu on device %d %s %zu bytes at %p: %s",
          current_fiber()->thread, e.block, e.launch->device, write ? "writes" : "reads", size,
          reinterpret_cast<void*>(address), what);
  fault(error);
}

bool inside(Address address, size_t size, const void* begin, size_t bytes) {
  return address - reinterpret_cast<Address>(begin) < bytes &&
         address + size <= reinterpret_cast<Address>(begin) + bytes;
}

// The thread's own indices, the kernel's arguments and constants of the program.
bool is_constant(Address address, size_t size) {
  const Launch& launch = *engine().launch;
  Dl_info info;
  return inside(address, size, launch.storage.data(), launch.storage.size() * sizeof(uint4)) ||
         inside(address, size, launch.arguments.data(), launch.arguments.size() * sizeof(void*)) ||
         dladdr(reinterpret_cast<void*>(address), &info) != 0;
}

// Where the access may lie, judged anew; an empty window is memory that is not global.
Window judge(Address address, size_t size, bool write) {
  const int device = engine().launch->device;
  if (is_device_address(address)) {
    if (device_of(address) != device)
      refuse(SIMT_EMU_WRONG_DEVICE, simtErrorIllegalAddress, address, size, write,
             "memory of another device");
    const Allocation* found = find_allocation(address, size);
    if (found == nullptr || !found->usable)
      refuse(SIMT_EMU_BOUNDS, simtErrorIllegalAddress, address, size, write,
             "outside every allocation");
    return {found->begin, found->begin + found->size};
  }
  if (is_pinned(address, size)) {
    const auto& [begin, bytes] = *std::prev(state().pinned.upper_bound(address));
    return {begin, begin + bytes};
  }
  if (write || !is_constant(address, size))
    refuse(SIMT_EMU_HOST_ACCESS, simtErrorIllegalAddress, address, size, write,
           "host memory that is not pinned");
  return {};
}

void check_global(Address address, size_t size, bool write) {
  Engine& e = engine();
  Window& window = write ? e.write_window : e.read_window;
  if (address < window.begin || address + size > window.end) {
    const Window found = judge(address, size, write);
    if (found.end == 0) return;
    window = found;
  }
  const int id = current_fiber()->thread;
  if (!e.threads[id].waited) {
    violate(SIMT_EMU_EARLY_ACCESS,
            "thread %d of block %lu touches memory before it waits for its predecessor", id, e.block);
    e.threads[id].waited = true;
  }
  auto& log = write ? e.writes : e.reads;
  if (log.size() < most_logged)
    log.push_back({address, address + size, e.block * most_threads + static_cast<uint64_t>(id)});
}

bool is_index(Address address) {
  return inside(address, 1, &threadIdx, sizeof threadIdx) ||
         inside(address, 1, &blockIdx, sizeof blockIdx) ||
         inside(address, 1, &blockDim, sizeof blockDim) ||
         inside(address, 1, &gridDim, sizeof gridDim);
}

bool share_a_byte(std::vector<GlobalAccess>& sorted, const GlobalAccess& access) {
  auto next = std::upper_bound(
      sorted.begin(), sorted.end(), access.begin,
      [](Address address, const GlobalAccess& other) { return address < other.end; });
  for (; next != sorted.end() && next->begin < access.end; ++next)
    if (next->thread != access.thread) return true;
  return false;
}

}  // namespace

void check_shared(uint8_t* p, size_t size, bool write) {
  Engine& e = engine();
  const int thread = current_fiber()->thread;
  const auto id = static_cast<uint16_t>(thread);
  if (static_cast<size_t>(p - e.shared) + size > e.launch->shared_bytes)
    refuse(SIMT_EMU_BOUNDS, simtErrorIllegalAddress, reinterpret_cast<Address>(p), size, write,
           "outside the block's shared memory");
  bool race = false, arriving = false;
  for (SharedByte* byte = &e.shared_bytes[p - e.shared]; size-- > 0; ++byte) {
    arriving |= byte->arriving;
    race |= byte->written == e.epoch && byte->writer != id;
    if (write) {
      race |= byte->read == e.epoch && byte->reader != id;
      byte->written = e.epoch;
      byte->writer = id;
    } else {
      byte->reader = byte->read == e.epoch && byte->reader != id ? many_readers : id;
      byte->read = e.epoch;
    }
  }
  if (race)
    violate(SIMT_EMU_SHARED_RACE,
            "thread %d of block %lu %s shared memory that another thread used, no barrier in between",
            thread, e.block, write ? "writes" : "reads");
  if (arriving)
    violate(SIMT_EMU_READ_BEFORE_WAIT, "thread %d of block %lu uses shared bytes of a copy in flight",
            thread, e.block);
}

void check_access(const void* pointer, size_t size, bool write) {
  const Fiber* const fiber = current_fiber();
  if (fiber == nullptr) return;  // host code in a kernel's source file
  auto* p = static_cast<uint8_t*>(const_cast<void*>(pointer));
  if (static_cast<size_t>(p - fiber->stack) < stack_bytes) return;
  if (static_cast<size_t>(p - engine().shared) < 2 * most_shared) return check_shared(p, size, write);
  const auto address = reinterpret_cast<Address>(pointer);
  if (!is_index(address)) check_global(address, size, write);
}

// Law: of two threads that touch the same global byte none writes it. (No barrier orders threads of
// different blocks, and within a block our kernels never pass data through global memory.)
void check_races() {
  Engine& e = engine();
  if (e.writes.size() == most_logged || e.reads.size() == most_logged) return;
  auto sorted = e.writes;
  std::sort(sorted.begin(), sorted.end(),
            [](const GlobalAccess& a, const GlobalAccess& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].begin < sorted[i - 1].end && sorted[i].thread != sorted[i - 1].thread)
      return violate(SIMT_EMU_GLOBAL_RACE, "two threads write %p",
                     reinterpret_cast<void*>(sorted[i].begin));
  if (sorted.empty()) return;
  const Address low = sorted.front().begin, high = sorted.back().end;
  for (const GlobalAccess& access : e.reads)
    if (access.end > low && access.begin < high && share_a_byte(sorted, access))
      return violate(SIMT_EMU_GLOBAL_RACE, "one thread writes %p, another reads it",
                     reinterpret_cast<void*>(access.begin));
}

void check_aligned(const void* p, size_t alignment) {
  if (current_fiber() == nullptr || reinterpret_cast<Address>(p) % alignment == 0) return;
  refuse(SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress, reinterpret_cast<Address>(p), alignment,
         false, "misaligned");
}

}  // namespace simt
