// Questions that only an emulator can answer: what was misused, what leaked, what must fail next.
// The header exists only here, so including it is also how a program knows that the XPU is
// emulated.
#pragma once
#include "xpu/defs.h"

// Each kind is one rule. Rules are recorded when broken; those marked "fatal" also stop the kernel
// with XPUERR_KEXCEPTION, as the chip would.
enum XpuEmuRule {
  XPU_EMU_BOUNDS = 0,          // fatal: DMA outside a live allocation, LM or SM
  XPU_EMU_DMA_SIZE,            // fatal: size <= 0 or more than the memory it goes to
  XPU_EMU_WRONG_SPACE,         // fatal: an address of another space, core or device
  XPU_EMU_SCALAR_GLOBAL,       // fatal: p[i] on global memory (legal on the chip, but very slow)
  XPU_EMU_READ_BEFORE_FENCE,   // local memory read while a DMA into it is pending
  XPU_EMU_WRITE_BEFORE_FENCE,  // local memory written while a DMA from or into it is pending
  XPU_EMU_SHARED_RACE,         // SM bytes of two cores with no barrier in between
  XPU_EMU_GLOBAL_RACE,         // GM bytes of two cores with no fence + barrier in between
  XPU_EMU_DIVERGENT_BARRIER,   // fatal: some cores wait, others have left
  XPU_EMU_LM_BUDGET,           // more than 6 KB of LM for data, or 8 KB with the stack
  XPU_EMU_SM_BUDGET,           // fatal: more than 256 KB of SM
  XPU_EMU_UNALIGNED_SIMD,      // fatal: vector access that is not 64-byte aligned
  XPU_EMU_PENDING_AT_EXIT,     // a core ended with a DMA that no fence has awaited
  XPU_EMU_STREAM_RACE,         // two operations touch the same bytes, nothing orders them
  XPU_EMU_HOST_SOURCE,         // host bytes of an asynchronous copy changed before it ran
  XPU_EMU_FREED_IN_USE,        // memory freed while enqueued work still names it
  XPU_EMU_HOST_ACCESS,         // a kernel wrote to memory that is no memory of the chip
  XPU_EMU_RULES                // how many there are
};

struct XpuEmuStats {
  uint64_t launches, dma_count, dma_bytes;  // since the last xpu_emu_clear()
  uint64_t live_allocations, live_host, live_streams, live_events;  // now: leaks at the end
};

extern "C" {
XPU_DLL_EXPORT int xpu_emu_violations(void);  // how many since the last clear
XPU_DLL_EXPORT int xpu_emu_violations_of(XpuEmuRule rule);
XPU_DLL_EXPORT const char* xpu_emu_violation(int index);  // in words; the first 64 are kept
XPU_DLL_EXPORT void xpu_emu_stats(XpuEmuStats* out);
XPU_DLL_EXPORT void xpu_emu_clear(void);  // forget violations and counts

XPU_DLL_EXPORT void xpu_emu_seed(uint64_t seed);            // order of streams, clusters and cores
XPU_DLL_EXPORT void xpu_emu_read_sources_early(int early);  // async H2D snapshots its source
XPU_DLL_EXPORT void xpu_emu_reset_device(int device);  // what `xpu-smi -r` does: abnormal no more
XPU_DLL_EXPORT void xpu_emu_limit_memory(uint64_t bytes);  // HBM capacity; 0: the default

// Makes the n-th fallible call from now fail (1 = the next one; 0 = none), or the n-th kernel
// fault.
XPU_DLL_EXPORT void xpu_emu_fail_call(int64_t n);
XPU_DLL_EXPORT void xpu_emu_fail_kernel(int64_t n);
XPU_DLL_EXPORT int64_t xpu_emu_calls(void);  // fallible calls since the last clear
}
