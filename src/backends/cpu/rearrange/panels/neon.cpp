// Panel kernels for NEON: one lane.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstring>

#include "backends/cpu/rearrange/panels/panel.h"

namespace infini::cpu {
namespace {

struct Neon {
  static constexpr int lanes = 1;
  using type = uint8x16_t;

  static type gather(const char* const (&p)[1]) {
    return vld1q_u8(reinterpret_cast<const uint8_t*>(p[0]));
  }
  static type gather_partial(const char* const (&p)[1], int bytes) {
    uint8_t part[16] = {};
    std::memcpy(part, p[0], static_cast<size_t>(bytes));
    return vld1q_u8(part);
  }
  template <int word>
  static type zip_low(type a, type b) {
    if constexpr (word == 1)
      return vzip1q_u8(a, b);
    else if constexpr (word == 2)
      return as_bytes(vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    else if constexpr (word == 4)
      return as_bytes(vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    else
      return as_bytes(vzip1q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
  }
  template <int word>
  static type zip_high(type a, type b) {
    if constexpr (word == 1)
      return vzip2q_u8(a, b);
    else if constexpr (word == 2)
      return as_bytes(vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    else if constexpr (word == 4)
      return as_bytes(vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    else
      return as_bytes(vzip2q_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
  }
  static void store(char* dst, type v) { vst1q_u8(reinterpret_cast<uint8_t*>(dst), v); }
  static void store_partial(char* dst, type v, int bytes) {
    uint8_t part[16];
    vst1q_u8(part, v);
    std::memcpy(dst, part, static_cast<size_t>(bytes));
  }
  static void stream(char* dst, type v) { store(dst, v); }  // caches of this family detect streams

 private:
  static type as_bytes(uint16x8_t v) { return vreinterpretq_u8_u16(v); }
  static type as_bytes(uint32x4_t v) { return vreinterpretq_u8_u32(v); }
  static type as_bytes(uint64x2_t v) { return vreinterpretq_u8_u64(v); }
};

}  // namespace

PanelKernels panel_kernels_neon(int word) { return panel_kernels_for<Neon>(word); }

}  // namespace infini::cpu

#endif
