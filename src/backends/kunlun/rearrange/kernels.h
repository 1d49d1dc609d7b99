// The kernels as the host calls them: each enqueues one launch and returns 0 or the runtime's
// negative code.
#pragma once

#include "backends/kunlun/rearrange/tile.h"
#include "xpu/runtime.h"

namespace infini::kunlun {

// Tiles owned by single cores (rows and core_tiles) or by whole clusters.
int launch_core_tiles(int clusters, int cores, XPUStream stream, void* dst, const void* src,
                      const TileArguments& arguments);
int launch_cluster_tiles(int clusters, XPUStream stream, void* dst, const void* src,
                         const TileArguments& arguments);

// dst[0, bytes) = value; the runtime has no memset.
int launch_fill(int clusters, XPUStream stream, void* dst, int64_t bytes, int32_t value);

}  // namespace infini::kunlun
