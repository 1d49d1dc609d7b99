// Making, lending and destroying BLAS handles.
#include "backends/kunlun/runtime/blas_handles.h"

#include <thread>

namespace infini::kunlun {

BlasHandles::BlasHandles() {
  for (auto& handle : handles_) {
    const cublasStatus_t status = cublasCreate(&handle);
    if (status == CUBLAS_STATUS_SUCCESS) continue;
    for (auto made : handles_)
      if (made && made != handle) cublasDestroy(made);
    check_blas(status, "cublasCreate");
  }
}

BlasHandles::~BlasHandles() {
  for (auto handle : handles_) cublasDestroy(handle);
}

BlasHandles::Borrowed::Borrowed(BlasHandles& all, void* stream) {
  for (int i = 0;; i = (i + 1) % count) {
    busy_ = &all.busy_[i];
    handle_ = all.handles_[i];
    if (!busy_->exchange(true, std::memory_order_acquire)) break;
    if (i == count - 1) std::this_thread::yield();
  }
  const cublasStatus_t status = cublasSetStream(handle_, static_cast<cudaStream_t>(stream));
  if (status == CUBLAS_STATUS_SUCCESS) return;
  busy_->store(false, std::memory_order_release);
  check_blas(status, "cublasSetStream");
}

}  // namespace infini::kunlun
