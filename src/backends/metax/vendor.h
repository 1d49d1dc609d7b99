// MetaX's names for what the shared GPU source needs. Never met the vendor's compiler or a chip:
// built and run here with emulators/simt in the place of its SDK.
#pragma once

#include <mcr/mc_runtime.h>

#include "infinicore.h"

#define VENDOR(name) mc##name

namespace infini::gpu {

inline constexpr const char* vendor_name = "metax";
inline constexpr const char* vendor_title = "MACA";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_METAX;
inline constexpr int warp_threads = 64;

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_device.h"
