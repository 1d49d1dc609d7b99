// Iluvatar's names for what the shared GPU source needs. Never met the vendor's compiler or a chip:
// built and run here with emulators/simt in the place of its SDK.
#pragma once

#include <cuda_runtime.h>

#include "infinicore.h"

#define VENDOR(name) cuda##name

namespace infini::gpu {

inline constexpr const char* vendor_name = "iluvatar";
inline constexpr const char* vendor_title = "CoreX";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_ILUVATAR;
// CoreX keeps CUDA's names.
inline constexpr int warp_threads = 64;

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_device.h"
