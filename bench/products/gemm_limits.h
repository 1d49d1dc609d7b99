// The two limits of a gemm on the current device, measured once: arithmetic and memory.
#pragma once

#include "contract/device.h"

namespace infini::bench {

struct GemmLimits {
  double flops_per_second = 0, bytes_per_second = 0;
};

// Arithmetic: on the CPU tiles of our own kernels on data in the first cache, on every thread (bf16: of
// the matrix unit where there is one); on accelerators a product of 8192x8192x8192. Memory: bytes read
// on the CPU, bytes read plus written by a large copy on accelerators.
GemmLimits measure_gemm_limits(Device& device, infiniDtype_t dtype);

}  // namespace infini::bench
