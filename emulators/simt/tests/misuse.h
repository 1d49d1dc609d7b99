// One kernel per rule, each breaking exactly that rule, and the right way beside it.
#pragma once

#include "simt_emulator.h"

enum class Misuse : int {
  none,          // reverses the numbers of each block through shared memory, properly
  shared_words,  // as proper: threads use bytes of the same words, and read again what they write
  atomic_additions,  // as proper: all threads add to one word
  no_barrier_after_additions,
  no_barrier,
  byte_of_a_word,
  no_stage_wait,
  no_barrier_after_wait,
  pending_at_exit,
  divergent_barrier,
  beyond_the_end,
  before_the_begin,
  beyond_shared,
  misaligned_vector,
  misaligned_word,
  misaligned_stage,
  stage_to_global,
  written_twice,
  read_and_written,
  reads_shared_garbage,
};

constexpr unsigned misuse_blocks = 2, misuse_threads = 64;
constexpr size_t misuse_floats = misuse_blocks * misuse_threads;

// y and x: misuse_floats each. `early`: as a kernel that may begin before its predecessor has
// ended; `waits`: it then waits for it, as it must.
simtError_t launch_misuse(Misuse which, float* y, const float* x, simtStream_t stream,
                          bool early = false, bool waits = true);
