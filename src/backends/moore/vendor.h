// Moore Threads' names for what the shared GPU source needs. Never met the vendor's compiler or a
// chip: built and run here with emulators/simt in the place of its SDK.
#pragma once

#include <musa_runtime.h>

#include "infinicore.h"

#define VENDOR(name) musa##name

namespace infini::gpu {

inline constexpr const char* vendor_name = "moore";
inline constexpr const char* vendor_title = "MUSA";
inline constexpr infiniDevice_t vendor_kind = INFINI_DEVICE_MOORE;
// Warps have 128 threads on mp_21 and mp_22, 32 on mp_31; schedules hold for both.
inline constexpr int warp_threads = 128;

}  // namespace infini::gpu

#include "backends/gpu/runtime/plain_device.h"
