// Functions of NVIDIA's driver, found at run time: the module loads on machines without one.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace infini::nvidia {

// The function as it was in version `since` (1000·major + 10·minor) of CUDA; null where the driver
// has none.
template <class Function>
Function driver_entry(const char* name, unsigned since) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const auto status =
      cudaGetDriverEntryPointByVersion(name, &function, since, cudaEnableDefault, &found);
#else
  static_cast<void>(since);
  const auto status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess)
    return reinterpret_cast<Function>(function);
  cudaGetLastError();
  return nullptr;
}

}  // namespace infini::nvidia
