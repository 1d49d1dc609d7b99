// Judges every load and store of a kernel.
#include <dlfcn.h>

#include <algorithm>

#include "kernel.h"

namespace simt {
namespace {

constexpr size_t most_logged = 1 << 20;  // accesses of one kernel; larger ones are not judged

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

// Whether this is global memory: at a place where the access may be, and not before the kernel in front has ended.
bool check_place(Address address, size_t size, bool write) {
  Engine& e = engine;
  Window& window = write ? e.write_window : e.read_window;
  if (!window.holds(address, size)) {
    const Window found = judge(address, size, write);
    if (found.end == 0) return false;
    window = found;
  }
  const int id = engine.running->thread;
  if (e.threads[id].waited) return true;
  violate(SIMT_EMU_EARLY_ACCESS,
          "thread %d of block %lu touches memory before it waits for its predecessor", id, e.block);
  e.threads[id].waited = true;
  return true;
}

void check_global(Address address, size_t size, bool write) {
  if (!check_place(address, size, write)) return;
  Engine& e = engine;
  auto& log = write ? e.writes : e.reads;
  if (log.size() < most_logged)
    append_or_fault(
        log, GlobalAccess{address, address + size,
                          e.block * most_threads + static_cast<uint64_t>(engine.running->thread)});
}

// The writes of a kernel in the order of their addresses, those of one thread that touch each other in one. Stops
// at the first that begins inside another thread's, and says so.
bool merge_writes(std::vector<GlobalAccess>& writes) {
  std::sort(writes.begin(), writes.end(),
            [](const GlobalAccess& x, const GlobalAccess& y) { return x.begin < y.begin; });
  size_t last = 0;
  for (size_t i = 1; i < writes.size(); ++i) {
    const GlobalAccess& next = writes[i];
    if (next.begin < writes[last].end && next.thread != writes[last].thread) {
      violate(SIMT_EMU_GLOBAL_RACE, "two threads write %p", reinterpret_cast<void*>(next.begin));
      return false;
    }
    if (next.begin <= writes[last].end && next.thread == writes[last].thread)
      writes[last].end = std::max(writes[last].end, next.end);
    else
      writes[++last] = next;
  }
  writes.resize(last + 1);
  return true;
}

// Whether another thread wrote what this one read; `writes` are merged.
bool meets_a_writer(const std::vector<GlobalAccess>& writes, const GlobalAccess& read) {
  auto write = std::upper_bound(writes.begin(), writes.end(), read.begin,
                                [](Address at, const GlobalAccess& w) { return at < w.end; });
  for (; write != writes.end() && write->begin < read.end; ++write)
    if (write->thread != read.thread) return true;
  return false;
}

// True when another thread used the place in this epoch, and one of the two writes.
bool collides(const SharedUse& use, uint16_t id, bool write) {
  return (use.written == engine.epoch && use.writer != id) ||
         (write && use.read == engine.epoch && use.reader != id);
}

void note(SharedUse& use, uint16_t id, bool write) {
  if (write) {
    use.written = engine.epoch;
    use.writer = id;
  } else {
    use.reader = use.read == engine.epoch && use.reader != id ? many_readers : id;
    use.read = engine.epoch;
  }
}

// `count` bytes of a word from the first on; true when another thread is in the way.
bool use_word(SharedWord& word, size_t first, size_t count, uint16_t id, bool write) {
  const bool whole = count == SharedWord::bytes, split = !whole || word.split == engine.epoch;
  bool race = collides(word.whole, id, write);
  if (split)
    for (size_t i = first; i < first + count; ++i) race |= collides(word.each[i], id, write);
  if (whole) {
    note(word.whole, id, write);
  } else {
    word.split = engine.epoch;
    for (size_t i = first; i < first + count; ++i) note(word.each[i], id, write);
  }
  return race;
}

}  // namespace

void check_shared(uint8_t* p, size_t size, bool write) {
  check_shared(p, size, write, static_cast<uint16_t>(engine.running->thread));
}

void check_shared(uint8_t* p, size_t size, bool write, uint16_t id) {
  Engine& e = engine;
  const int thread = engine.running->thread;
  if (static_cast<size_t>(p - e.shared) + size > e.launch->shared_bytes)
    refuse(SIMT_EMU_BOUNDS, simtErrorIllegalAddress, reinterpret_cast<Address>(p), size, write,
           "outside the block's shared memory");
  bool race = false, arriving = false;
  for (size_t at = static_cast<size_t>(p - e.shared), end = at + size; at < end;) {
    SharedWord& word = e.shared_words[at / SharedWord::bytes];
    const size_t next = std::min(end, (at / SharedWord::bytes + 1) * SharedWord::bytes);
    arriving |= word.arriving;
    race |= use_word(word, at % SharedWord::bytes, next - at, id, write);
    at = next;
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
  auto& writes = engine.writes;
  const auto& reads = engine.reads;
  if (writes.empty() || writes.size() == most_logged || reads.size() == most_logged) return;
  if (!merge_writes(writes)) return;
  const Address low = writes.front().begin, high = writes.back().end;
  for (const GlobalAccess& read : reads)
    if (read.begin < high && read.end > low && meets_a_writer(writes, read))
      return violate(SIMT_EMU_GLOBAL_RACE, "one thread writes %p, another reads it",
                     reinterpret_cast<void*>(read.begin));
}

void check_aligned(const void* p, size_t alignment) {
  if (!in_kernel || reinterpret_cast<Address>(p) % alignment == 0) return;
  refuse(SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress, reinterpret_cast<Address>(p), alignment,
         false, "misaligned");
}

}  // namespace simt

using namespace simt;

namespace {

// Threads that do nothing else to these bytes do not race: in global memory the access is not logged, in shared memory all
// of them count as one thread.
template <class T>
void check_atomic(T* p) {
  check_aligned(p, sizeof *p);
  auto* const place = reinterpret_cast<uint8_t*>(p);
  if (static_cast<size_t>(place - engine.shared) < 2 * most_shared)
    check_shared(place, sizeof *p, true, atomic_threads);
  else
    check_place(reinterpret_cast<Address>(p), sizeof *p, true);
}

template <class T>
T add_atomically(T* p, T value) {
  check_atomic(p);
  const T before = *p;
  *p = before + value;
  return before;
}

}  // namespace

void simtAtomicMax(uint32_t* p, uint32_t value) {
  check_atomic(p);
  if (*p < value) *p = value;
}
uint32_t simtAtomicAdd(uint32_t* p, uint32_t value) { return add_atomically(p, value); }
uint64_t simtAtomicAddWide(uint64_t* p, uint64_t value) { return add_atomically(p, value); }
