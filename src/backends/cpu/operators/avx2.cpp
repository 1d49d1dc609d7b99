// Lane kernels for AVX2 with F16C.
#include "backends/cpu/machine/native_avx2.h"
// The kernels are compiled for what stands above.
#include "backends/cpu/operators/lanes_of_isa.h"

namespace infini::cpu {
const LaneTable& lane_table_avx2() { return table; }
}  // namespace infini::cpu
