// Lane kernels for AVX-512.
#include "backends/cpu/machine/native_avx512.h"
// The kernels are compiled for what stands above.
#include "backends/cpu/operators/lanes_of_isa.h"

namespace infini::cpu {
const LaneTable& lane_table_avx512() { return table; }
}  // namespace infini::cpu
