// The NVIDIA backend's table.
#include "contract/backend.h"

#include "backends/gpu/operators/operators.h"
#include "backends/gpu/pages/pages.h"
#include "backends/gpu/rearrange/rearrange.h"
#include "backends/gpu/runtime/device.h"
#include "backends/nvidia/gemm/gemm.h"

namespace infini {
namespace {

constinit const Backend backend{
    .name = gpu::vendor_name,
    .kind = gpu::vendor_kind,
    .device_count = gpu::device_count,
    .open = gpu::open_device,
    .kernels = {.rearrange = gpu::make_rearrange,
                .rearrange_batch = gpu::make_rearrange_batch,
                .rearrange_paged = gpu::make_rearrange_paged,
                .gemm = nvidia::make_gemm,
                .operators = gpu::make_operator},
};

}  // namespace
}  // namespace infini

const infini::Backend* infini_backend() { return &infini::backend; }
