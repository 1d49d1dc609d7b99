// What only the emulator has: a record of broken rules, counters of the paths taken, live objects,
// and faults on demand. Environment, read once at aclInit or at the first call here:
//   CANN_EMULATOR_DEVICES=n              number of devices (default 2)
//   CANN_EMULATOR_MEMORY_MB=n            memory of each device (default 4096)
//   CANN_EMULATOR_FAIL_CALL=n            fail the n-th call that can fail
//   CANN_EMULATOR_REFUSE_REPEATABLE=1    no executor becomes repeatable
//   CANN_EMULATOR_REFUSE_GAPPED=1        operators refuse sources with gaps (561103)
//   CANN_EMULATOR_STRICT=1               a process that broke a rule exits with 86 and names it
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#define CANN_EMULATOR_API __attribute__((visibility("default")))

namespace cann_emulator {

// The rules of the interface. Breaking one is recorded, whether or not the chip would have noticed.
enum class Rule {
  initialised,             // aclInit comes first
  context,                 // the thread has chosen a device
  ownership,               // stream, event and memory belong to the device in use
  live_handle,             // the handle exists (not freed, not invented)
  pointer_class,           // memcpy kind agrees with what the pointers are
  capacity,                // destMax covers count and does not exceed what was allocated
  null_free,               // aclrtFree(NULL)
  empty_allocation,        // aclrtMalloc(0)
  free_in_flight,          // memory freed while queued work uses it
  unsynchronised,          // a blocking copy touches memory that queued work still uses
  race,                    // work of two streams on the same bytes, in no order
  out_of_bounds,           // an access outside live device memory
  red_zone,                // bytes behind an allocation were overwritten
  tensor_layout,           // rank > 8, negative stride or size
  storage_coverage,        // the storage shape does not cover the view
  alignment,               // an address that is not 32-byte aligned
  executor_reuse,          // a one-shot executor used twice, or a foreign second phase
  address_between_phases,  // an address changed between the phases
  workspace,               // NULL, too small, misplaced or overlapping workspace
  dtype,                   // a type outside the operator's list
  shape,                   // shapes that do not fit together
  aliasing,                // an operator reads what it writes
  event,                   // an event used against its flags or before it was recorded
};
CANN_EMULATOR_API const char* name(Rule rule);

struct Violation {
  Rule rule;
  std::string call;
  std::string detail;
};
CANN_EMULATOR_API std::vector<Violation> violations();
CANN_EMULATOR_API void clear_violations();

// How the work was done. The source side counts what Contiguous does, the destination side what
// ViewCopy does.
struct Counters {
  uint64_t copies, copies_2d, memsets;  // engine copies
  uint64_t source_direct, source_broadcast, source_transpose, source_slice, source_strided_slice,
      source_as_strided;
  uint64_t source_ai_cpu;
  uint64_t tensor_move, transpose, ai_core, ai_cpu;  // destination paths
  uint64_t flips, matmuls;
  uint64_t executors, repeatable_granted, repeatable_runs;
};
CANN_EMULATOR_API Counters counters();
CANN_EMULATOR_API void reset_counters();

// Objects that exist now. Everything zero after a clean run, but for contexts of threads that still
// hold a device.
struct Live {
  size_t device_blocks, device_bytes, host_blocks, streams, events, tensors, arrays, executors,
      queued_tasks;
  bool empty() const {
    return !(device_blocks | host_blocks | streams | events | tensors | arrays | executors |
             queued_tasks);
  }
};
CANN_EMULATOR_API Live live();

// Calls that can fail are counted; releases are not, so that a failed call never forces a leak.
CANN_EMULATOR_API void fail_call(uint64_t nth_from_now);  // 0 disarms
CANN_EMULATOR_API bool fault_fired();                     // since the last fail_call
CANN_EMULATOR_API void refuse_repeatable(bool on);
CANN_EMULATOR_API void refuse_gapped_sources(bool on);

// The host's view of emulated device memory, or null: for tests that inspect or corrupt it.
CANN_EMULATOR_API void* host_view(const void* device_address);

}  // namespace cann_emulator
