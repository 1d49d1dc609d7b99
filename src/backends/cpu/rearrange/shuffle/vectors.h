// Shuffle programs by vectors of 16 bytes whose shuffles give 0 for indices from 128 on.
//
// Included by the files of single instruction sets, each compiled for its own.
#pragma once

#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"

namespace infini::cpu {
namespace {

// constant_depth == 0: the program's. (Pointers of its own: stores to dst could change the program's.)
template <class Vector, int constant_depth>
void run_vectors(const ShuffleProgram& program, const ShuffleRun& run) {
  const int64_t depth = constant_depth == 0 ? program.depth : constant_depth;
  const int64_t* offsets = program.offsets.data();
  const uint8_t* tables = program.indices(0);
  const ShuffleRun now = run;
  char* dst = now.dst;
  const char* src = now.src;
  for (int64_t period = 0; period < now.periods;
       ++period, dst += now.dst_step, src += now.src_step) {
    const uint8_t* indices = tables;
    const int64_t* offset = offsets;
    for (int64_t v = 0; v < now.vectors; ++v) {
      __builtin_prefetch(src + offset[0] + now.ahead);
      auto made = Vector::pick(Vector::load(src + offset[0]), Vector::load(indices));
      for (int64_t k = 1; k < depth; ++k)
        made = Vector::both(
            made, Vector::pick(Vector::load(src + offset[k]), Vector::load(indices + 16 * k)));
      Vector::store(dst + 16 * v, made);
      indices += 16 * depth;
      offset += depth;
    }
  }
}

template <class Vector>
ShuffleKernels shuffle_kernels_of(int depth) {
  switch (depth) {
    case 1: return {run_vectors<Vector, 1>, copy_streamed};
    case 2: return {run_vectors<Vector, 2>, copy_streamed};
    case 3: return {run_vectors<Vector, 3>, copy_streamed};
    default: return {run_vectors<Vector, 0>, copy_streamed};
  }
}

}  // namespace
}  // namespace infini::cpu
