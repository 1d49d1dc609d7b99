// Ali's names for what the shared GPU source needs. Never met the vendor's compiler or a chip: its SDK is taken to keep
// CUDA's names, as those of its kind do. Built and run here with emulators/simt in the place of its SDK.
#pragma once

#include <cuda_runtime.h>

#include "infinicore.h"

#define VENDOR(name) cuda##name

namespace infini::gpu {

inline constexpr const char* vendor_name = "ali";
inline constexpr const char* vendor_title = "PPU SDK";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_ALI;
inline constexpr int warp_threads = 32;

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_device.h"
