// The kernel dialect, and the one place that knows how a kernel is launched. Only .xpu files see it.
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

}  // namespace infini::kunlun
