// Memory. Device addresses lie in a range that nobody can read: its pages are opened for a kernel
// of that device while it runs, and the emulator has a second mapping of the same bytes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "state.h"

namespace simt {
namespace {

using emulators::alignment, emulators::find_gap, emulators::round_up;

constexpr uint64_t span = capacity + (1 << 20);
constexpr uint64_t poison_limit = 16 << 20;
constexpr int poison = 0xCB;
constexpr uint64_t page = 4096;

struct Arena {
  Address addresses = 0;
  uint8_t* bytes = nullptr;
  Arena() {
    const size_t size = span * most_devices;
    const int file = memfd_create("emulated device memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return;
    const int flags = MAP_SHARED | MAP_NORESERVE;
    void* unreachable = mmap(nullptr, size, PROT_NONE, flags, file, 0);
    void* ours = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0);
    close(file);
    if (unreachable == MAP_FAILED || ours == MAP_FAILED) return;
    addresses = reinterpret_cast<Address>(unreachable);
    bytes = static_cast<uint8_t*>(ours);
  }
};
const Arena& arena() {
  static const Arena instance;
  return instance;
}

}  // namespace

bool is_device_address(Address address) {
  return address - arena().addresses < span * most_devices;
}
int device_of(Address address) { return static_cast<int>((address - arena().addresses) / span); }
uint8_t* view(Address address) { return arena().bytes + (address - arena().addresses); }

const Allocation* find_allocation(Address address, uint64_t size) {
  if (!is_device_address(address)) return nullptr;
  const auto& all = state().devices[device_of(address)].allocations;
  const auto next = all.upper_bound(address);
  if (next == all.begin()) return nullptr;
  const Allocation& found = std::prev(next)->second;
  const uint64_t offset = address - found.begin;
  return offset <= found.size && size <= found.size - offset ? &found : nullptr;
}

bool is_pinned(Address address, uint64_t size) {
  const auto& all = state().pinned;
  const auto next = all.upper_bound(address);
  if (next == all.begin()) return false;
  const auto& [begin, bytes] = *std::prev(next);
  return address - begin <= bytes && size <= bytes - (address - begin);
}

Error allocate(int device_id, uint64_t size, Address& out) {
  Device& device = state().devices[device_id];
  if (arena().bytes == nullptr || size > capacity - device.used) return simtErrorMemoryAllocation;
  const Address begin = arena().addresses + device_id * span + alignment, end = begin + capacity;
  Address found = find_gap(device.allocations, std::max(device.cursor, begin), end, size);
  if (found == 0) found = find_gap(device.allocations, begin, end, size);
  if (found == 0) return simtErrorMemoryAllocation;
  device.allocations[found] = {.begin = found, .size = size, .device = device_id};
  device.cursor = found + size;
  device.used += size;
  if (size <= poison_limit) std::memset(view(found), poison, size);
  out = found;
  return simtSuccess;
}

void release(Address begin) {
  Device& device = state().devices[device_of(begin)];
  const auto found = device.allocations.find(begin);
  if (found == device.allocations.end()) return;
  const uint64_t size = found->second.size;
  device.used -= size;
  const Address first = round_up(begin, page), last = (begin + size) / page * page;
  if (last > first) madvise(view(first), last - first, MADV_REMOVE);
  device.allocations.erase(found);
}

void expose(int device, bool to_kernels) {
  const auto& all = state().devices[device].allocations;
  if (all.empty()) return;
  const Allocation& last = all.rbegin()->second;
  const Address begin = all.begin()->first / page * page;
  mprotect(reinterpret_cast<void*>(begin), round_up(last.begin + last.size - begin, page),
           to_kernels ? PROT_READ | PROT_WRITE : PROT_NONE);
}

Recording::~Recording() {
  for (const Address begin : memory) release(begin);
}

namespace {

Address address_of(const void* p) { return reinterpret_cast<Address>(p); }

// What the host may still name.
Allocation* find_live(Address begin) {
  if (!is_device_address(begin)) return nullptr;
  auto& all = state().devices[device_of(begin)].allocations;
  const auto found = all.find(begin);
  return found == all.end() || found->second.host_freed ? nullptr : &found->second;
}

// Stream-ordered memory counts as written by whatever makes and ends it: unordered use is a race.
Work change_usability(Address begin, bool usable, bool released) {
  return [=](Footprint& footprint) {
    auto& all = state().devices[device_of(begin)].allocations;
    const auto found = all.find(begin);
    if (found == all.end()) return simtErrorIllegalAddress;
    found->second.usable = usable;
    footprint.writes.push_back({begin, begin + found->second.size});
    if (released) release(begin);
    return simtSuccess;
  };
}

}  // namespace
}  // namespace simt

using namespace simt;

simtError_t simtMalloc(void** p, size_t bytes) {
  return call(unsafe, [&] {
    Address begin = 0;
    const Error error = p == nullptr || bytes == 0 ? simtErrorInvalidValue
                                                   : allocate(current_device(), bytes, begin);
    if (error == simtSuccess) *p = reinterpret_cast<void*>(begin);
    return error;
  });
}

// Waits for everything on the memory's device.
simtError_t simtFree(void* p) {
  return call(unsafe | waits, [&] {
    if (p == nullptr) return simtSuccess;
    const Allocation* live = find_live(address_of(p));
    if (live == nullptr || live->of_graph) return simtErrorInvalidValue;
    synchronise_device(live->device);
    release(address_of(p));
    return simtSuccess;
  });
}

simtError_t simtMallocHost(void** p, size_t bytes) {
  return call(unsafe, [&] {
    if (p == nullptr || bytes == 0) return simtErrorInvalidValue;
    std::unique_ptr<void, decltype(&std::free)> block(
        bytes > capacity ? nullptr : std::aligned_alloc(page, round_up(bytes, page)), &std::free);
    if (block == nullptr) return simtErrorMemoryAllocation;
    if (bytes <= poison_limit) std::memset(block.get(), poison, bytes);
    state().pinned[address_of(block.get())] = bytes;
    *p = block.release();
    return simtSuccess;
  });
}

simtError_t simtFreeHost(void* p) {
  return call(unsafe | waits, [&] {
    if (p == nullptr) return simtSuccess;
    if (state().pinned.count(address_of(p)) == 0) return simtErrorInvalidValue;
    for (int device = 0; device < state().device_count; ++device) synchronise_device(device);
    state().pinned.erase(address_of(p));
    std::free(p);
    return simtSuccess;
  });
}

simtError_t simtMallocAsync(void** p, size_t bytes, simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr) return error;
    if (p == nullptr || bytes == 0) return simtErrorInvalidValue;
    Address begin = 0;
    if ((error = allocate(stream->device, bytes, begin)) != simtSuccess) return error;
    Allocation& made = state().devices[stream->device].allocations[begin];
    made.usable = false;
    made.of_graph = stream->capture != nullptr;
    try {
      if (made.of_graph)
        stream->capture->recording->memory.reserve(stream->capture->recording->memory.size() + 1);
      error = submit(*stream, "stream-ordered allocation", change_usability(begin, true, false));
    } catch (const std::bad_alloc&) {
      error = simtErrorMemoryAllocation;
    }
    if (error != simtSuccess) {
      release(begin);
      return error;
    }
    if (made.of_graph) stream->capture->recording->memory.push_back(begin);
    *p = reinterpret_cast<void*>(begin);
    return simtSuccess;
  });
}

simtError_t simtFreeAsync(void* p, simtStream_t handle) {
  return call(plain, [&] {
    Error error = simtSuccess;
    simtStream* stream = find_stream(handle, error);
    if (stream == nullptr) return error;
    Allocation* live = find_live(address_of(p));
    if (live == nullptr || live->of_graph != (stream->capture != nullptr))
      return simtErrorInvalidValue;
    const bool of_graph = live->of_graph;
    Work work = change_usability(address_of(p), false, !of_graph);
    live->host_freed = true;
    try {
      return submit(*stream, "stream-ordered release", std::move(work));
    } catch (const std::bad_alloc&) {  // not enqueued: it is still the host's
      live->host_freed = false;
      throw;
    }
  });
}

simtError_t simtPointerGetAttributes(simtPointerAttributes* out, const void* p) {
  return call(plain, [&] {
    const Address address = address_of(p);
    *out = {simtMemoryTypeUnregistered, -1};
    const Allocation* found = find_allocation(address, 1);
    if (found != nullptr && !found->host_freed)
      *out = {simtMemoryTypeDevice, found->device};
    else if (is_pinned(address, 1))
      *out = {simtMemoryTypeHost, current_device()};
    return simtSuccess;
  });
}
