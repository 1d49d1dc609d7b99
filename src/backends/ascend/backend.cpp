// The Ascend backend's table: what the module exports.
#include "contract/backend.h"

#include "backends/ascend/gemm/gemm.h"
#include "backends/ascend/operators/functions.h"
#include "backends/ascend/rearrange/rearrange.h"
#include "backends/ascend/runtime/device.h"

namespace infini::ascend {
namespace {

constinit const Backend backend{
    .name = "ascend",
    .kind = INFINI_DEVICE_ASCEND,
    .device_count = device_count,
    .open = [](int id) -> std::unique_ptr<infini::Device> { return std::make_unique<Device>(id); },
    .kernels = {.rearrange = make_rearrange, .gemm = make_gemm, .operators = make_operator},
};

}  // namespace
}  // namespace infini::ascend

extern "C" const infini::Backend* infini_backend() { return &infini::ascend::backend; }
