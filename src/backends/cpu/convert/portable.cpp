// Conversions for the compiler's baseline, and the choice of a table.
#include <cstdint>

#include "base/float_formats.h"

namespace infini::cpu {
namespace {

struct Native {
  static constexpr int vector_bytes = 16;
  typedef float Four __attribute__((vector_size(16)));
  typedef uint16_t FourHalves __attribute__((vector_size(8)));
  static Four f32_from_f16(FourHalves v) {
    Four wide;
    for (int i = 0; i < 4; ++i) wide[i] = infini::f32_from_f16(v[i]);
    return wide;
  }
  static FourHalves f16_from_f32(Four v) {
    FourHalves half;
    for (int i = 0; i < 4; ++i) half[i] = infini::f16_from_f32(v[i]);
    return half;
  }
};

}  // namespace
}  // namespace infini::cpu

#include "backends/cpu/convert/lanes_of_isa.h"

namespace infini::cpu {

const ConvertLanes& convert_lanes(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return convert_lanes_avx512();
  if (isa == Isa::avx2) return convert_lanes_avx2();
#endif
  (void)isa;
  return table;
}

}  // namespace infini::cpu
