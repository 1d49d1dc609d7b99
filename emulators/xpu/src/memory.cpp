// Device memory: addresses that the host cannot follow, with a private view behind them.
// Each device owns a span of a PROT_NONE reservation; its bytes live in a second mapping.
#include <sys/mman.h>

#include <cstring>

#include "state.h"

namespace xpu_emu {
namespace {
using emulators::find_gap, emulators::round_up;
constexpr uint64_t gap = 1 << 20;  // between HBM and L3, so that no overrun joins them
constexpr uint64_t device_span = hbm_capacity + gap + l3_capacity + gap;
constexpr uint64_t poison_limit = 16 << 20;
constexpr int poison = 0xCB;

struct Arena {
  Address addresses;
  uint8_t* bytes;
  Arena() {
    const size_t size = device_span * device_count;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* unreachable = mmap(nullptr, size, PROT_NONE, flags, -1, 0);
    void* view = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    const bool failed = unreachable == MAP_FAILED || view == MAP_FAILED;
    addresses = failed ? 0 : reinterpret_cast<Address>(unreachable);
    bytes = failed ? nullptr : static_cast<uint8_t*>(view);
  }
};
const Arena& arena() {
  static const Arena instance;
  return instance;
}

Address region_begin(int device, int kind) {
  return arena().addresses + device * device_span + (kind == XPU_MEM_L3 ? hbm_capacity + gap : 0);
}
uint64_t region_size(int kind) { return kind == XPU_MEM_L3 ? l3_capacity : hbm_capacity; }

}  // namespace

bool is_device_address(const void* p) {
  const Address address = reinterpret_cast<Address>(p);
  return address >= arena().addresses && address < arena().addresses + device_span * device_count;
}
int device_of(Address address) {
  return static_cast<int>((address - arena().addresses) / device_span);
}
uint8_t* backing(Address address) { return arena().bytes + (address - arena().addresses); }

const Allocation* find_allocation(Address address, uint64_t size) {
  if (!is_device_address(reinterpret_cast<void*>(address))) return nullptr;
  const auto& all = state().devices[device_of(address)].allocations;
  auto next = all.upper_bound(address);
  if (next == all.begin()) return nullptr;
  const Allocation& found = std::prev(next)->second;
  const uint64_t offset = address - found.begin;
  return offset <= found.size && size <= found.size - offset ? &found : nullptr;
}

int allocate(int device_id, XPUMemoryKind kind, uint64_t size, void** out) {
  Device& device = state().devices[device_id];
  const uint64_t limit = kind == XPU_MEM_L3 ? l3_capacity : state().hbm_limit;
  if (!arena().bytes || size > limit || device.used[kind] + size > limit) return XPUERR_NOMEM;
  const Address begin = region_begin(device_id, kind), end = begin + region_size(kind);
  Address& cursor = device.cursor[kind];
  Address found = find_gap(device.allocations, std::max(cursor, begin), end, size);
  if (!found) found = find_gap(device.allocations, begin, end, size);
  if (!found) return XPUERR_NOMEM;
  cursor = found + size;
  device.used[kind] += size;
  device.allocations[found] = {found, size, device_id};
  if (size <= poison_limit) std::memset(backing(found), poison, size);
  *out = reinterpret_cast<void*>(found);
  return 0;
}

int release(void* p) {
  const Address address = reinterpret_cast<Address>(p);
  if (!is_device_address(p)) return XPUERR_INVALID_PARAM;
  Device& device = state().devices[device_of(address)];
  auto found = device.allocations.find(address);
  if (found == device.allocations.end()) return XPUERR_INVALID_PARAM;
  const Address l3 = region_begin(device_of(address), XPU_MEM_L3);
  device.used[address >= l3 ? XPU_MEM_L3 : XPU_MEM_HBM] -= found->second.size;
  const Address page = round_up(address, 4096), end = address + found->second.size;
  if (page < end) madvise(backing(page), (end - page) / 4096 * 4096, MADV_DONTNEED);
  device.allocations.erase(found);
  return 0;
}
}  // namespace xpu_emu
