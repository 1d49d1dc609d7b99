// The kernels of an operator, as addresses.
#pragma once

#include "backends/gpu/operators/row_schedule.h"

namespace infini::gpu {

constexpr int vector = 16;  // bytes

// The kernel for single elements and, where it exists, the one for vectors of them.
struct Kernels {
  const void *single, *vectors;
  int count;                                    // elements of a vector, or pairs of rope
  const void* of_long_rows[long_kernels] = {};  // vectors, too, where they exist
  bool neighbours = false;  // the two elements of a pair lie together, in vectors
};

}  // namespace infini::gpu
