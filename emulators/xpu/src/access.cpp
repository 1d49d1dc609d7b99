// Every load and store of a kernel. Kernels are compiled with the compiler's memory-access hooks
// (-fsanitize=thread inserts the calls; no sanitizer runtime is linked), and the hooks land here.
#include <cstring>

#include "kernel.h"
#include "xpu/kernel/xtdk_simd.h"

namespace xpu_emu {
namespace {
void check_lm(Core& core, const uint8_t* p, size_t size, bool write) {
  const uint8_t* first = core.bytes.data() + (p - (core.stack + stack_size - window_size));
  uint8_t seen = 0;
  for (size_t i = 0; i < size; ++i) seen |= first[i];
  if (seen == 0) return;
  const int cluster = engine().cluster;
  if (!write && (seen & (arriving | vector_store)))
    violate(XPU_EMU_READ_BEFORE_FENCE, "core %d.%d reads %zu bytes of local memory in flight",
            cluster, core.id, size);
  if (write && (seen & (arriving | leaving)))
    violate(XPU_EMU_WRITE_BEFORE_FENCE, "core %d.%d writes %zu bytes of local memory in flight",
            cluster, core.id, size);
}

bool in_any_stack(const uint8_t* p) {
  for (const Core& core : engine().cores)
    if (core.stack && p >= core.stack && p < core.stack + stack_size) return true;
  return false;
}
}  // namespace

void check_shared(Core& core, uint8_t* p, size_t size, bool write) {
  Engine& e = engine();
  const auto id = static_cast<uint8_t>(core.id);
  uint8_t seen = 0;
  bool race = false;
  for (size_t i = 0; i < size; ++i) {
    SharedByte& byte = e.shared_bytes[p - e.shared + i];
    seen |= byte.state;
    race |= byte.written == e.epoch && byte.writer != id;
    if (write) {
      race |= byte.read == e.epoch && byte.reader != id;
      byte.written = e.epoch;
      byte.writer = id;
    } else {
      byte.reader = byte.read == e.epoch && byte.reader != id ? many_readers : id;
      byte.read = e.epoch;
    }
  }
  if (race)
    violate(XPU_EMU_SHARED_RACE,
            "core %d.%d %s shared memory that another core used, no barrier "
            "in between",
            e.cluster, core.id, write ? "writes" : "reads");
  if ((seen & arriving) || (write && (seen & leaving)))
    violate(write ? XPU_EMU_WRITE_BEFORE_FENCE : XPU_EMU_READ_BEFORE_FENCE,
            "core %d.%d uses %zu bytes of shared memory in flight", e.cluster, core.id, size);
}

void check_access(const void* pointer, size_t size, bool write) {
  Core* const core = current_core();
  if (!core) return;  // host code in a kernel's source file
  Engine& e = engine();
  auto* p = static_cast<uint8_t*>(const_cast<void*>(pointer));
  if (p >= core->stack && p < core->stack + stack_size) {
    if (p >= core->stack + stack_size - window_size) check_lm(*core, p, size, write);
    return;
  }
  if (p >= e.shared && p + size <= e.shared_end) return check_shared(*core, p, size, write);
  if (is_device_address(p)) {
    violate(XPU_EMU_SCALAR_GLOBAL, "core %d.%d %s global memory without DMA", e.cluster, core->id,
            write ? "writes" : "reads");
    fault();
  }
  if (in_any_stack(p)) {
    violate(XPU_EMU_WRONG_SPACE, "core %d.%d uses the local memory of another core", e.cluster,
            core->id);
  } else if (write) {
    violate(XPU_EMU_HOST_ACCESS, "core %d.%d writes to %p, which is no memory of the chip",
            e.cluster, core->id, pointer);
  }
}
}  // namespace xpu_emu

using namespace xpu_emu;

namespace {
constexpr int vector_bytes = 64;

void check_aligned(const void* p) {
  if (reinterpret_cast<uintptr_t>(p) % vector_bytes == 0) return;
  violate(XPU_EMU_UNALIGNED_SIMD, "core %d.%d: vector access at %p", engine().cluster, core_id(),
          p);
  fault();
}
// The states of 64 bytes of local memory; null when p is elsewhere.
uint8_t* local_states(Core& core, const void* p) {
  const auto* byte = static_cast<const uint8_t*>(p);
  const uint8_t* const window = core.stack + stack_size - window_size;
  return byte >= window && byte < window + window_size ? &core.bytes[byte - window] : nullptr;
}
}  // namespace

// A vector load sees earlier vector stores; a scalar load needs a fence of local memory first.
void xpu_emu_vector_load(void* lanes, const void* p) {
  check_aligned(p);
  uint8_t kept[vector_bytes];
  uint8_t* const states = local_states(*current_core(), p);
  if (states) std::memcpy(kept, states, vector_bytes);
  for (int i = 0; states && i < vector_bytes; ++i) states[i] &= ~vector_store;
  check_access(p, vector_bytes, false);
  if (states) std::memcpy(states, kept, vector_bytes);
  std::memcpy(lanes, p, vector_bytes);
}

void xpu_emu_vector_store(void* p, const void* lanes) {
  check_aligned(p);
  check_access(p, vector_bytes, true);
  std::memcpy(p, lanes, vector_bytes);
  Core& core = *current_core();
  uint8_t* const states = local_states(core, p);
  for (int i = 0; states && i < vector_bytes; ++i) states[i] |= vector_store;
  if (states) core.vector_stores.emplace_back(static_cast<uint8_t*>(p), vector_bytes);
}

// The hooks. Only kernels are compiled with them; under a real thread sanitizer there are none.
#ifndef XPU_EMU_NO_HOOKS
extern "C" {
#define XPU_EMU_HOOK(size)                                                                   \
  XPU_DLL_EXPORT void __tsan_read##size(void* p) { check_access(p, size, false); }           \
  XPU_DLL_EXPORT void __tsan_write##size(void* p) { check_access(p, size, true); }           \
  XPU_DLL_EXPORT void __tsan_unaligned_read##size(void* p) { check_access(p, size, false); } \
  XPU_DLL_EXPORT void __tsan_unaligned_write##size(void* p) { check_access(p, size, true); } \
  XPU_DLL_EXPORT void __tsan_volatile_read##size(void* p) { check_access(p, size, false); }  \
  XPU_DLL_EXPORT void __tsan_volatile_write##size(void* p) { check_access(p, size, true); }
XPU_EMU_HOOK(1)
XPU_EMU_HOOK(2)
XPU_EMU_HOOK(4)
XPU_EMU_HOOK(8)
XPU_EMU_HOOK(16)
#undef XPU_EMU_HOOK
XPU_DLL_EXPORT void __tsan_read_range(void* p, size_t size) { check_access(p, size, false); }
XPU_DLL_EXPORT void __tsan_write_range(void* p, size_t size) { check_access(p, size, true); }
XPU_DLL_EXPORT void __tsan_init(void) {}
XPU_DLL_EXPORT void __tsan_func_entry(void*) {}
XPU_DLL_EXPORT void __tsan_func_exit(void) {}
XPU_DLL_EXPORT void* __tsan_memcpy(void* dst, const void* src, size_t size) {
  check_access(src, size, false);
  check_access(dst, size, true);
  return std::memcpy(dst, src, size);
}
XPU_DLL_EXPORT void* __tsan_memset(void* dst, int value, size_t size) {
  check_access(dst, size, true);
  return std::memset(dst, value, size);
}
}
#endif
