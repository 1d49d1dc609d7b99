// Shuffle programs by NEON's table look-ups of 16 bytes.
#if defined(__aarch64__)

#include <arm_neon.h>

#include "backends/cpu/rearrange/shuffle/vectors.h"

namespace infini::cpu {
namespace {

struct Neon {
  using type = uint8x16_t;
  static type load(const void* p) { return vld1q_u8(static_cast<const uint8_t*>(p)); }
  static void store(char* p, type v) { vst1q_u8(reinterpret_cast<uint8_t*>(p), v); }
  static type pick(type window, type indices) { return vqtbl1q_u8(window, indices); }
  static type both(type a, type b) { return vorrq_u8(a, b); }
};

}  // namespace

ShuffleKernels shuffle_kernels_neon(int depth) { return shuffle_kernels_of<Neon>(depth); }

}  // namespace infini::cpu

#endif
