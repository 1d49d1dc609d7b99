// Device and pinned memory. A device address lies in a range that the host cannot touch
// (PROT_NONE), so a client that dereferences one stops at once; new memory is poisoned and has a
// red zone behind it.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "state.h"

namespace cann_emulator {
namespace {

constexpr unsigned char poison = 0xDB;
constexpr unsigned char red = 0xA5;
constexpr size_t red_zone = 32;
constexpr uint64_t address_step = 64;

bool reserve_addresses(State& s) {
  for (uint64_t size = uint64_t{1} << 39; !s.arena_end && size >= (uint64_t{1} << 33); size >>= 1) {
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    s.arena_begin = s.arena_next = address_of(p);
    s.arena_end = s.arena_begin + size;
  }
  return s.arena_end != 0;
}

// Addresses are handed out in ascending order, 64-byte but never 128-byte aligned, and reused only
// after a full round.
uint64_t place(State& s, size_t bytes) {
  uint64_t span = (bytes + 4 * address_step - 1) / (2 * address_step) * (2 * address_step);
  for (int round = 0; round < 2; ++round) {
    uint64_t base = s.arena_next | address_step;
    auto next = s.blocks.lower_bound(base);
    if (next != s.blocks.begin()) {
      auto before = std::prev(next);
      uint64_t end = before->first + before->second.bytes.size();
      base =
          std::max(base, ((end + 2 * address_step - 1) & ~(2 * address_step - 1)) | address_step);
    }
    while (next != s.blocks.end() && next->first < base + span) {
      uint64_t end = next->first + next->second.bytes.size();
      base = ((end + 2 * address_step - 1) & ~(2 * address_step - 1)) | address_step;
      ++next;
    }
    if (base + span <= s.arena_end) {
      s.arena_next = (base + span) & ~(2 * address_step - 1);
      return base;
    }
    s.arena_next = s.arena_begin;
  }
  return 0;
}

aclError allocate(Call& call, void** p, size_t size, size_t slack) {
  if (int code = call.require_context()) return code;
  if (!p) return call.refused(ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
  if (size == 0) return call.broken(Rule::empty_allocation, ACL_ERROR_INVALID_PARAM, "size is 0");
  if (call.must_fail()) return ACL_ERROR_RT_DEVICE_OOM;
  State& s = call.s;
  Device& device = s.devices[current_device()];
  if (size > s.memory_per_device || device.used > s.memory_per_device - size ||
      !reserve_addresses(s))
    return call.refused(ACL_ERROR_RT_DEVICE_OOM, size, " bytes asked, ",
                        s.memory_per_device - device.used, " free");
  size_t usable = (size + 31) / 32 * 32 + slack;
  uint64_t base = place(s, usable + red_zone);
  if (!base) return call.refused(ACL_ERROR_RT_DEVICE_OOM, "no address range of ", size, " bytes");
  Block block{current_device(), size, {}};
  try {
    block.bytes.assign(usable + red_zone, poison);
  } catch (const std::bad_alloc&) {
    return call.refused(ACL_ERROR_RT_DEVICE_OOM, "the host has no ", size, " bytes");
  }
  std::fill(block.bytes.begin() + static_cast<ptrdiff_t>(size), block.bytes.end(), red);
  s.blocks.emplace(base, std::move(block));
  device.used += size;
  *p = handle_of<void*>(base);
  return ACL_SUCCESS;
}

bool red_zone_intact(const Block& block) {
  return std::all_of(block.bytes.begin() + static_cast<ptrdiff_t>(block.size), block.bytes.end(),
                     [](unsigned char byte) { return byte == red; });
}

}  // namespace

Block* find_block(State& s, uint64_t address, uint64_t* base) {
  auto it = s.blocks.upper_bound(address);
  if (it == s.blocks.begin()) return nullptr;
  --it;
  if (address >= it->first + it->second.size) return nullptr;
  if (base) *base = it->first;
  return &it->second;
}

unsigned char* device_bytes(State& s, uint64_t address, size_t size, int device) {
  uint64_t base = 0;
  Block* block = find_block(s, address, &base);
  if (!block || block->device != device || size > block->size - (address - base)) return nullptr;
  return block->bytes.data() + (address - base);
}

Place place_of(State& s, const void* p) {
  uint64_t address = address_of(p);
  if (s.arena_end && address >= s.arena_begin && address < s.arena_end) return Place::device;
  auto it = s.host_blocks.upper_bound(address);
  if (it == s.host_blocks.begin()) return Place::pageable;
  --it;
  return address < it->first + it->second.size ? Place::pinned : Place::pageable;
}

bool check_red_zones(Call& call) {
  bool intact = true;
  for (auto& [base, block] : call.s.blocks)
    if (!red_zone_intact(block)) {
      call.broken(Rule::red_zone, 0, "bytes behind the allocation of ", block.size,
                  " were written");
      std::fill(block.bytes.begin() + static_cast<ptrdiff_t>(block.size), block.bytes.end(), red);
      intact = false;
    }
  return intact;
}

}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclError aclrtMalloc(void** p, size_t size, aclrtMemMallocPolicy) {
  return answer("aclrtMalloc", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return allocate(call, p, size, 32); });
}

aclError aclrtMallocAlign32(void** p, size_t size, aclrtMemMallocPolicy) {
  return answer("aclrtMallocAlign32", ACL_ERROR_BAD_ALLOC,
                [&](Call& call) -> int { return allocate(call, p, size, 0); });
}

aclError aclrtFree(void* p) {
  return answer("aclrtFree", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    if (!p) return call.broken(Rule::null_free, ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
    auto it = call.s.blocks.find(address_of(p));
    if (it == call.s.blocks.end())
      return call.broken(Rule::live_handle, ACL_ERROR_RT_PARAM_INVALID,
                         "not the start of a live allocation: ", p);
    if (it->second.device != current_device())
      return call.broken(Rule::ownership, ACL_ERROR_RT_PARAM_INVALID, "memory of device ",
                         it->second.device);
    if (in_flight(call.s, it->first, it->first + it->second.size, true))
      return call.broken(Rule::free_in_flight, ACL_ERROR_RT_INTERNAL_ERROR, it->second.size,
                         " bytes are in use by queued work");
    if (!red_zone_intact(it->second))
      call.broken(Rule::red_zone, 0, "bytes behind the allocation were written");
    call.s.devices[it->second.device].used -= it->second.size;
    call.s.blocks.erase(it);
    return ACL_SUCCESS;
  });
}

aclError aclrtMallocHost(void** p, size_t size) {
  return answer("aclrtMallocHost", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    if (!p) return call.refused(ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
    if (size == 0) return call.broken(Rule::empty_allocation, ACL_ERROR_INVALID_PARAM, "size is 0");
    if (call.must_fail()) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    std::unique_ptr<unsigned char[]> bytes(new (std::nothrow) unsigned char[size]);
    if (!bytes)
      return call.refused(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no ", size, " bytes");
    std::memset(bytes.get(), poison, size);
    unsigned char* const begin = bytes.get();
    call.s.host_blocks[address_of(begin)] = {size, std::move(bytes)};
    *p = begin;
    return ACL_SUCCESS;
  });
}

aclError aclrtFreeHost(void* p) {
  return answer("aclrtFreeHost", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (!p) return call.broken(Rule::null_free, ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
    auto it = call.s.host_blocks.find(address_of(p));
    if (it == call.s.host_blocks.end())
      return call.broken(Rule::live_handle, ACL_ERROR_RT_PARAM_INVALID, "not pinned memory: ", p);
    if (in_flight(call.s, it->first, it->first + it->second.size, true))
      return call.broken(Rule::free_in_flight, ACL_ERROR_RT_INTERNAL_ERROR, it->second.size,
                         " pinned bytes are in use by queued work");
    call.s.host_blocks.erase(it);
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  return answer("aclrtGetMemInfo", ACL_ERROR_BAD_ALLOC, [&](Call& call) -> int {
    if (int code = call.require_context()) return code;
    if (!free || !total) return call.refused(ACL_ERROR_INVALID_PARAM, "free or total is NULL");
    if (call.must_fail()) return ACL_ERROR_RT_INTERNAL_ERROR;
    *total = call.s.memory_per_device;
    *free = *total - call.s.devices[current_device()].used;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
