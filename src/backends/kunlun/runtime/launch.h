// The kernel dialect, and the one place that knows how a kernel is launched. Only .xpu files see
// it.
#pragma once

#include "xpu/kernel/xtdk.h"

namespace infini::kunlun {

#ifdef XPU_EMULATOR
using xpu_emu::launch;
#else
// Enqueues kernel(args...); 0 or the runtime's negative code.
template <auto kernel, typename... Args>
int launch(int clusters, int cores, XPUStream stream, Args... args) {
  return kernel<<<clusters, cores, stream>>>(args...);
}
#endif

// Of our own, because the dialect's min and roundup_div are functions in one release, macros in
// another.
template <typename T>
__device__ inline T lesser(T a, T b) {
  return b < a ? b : a;
}
__device__ inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace infini::kunlun
