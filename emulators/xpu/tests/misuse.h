// One kernel per rule of the chip, each breaking exactly that rule, and the right way beside it.
#pragma once
#include "xpu/runtime.h"

enum class Misuse : int32_t {
  none,         // doubles n floats, properly
  none_shared,  // reverses 64 floats through shared memory, properly
  read_before_fence,
  write_arriving,
  overwrite_leaving,
  barrier_for_fence,
  wrong_fence,
  shared_no_barrier,
  shared_no_fence,
  shared_reuse_no_barrier,
  written_twice,
  read_other_core,
  read_other_core_after_barrier,
  read_own_write_in_flight,
  divergent_barrier,
  out_of_bounds,
  size_zero,
  size_too_large,
  host_pointer,
  local_of_other_core,
  scalar_read,
  scalar_write,
  too_much_local,
  unaligned_vector,
  vector_store_no_fence,
  pending_at_exit,
  writes_to_host,
};

// x and y: at least 64 KB of floats. Returns what the launch returned.
int launch_misuse(Misuse which, int clusters, int cores, XPUStream stream, float* y, const float* x,
                  int32_t n);
