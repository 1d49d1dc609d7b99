// DMA: nothing lands before its fence, nothing that is in flight may be touched, everything is
// checked against live allocations and logged for the race check at the end of the kernel.
#include <algorithm>
#include <cstring>

#include "kernel.h"
#include "xpu/kernel/xtdk.h"

namespace xpu_emu {
namespace {
constexpr uint32_t not_yet = UINT32_MAX;

uint64_t checksum(const uint8_t* bytes, int size) {
  uint64_t hash = 14695981039346656037ull;
  for (int i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

const char* name(const Dma& dma) {
  if (dma.side == lm) return dma.in ? "GM2LM" : "LM2GM";
  return dma.in ? "GM2SM" : "SM2GM";
}

bool in_window(const Core& core, const uint8_t* p, size_t size) {
  return p >= core.stack + stack_size - window_size && p + size <= core.stack + stack_size;
}
size_t window_index(const Core& core, const uint8_t* p) {
  return static_cast<size_t>(p - (core.stack + stack_size - window_size));
}

void check_global(const Core& core, const Dma& dma) {
  const Engine& e = engine();
  const bool device = is_device_address(reinterpret_cast<void*>(dma.global));
  if (!device || device_of(dma.global) != e.launch->device) {
    violate(XPU_EMU_WRONG_SPACE, "%s by core %d.%d: %p is no global address of this device",
            name(dma), e.cluster, core.id, reinterpret_cast<void*>(dma.global));
    fault();
  }
  if (find_allocation(dma.global, dma.size)) return;
  violate(XPU_EMU_BOUNDS, "%s by core %d.%d: %d bytes at %p lie in no live allocation", name(dma),
          e.cluster, core.id, dma.size, reinterpret_cast<void*>(dma.global));
  fault();
}

void check_local(const Core& core, const Dma& dma) {
  const Engine& e = engine();
  const bool valid = dma.side == lm ? in_window(core, dma.local, dma.size)
                                    : dma.local >= e.shared && dma.local + dma.size <= e.shared_end;
  if (valid) return;
  violate(XPU_EMU_WRONG_SPACE, "%s by core %d.%d: %d bytes at %p are not its %s", name(dma),
          e.cluster, core.id, dma.size, static_cast<void*>(dma.local),
          dma.side == lm ? "local memory" : "shared memory");
  fault();
}

// Data may take 6 KB of the local memory; data and frames together 8 KB.
void check_budget(Core& core, const Dma& dma) {
  if (dma.side == lm) {
    const size_t begin = window_index(core, dma.local), end = begin + dma.size;
    core.used_begin = std::min(core.used_begin, begin);
    core.used_end = std::max(core.used_end, end);
    for (size_t i = begin; i < end; ++i) core.data_bytes += !core.used[i], core.used[i] = 1;
  }
#ifdef XPU_EMU_NO_HOOKS
  const size_t depth = 0;  // a sanitizer's frames are not those of the kernel
#else
  const size_t depth = core.top - static_cast<uint8_t*>(__builtin_frame_address(0));
#endif
  if (core.told_budget || (core.data_bytes <= lm_budget && depth <= lm_size)) return;
  core.told_budget = true;
  violate(XPU_EMU_LM_BUDGET,
          "core %d.%d: %zu bytes of data (limit %zu), %zu with frames (limit %zu)",
          engine().cluster, core.id, core.data_bytes, lm_budget, depth, lm_size);
}

// A core's own copies in flight have no order among themselves.
void check_flights(const Core& core, const Dma& dma) {
  for (const Dma& other : core.pending) {
    const bool same_global = dma.global < other.global + other.size &&
                             other.global < dma.global + dma.size && !other.global_done;
    if (!same_global || (dma.in && other.in)) continue;
    violate(dma.in ? XPU_EMU_READ_BEFORE_FENCE : XPU_EMU_WRITE_BEFORE_FENCE,
            "core %d.%d: %s and a pending %s share global bytes", engine().cluster, core.id,
            name(dma), name(other));
  }
}

void mark(Core& core, const Dma& dma, bool on) {
  const uint8_t flag = dma.in ? arriving : leaving;
  Engine& e = engine();
  for (int i = 0; i < dma.size; ++i) {
    uint8_t& byte = dma.side == lm ? core.bytes[window_index(core, dma.local) + i]
                                   : e.shared_bytes[dma.local - e.shared + i].state;
    byte = on ? byte | flag : byte & ~flag;
  }
}

void move_bytes(Core& core, Dma& dma) {
  if (checksum(dma.local, dma.size) != dma.checksum)
    violate(XPU_EMU_WRITE_BEFORE_FENCE, "core %d.%d: %s, its %d local bytes changed in flight",
            engine().cluster, core.id, name(dma), dma.size);
  if (dma.in)
    std::memcpy(dma.local, backing(dma.global), dma.size);
  else
    std::memcpy(backing(dma.global), dma.local, dma.size);
}

GlobalAccess& logged(const Dma& dma) {
  return dma.in ? engine().reads[dma.log] : engine().writes[dma.log];
}

// A copy into LM or SM is done by a fence of that memory. A copy out of it: that fence frees the
// source, a fence of global memory makes the bytes visible to others; either makes them move.
void land(Core& core, Dma& dma, int mask) {
  const bool local = mask & dma.side, global = dma.in ? local : (mask & gm) != 0;
  if ((local || global) && !dma.local_done && !dma.global_done) move_bytes(core, dma);
  if (local && !dma.local_done) {
    dma.local_done = true;
    mark(core, dma, false);
    if (dma.side == sm) {
      Engine& e = engine();
      for (int i = 0; i < dma.size; ++i) {
        SharedByte& byte = e.shared_bytes[dma.local - e.shared + i];
        if (dma.in) byte.written = e.epoch, byte.writer = static_cast<uint8_t>(core.id);
      }
    }
  }
  if (global && !dma.global_done) {
    dma.global_done = true;
    logged(dma).visible = engine().epoch;
  }
}

void start(Dma dma, bool async) {
  Engine& e = engine();
  if (!current_core()) return violate(XPU_EMU_WRONG_SPACE, "%s outside of a kernel", name(dma));
  Core& core = *current_core();
  if (dma.size <= 0 || static_cast<size_t>(dma.size) > (dma.side == lm ? lm_size : sm_size)) {
    violate(XPU_EMU_DMA_SIZE, "%s by core %d.%d of %d bytes", name(dma), e.cluster, core.id,
            dma.size);
    fault();
  }
  check_global(core, dma);
  check_local(core, dma);
  check_budget(core, dma);
  check_flights(core, dma);
  check_access(dma.local, dma.size, dma.in);
  ++state().stats.dma_count;
  state().stats.dma_bytes += dma.size;
  auto& log = dma.in ? e.reads : e.writes;
  dma.log = log.size();
  log.push_back({dma.global, dma.global + dma.size, e.cluster, core.id, e.epoch, not_yet});
  if (dma.in)  // garbage until it lands
    std::memset(dma.local, static_cast<int>(0xC0 | (e.draw() & 31)), dma.size);
  dma.checksum = checksum(dma.local, dma.size);
  mark(core, dma, true);
  if (async) return core.pending.push_back(dma);
  land(core, dma, lm | sm | gm);
}

void settle_vector_stores(Core& core) {
  for (auto [p, size] : core.vector_stores)
    for (int i = 0; i < size; ++i) core.bytes[window_index(core, p) + i] &= ~vector_store;
  core.vector_stores.clear();
}

void fence(int mask) {
  Core& core = *current_core();
  for (Dma& dma : core.pending) land(core, dma, mask);
  std::erase_if(core.pending, [](const Dma& dma) { return dma.local_done && dma.global_done; });
  if (mask & lm) settle_vector_stores(core);
  if (engine().draw() % 4 == 0) yield_core();
}

bool ordered(const GlobalAccess& a, const GlobalAccess& b) {
  if (a.cluster != b.cluster) return false;
  return a.core == b.core || a.visible < b.issued || b.visible < a.issued;
}

void tell_race(const GlobalAccess& a, const GlobalAccess& b, const char* what) {
  violate(XPU_EMU_GLOBAL_RACE, "%s: core %d.%d and core %d.%d share byte %p", what, a.cluster,
          a.core, b.cluster, b.core, reinterpret_cast<void*>(std::max(a.begin, b.begin)));
}
}  // namespace

// A core ends: what is still in flight completes, but nobody has waited for it.
void finish_core(Core& core) {
  for (Dma& dma : core.pending) {
    if (!dma.local_done)
      violate(XPU_EMU_PENDING_AT_EXIT, "core %d.%d ended with a pending %s of %d bytes",
              engine().cluster, core.id, name(dma), dma.size);
    dma.checksum = checksum(dma.local, dma.size);  // its frame is gone, what it held is anybody's
    land(core, dma, lm | sm | gm);
  }
  core.pending.clear();
  settle_vector_stores(core);
}

// Law: bytes that a core writes are touched by no other core, unless a fence of the first and a
// barrier of both stand in between. Clusters have no common barrier.
void check_global_races(Engine& e) {
  auto by_begin = [](const GlobalAccess& a, const GlobalAccess& b) { return a.begin < b.begin; };
  auto writes = e.writes;
  std::sort(writes.begin(), writes.end(), by_begin);
  std::vector<Address> reach(writes.size());  // the furthest end of this write and all before it
  Address furthest = 0;
  for (size_t i = 0; i < writes.size(); ++i) {
    for (size_t j = i; j-- > 0 && reach[j] > writes[i].begin;)
      if (writes[j].end > writes[i].begin && !ordered(writes[j], writes[i]))
        tell_race(writes[j], writes[i], "written twice");
    reach[i] = furthest = std::max(furthest, writes[i].end);
  }
  for (const auto& read : e.reads) {
    auto after = std::partition_point(writes.begin(), writes.end(), [&](const GlobalAccess& write) {
      return write.begin < read.end;
    });
    for (size_t j = after - writes.begin(); j-- > 0 && reach[j] > read.begin;)
      if (writes[j].end > read.begin && !ordered(writes[j], read))
        tell_race(writes[j], read, "written and read");
  }
}
}  // namespace xpu_emu

using namespace xpu_emu;

namespace {
Dma make(Memory side, bool in, const void* global, const void* local, int size) {
  return {side,
          in,
          reinterpret_cast<Address>(global),
          static_cast<uint8_t*>(const_cast<void*>(local)),
          size,
          0,
          0};
}
}  // namespace

void GM2LM(const void* src, void* dst, int size) { start(make(lm, true, src, dst, size), false); }
void GM2LM_ASYNC(const void* src, void* dst, int size) {
  start(make(lm, true, src, dst, size), true);
}
void LM2GM(const void* src, void* dst, int size) { start(make(lm, false, dst, src, size), false); }
void LM2GM_ASYNC(const void* src, void* dst, int size) {
  start(make(lm, false, dst, src, size), true);
}
void GM2SM(const void* src, void* dst, int size) { start(make(sm, true, src, dst, size), false); }
void GM2SM_ASYNC(const void* src, void* dst, int size) {
  start(make(sm, true, src, dst, size), true);
}
void SM2GM(const void* src, void* dst, int size) { start(make(sm, false, dst, src, size), false); }
void SM2GM_ASYNC(const void* src, void* dst, int size) {
  start(make(sm, false, dst, src, size), true);
}

void mfence() { fence(lm | sm | gm); }
void mfence_lm() { fence(lm); }
void mfence_sm() { fence(sm); }
void mfence_gm() { fence(gm); }
void mfence_lm_sm() { fence(lm | sm); }
void mfence_lm_gm() { fence(lm | gm); }
void mfence_sm_gm() { fence(sm | gm); }
