// Hygon's names for what the shared GPU source needs. Never met the vendor's compiler or a chip:
// built and run here with emulators/simt in the place of its SDK.
#pragma once

#include <cuda_runtime.h>

#include "infinicore.h"

#define VENDOR(name) cuda##name

namespace infini::gpu {

inline constexpr const char* vendor_name = "hygon";
inline constexpr const char* vendor_title = "DTK";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_HYGON;
// DTK's CUDA-compatible compiler keeps CUDA's names; HIP's are not used.
inline constexpr int warp_threads = 64;

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_device.h"
