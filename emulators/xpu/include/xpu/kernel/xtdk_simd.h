// The vector loads and stores of the dialect, 64 bytes wide, with the alignment they demand.
#pragma once
#include "xpu/kernel/xtdk.h"

// Moves 64 bytes between a register and memory of the core, as one aligned access.
XPU_DLL_EXPORT void xpu_emu_vector_load(void* lanes, const void* p);
XPU_DLL_EXPORT void xpu_emu_vector_store(void* p, const void* lanes);

struct alignas(64) float32x16_t {
  float lane[16];
};
struct alignas(64) int32x16_t {
  int32_t lane[16];
};

namespace xpu_emu {
template <typename V>
inline V vector_load(const void* p) {
  V v;
  xpu_emu_vector_load(v.lane, p);
  return v;
}
}  // namespace xpu_emu

inline float32x16_t vload_lm_float32x16(const float* p) {
  return xpu_emu::vector_load<float32x16_t>(p);
}
inline float32x16_t vload_sm_float32x16(const float* p) {
  return xpu_emu::vector_load<float32x16_t>(p);
}
inline int32x16_t vload_lm_int32x16(const int32_t* p) {
  return xpu_emu::vector_load<int32x16_t>(p);
}
inline int32x16_t vload_sm_int32x16(const int32_t* p) {
  return xpu_emu::vector_load<int32x16_t>(p);
}
inline void vstore_lm_float32x16(float* p, const float32x16_t& v) {
  xpu_emu_vector_store(p, v.lane);
}
inline void vstore_lm_int32x16(int32_t* p, const int32x16_t& v) { xpu_emu_vector_store(p, v.lane); }
