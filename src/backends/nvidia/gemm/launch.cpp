// Launching through the driver's own entries, found at run time: the module loads without a driver.
#include <atomic>
#include <iterator>

#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/driver_entry.h"

namespace infini::gpu {
namespace {

using nvidia::driver_entry;

// The device's context, once it was current; asking the driver for the current one is cheaper than
// asking the runtime for the device.
std::atomic<CUcontext> contexts[64];

CUcontext current_context() {
  static const auto ask = driver_entry<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent", 4000);
  CUcontext context = nullptr;
  return ask != nullptr && ask(&context) == CUDA_SUCCESS ? context : nullptr;
}

}  // namespace

Status set_device(int id) {
  const auto place = static_cast<size_t>(id) % std::size(contexts);
  const CUcontext context = current_context();
  if (context != nullptr && context == contexts[place].load(std::memory_order_relaxed))
    return success;
  const Status status = cudaSetDevice(id);
  if (status == success) contexts[place].store(current_context(), std::memory_order_relaxed);
  return status;
}

ReadyKernel make_ready(const void* kernel, bool early) {
  cudaFunction_t function = nullptr;
  check(cudaGetFuncBySymbol(&function, kernel), "cannot find a kernel");
  return {function, early};
}

Status launch(const ReadyKernel& kernel, unsigned blocks, unsigned threads, const void** arguments,
              size_t shared_bytes, Stream stream) {
  static const auto start = driver_entry<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx", 11080);
  if (start == nullptr) return cudaErrorNotSupported;
  CUlaunchAttribute attributes[3] = {};
  CUlaunchConfig config{};
  config.gridDimX = blocks, config.gridDimY = 1, config.gridDimZ = 1;
  config.blockDimX = threads, config.blockDimY = 1, config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
  config.hStream = stream;
  config.attrs = attributes;
  if (kernel.early) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  if (kernel.cluster > 1) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = kernel.cluster;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  }
#if CUDA_VERSION >= 12080
  if (kernel.all_shared_memory) {
    CUlaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    attribute.value.sharedMemCarveout = CU_SHAREDMEM_CARVEOUT_MAX_SHARED;
  }
#endif
  // The runtime has the driver's numbers for its errors.
  return static_cast<Status>(
      start(&config, kernel.function, const_cast<void**>(arguments), nullptr));
}

}  // namespace infini::gpu
