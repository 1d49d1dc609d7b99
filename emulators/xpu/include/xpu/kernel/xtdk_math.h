// The dialect's mathematical functions, as far as public material names them exactly: those of f32 alone. (There is a fast_erf,
// whose error nobody states; nothing of f64.)
#pragma once
#include "xpu/kernel/xtdk.h"

XPU_DLL_EXPORT float xpu_emu_exp(float x);
XPU_DLL_EXPORT float xpu_emu_log(float x);
XPU_DLL_EXPORT float xpu_emu_sqrt(float x);

inline float exp(float x) { return xpu_emu_exp(x); }
inline float log(float x) { return xpu_emu_log(x); }
inline float sqrt(float x) { return xpu_emu_sqrt(x); }
float exp(double x) = delete;  // would be computed in f32
float log(double x) = delete;
float sqrt(double x) = delete;
