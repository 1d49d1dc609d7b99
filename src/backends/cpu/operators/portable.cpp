// Lane kernels for the compiler's baseline, and the choice of a table.
#include "backends/cpu/machine/native_portable.h"
// The kernels are compiled for what stands above.
#include "backends/cpu/operators/lanes_of_isa.h"

namespace infini::cpu {

const LaneKernels& lane_kernels(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return lane_kernels_avx512();
  if (isa == Isa::avx2) return lane_kernels_avx2();
#endif
  (void)isa;
  return table;
}

}  // namespace infini::cpu
