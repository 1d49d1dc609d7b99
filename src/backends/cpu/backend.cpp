// The CPU's backend table.
#include "backends/cpu/backend.h"

#include "backends/cpu/runtime/device.h"

namespace infini::cpu {

constinit const Backend backend{
    .name = "cpu",
    .kind = INFINI_DEVICE_CPU,
    .device_count = [](std::string&) { return 1; },
    .open = [](int id) -> std::unique_ptr<infini::Device> { return std::make_unique<Device>(id); },
    .kernels = {.rearrange = make_rearrange,
                .rearrange_batch = make_rearrange_batch,
                .rearrange_paged = make_rearrange_paged,
                .gemm = make_gemm,
                .operators = make_operator},
};

}  // namespace infini::cpu
