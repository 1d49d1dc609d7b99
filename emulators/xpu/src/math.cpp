// The mathematical functions of kernels: computed in double and rounded once.
#include <cmath>

#include "xpu/defs.h"

XPU_DLL_EXPORT float xpu_emu_exp(float x) {
  return static_cast<float>(std::exp(static_cast<double>(x)));
}
XPU_DLL_EXPORT float xpu_emu_log(float x) {
  return static_cast<float>(std::log(static_cast<double>(x)));
}
XPU_DLL_EXPORT float xpu_emu_sqrt(float x) {
  return static_cast<float>(std::sqrt(static_cast<double>(x)));
}
