// Questions that only an emulator can answer: what was misused, what is still alive, how often the
// host has waited, what must fail next.
#pragma once

#include "simt_runtime.h"

// Each is one rule, recorded when it is broken. Those marked "fatal" also end the kernel and leave
// the device with an error that every later call returns, as a chip would.
enum SimtEmuRule {
  SIMT_EMU_BOUNDS = 0,    // fatal: outside a live allocation, or outside the block's shared memory
  SIMT_EMU_WRONG_DEVICE,  // fatal: memory of another device
  SIMT_EMU_HOST_ACCESS,   // fatal: memory of the host that is not pinned
  SIMT_EMU_MISALIGNED,    // fatal: an address that is no multiple of what is accessed
  SIMT_EMU_DIVERGENT_BARRIER,  // fatal: some threads wait, others have ended
  SIMT_EMU_SHARED_RACE,        // shared bytes of two threads with no barrier in between
  SIMT_EMU_GLOBAL_RACE,        // global bytes of two threads of one kernel, one of which writes
  SIMT_EMU_READ_BEFORE_WAIT,   // bytes of an asynchronous copy used before it was waited for
  SIMT_EMU_PENDING_AT_EXIT,    // a thread ended with such a copy in flight
  SIMT_EMU_EARLY_ACCESS,       // memory touched by an early launch that has not waited
  SIMT_EMU_STREAM_RACE,        // two operations share bytes and nothing orders them
  SIMT_EMU_AFTER_DESTROY,      // a stream, event or graph used after its destruction
  SIMT_EMU_RULES               // how many there are
};

struct SimtEmuStats {
  uint64_t launches, copies;          // executed since the last clear
  uint64_t waits;                     // calls in which the host waits for a device, or may
  uint64_t live_device, live_pinned;  // allocations, now
  uint64_t live_streams, live_events, live_graphs, live_execs;
};

extern "C" {
SIMT_EXPORT int simt_emu_violations();  // how many since the last clear
SIMT_EXPORT int simt_emu_violations_of(SimtEmuRule rule);
SIMT_EXPORT const char* simt_emu_violation(int index);  // in words; the first 64 are kept
SIMT_EXPORT void simt_emu_stats(SimtEmuStats* out);
SIMT_EXPORT void simt_emu_clear();              // forget violations, counts and planned failures
SIMT_EXPORT void simt_emu_seed(uint64_t seed);  // the order of streams, blocks and threads
SIMT_EXPORT void simt_emu_reset_device(int device);  // its error is forgotten

// Makes the n-th call from now fail (1: the next one; 0: none), or the n-th kernel fault while it
// runs.
SIMT_EXPORT void simt_emu_fail_call(int64_t n, simtError_t error);
SIMT_EXPORT void simt_emu_fail_kernel(int64_t n);
SIMT_EXPORT int64_t simt_emu_calls();  // since the last clear
}
