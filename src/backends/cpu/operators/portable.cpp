// Lane kernels for the compiler's baseline, and the choice of a table.
#include "backends/cpu/machine/native_portable.h"
// The kernels are compiled for what stands above.
#include "backends/cpu/operators/lanes_of_isa.h"

namespace infini::cpu {

const LaneTable& lane_table(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return lane_table_avx512();
  if (isa == Isa::avx2) return lane_table_avx2();
#endif
  (void)isa;
  return table;
}

}  // namespace infini::cpu
