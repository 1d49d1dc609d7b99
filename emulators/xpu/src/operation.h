// How a library beside the runtime puts work on a stream: the door between libxpu_blas and
// libxpurt.
#pragma once
#include <functional>
#include <vector>

#include "xpu/runtime.h"

namespace xpu_emu {

struct DeviceRange {
  const void* begin;
  uint64_t size;
};

// Enqueues `work`, which reads and writes the given ranges through device_view(). Returns 0 or a
// negative code. Ranges are checked against live allocations before the work runs.
XPU_DLL_EXPORT int enqueue_work(XPUStream stream, const char* name, std::vector<DeviceRange> reads,
                                std::vector<DeviceRange> writes, std::function<void()> work);
XPU_DLL_EXPORT void* device_view(const void* device_pointer);
XPU_DLL_EXPORT int count_call(int code);  // a fallible call: `code` when it must fail, else 0

}  // namespace xpu_emu
