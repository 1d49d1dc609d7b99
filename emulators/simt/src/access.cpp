// Judges every load and store of a kernel.
#include <dlfcn.h>

#include <algorithm>

#include "kernel.h"

namespace simt {
namespace {

constexpr size_t most_logged = 1 << 20;   // accesses of one kernel; larger ones are not judged
constexpr Address most_span = 256 << 20;  // of what one kernel writes

[[noreturn]] void refuse(SimtEmuRule rule, Error error, Address address, size_t size, bool write,
                         const char* what) {
  const Engine& e = engine;
  violate(rule, "thread %d of block %lu on device %d %s %zu bytes at %p: %s",
          engine.running->thread, e.block, e.launch->device, write ? "writes" : "reads", size,
          reinterpret_cast<void*>(address), what);
  fault(error);
}

bool inside(Address address, size_t size, const void* begin, size_t bytes) {
  return address - reinterpret_cast<Address>(begin) < bytes &&
         address + size <= reinterpret_cast<Address>(begin) + bytes;
}

// The thread's own indices, and constants of the program.
bool is_constant(Address address) {
  Dl_info info;
  return inside(address, 1, &threadIdx, sizeof threadIdx) ||
         inside(address, 1, &blockIdx, sizeof blockIdx) ||
         inside(address, 1, &blockDim, sizeof blockDim) ||
         inside(address, 1, &gridDim, sizeof gridDim) ||
         dladdr(reinterpret_cast<void*>(address), &info) != 0;
}

// Where the access may lie, judged anew; an empty window is memory that is not global.
Window judge(Address address, size_t size, bool write) {
  const int device = engine.launch->device;
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
  if (!write && is_constant(address)) return {};
  if (is_pinned(address, size)) {
    const auto& [begin, bytes] = *std::prev(state().pinned.upper_bound(address));
    return {begin, begin + bytes};
  }
  refuse(SIMT_EMU_HOST_ACCESS, simtErrorIllegalAddress, address, size, write,
         "host memory that is not pinned");
}

void check_global(Address address, size_t size, bool write) {
  Engine& e = engine;
  Window& window = write ? e.write_window : e.read_window;
  if (!window.holds(address, size)) {
    const Window found = judge(address, size, write);
    if (found.end == 0) return;
    window = found;
  }
  const int id = engine.running->thread;
  if (!e.threads[id].waited) {
    violate(SIMT_EMU_EARLY_ACCESS,
            "thread %d of block %lu touches memory before it waits for its predecessor", id,
            e.block);
    e.threads[id].waited = true;
  }
  auto& log = write ? e.writes : e.reads;
  if (log.size() < most_logged)
    log.push_back({address, address + size, e.block * most_threads + static_cast<uint64_t>(id)});
}

// One bit for each byte between the first and the last write of a kernel.
class WrittenBytes {
 public:
  WrittenBytes(Address begin, Address end) : begin_(begin), bits_((end - begin) / 64 + 1) {}

  // True when one of the bytes was marked before.
  bool mark(Address begin, Address end) {
    bool before = false;
    for (Address at = begin - begin_; at < end - begin_; ++at) {
      uint64_t& word = bits_[at / 64];
      before |= word >> at % 64 & 1;
      word |= uint64_t{1} << at % 64;
    }
    return before;
  }
  bool holds(Address begin, Address end) const {
    for (Address at = begin - begin_; at < end - begin_; ++at)
      if (bits_[at / 64] >> at % 64 & 1) return true;
    return false;
  }

 private:
  Address begin_;
  std::vector<uint64_t> bits_;
};

// The thread that wrote a byte last before access number `end` of the log.
const GlobalAccess* find_writer(const std::vector<GlobalAccess>& log, size_t end,
                                const GlobalAccess& access) {
  while (end-- > 0)
    if (log[end].begin < access.end && access.begin < log[end].end &&
        log[end].thread != access.thread)
      return &log[end];
  return nullptr;
}

}  // namespace

void check_shared(uint8_t* p, size_t size, bool write) {
  Engine& e = engine;
  const int thread = engine.running->thread;
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
    violate(
        SIMT_EMU_SHARED_RACE,
        "thread %d of block %lu %s shared memory that another thread used, no barrier in between",
        thread, e.block, write ? "writes" : "reads");
  if (arriving)
    violate(SIMT_EMU_READ_BEFORE_WAIT,
            "thread %d of block %lu uses shared bytes of a copy in flight", thread, e.block);
}

void check_far_access(uint8_t* p, size_t size, bool write) {
  if (static_cast<size_t>(p - engine.shared) < 2 * most_shared) return check_shared(p, size, write);
  check_global(reinterpret_cast<Address>(p), size, write);
}

// Law: of two threads that touch the same global byte none writes it. (No barrier orders threads of
// different blocks, and within a block our kernels never pass data through global memory.)
void check_races() {
  const auto &writes = engine.writes, &reads = engine.reads;
  if (writes.empty() || writes.size() == most_logged || reads.size() == most_logged) return;
  Address low = ~Address{0}, high = 0;
  for (const GlobalAccess& access : writes) {
    low = std::min(low, access.begin);
    high = std::max(high, access.end);
  }
  if (high - low > most_span) return;
  WrittenBytes written(low, high);
  for (size_t i = 0; i < writes.size(); ++i)
    if (written.mark(writes[i].begin, writes[i].end) && find_writer(writes, i, writes[i]))
      return violate(SIMT_EMU_GLOBAL_RACE, "two threads write %p",
                     reinterpret_cast<void*>(writes[i].begin));
  for (const GlobalAccess& access : reads)
    if (access.begin < high && access.end > low &&
        written.holds(std::max(access.begin, low), std::min(access.end, high)) &&
        find_writer(writes, writes.size(), access))
      return violate(SIMT_EMU_GLOBAL_RACE, "one thread writes %p, another reads it",
                     reinterpret_cast<void*>(access.begin));
}

void check_aligned(const void* p, size_t alignment) {
  if (!in_kernel || reinterpret_cast<Address>(p) % alignment == 0) return;
  refuse(SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress, reinterpret_cast<Address>(p), alignment,
         false, "misaligned");
}

}  // namespace simt
