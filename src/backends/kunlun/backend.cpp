// The Kunlun backend's table, and the module's one exported function.
#include "backends/kunlun/backend.h"

#include "backends/kunlun/runtime/runtime_error.h"

namespace infini::kunlun {
namespace {

int device_count(std::string& why_none) {
  int count = 0;
  const int code = xpu_device_count(&count);
  if (code != XPU_SUCCESS)
    why_none = std::string("xpu_device_count: ") + xpu_strerror(code);
  else if (count == 0)
    why_none = "the XPU runtime sees no device";
  return code == XPU_SUCCESS ? count : 0;
}

std::unique_ptr<infini::Device> open(int id) { return std::make_unique<Device>(id); }

constinit const Backend backend{
    .name = "kunlun",
    .kind = INFINI_DEVICE_KUNLUN,
    .device_count = device_count,
    .open = open,
    .kernels = {.rearrange = make_rearrange, .gemm = make_gemm, .operators = make_operator},
};

}  // namespace
}  // namespace infini::kunlun

extern "C" const infini::Backend* infini_backend() { return &infini::kunlun::backend; }
