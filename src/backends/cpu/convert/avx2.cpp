// Conversions for AVX2 with F16C and FMA.
#include "backends/cpu/machine/native_avx2.h"
// The kernels are compiled for what stands above.
#include "backends/cpu/convert/lanes_of_isa.h"

namespace infini::cpu {
const ConvertLanes& convert_lanes_avx2() { return table; }
}  // namespace infini::cpu
