// A few BLAS handles per device. A handle serves one thread at a time (its stream is state), so
// that each call borrows one: an atomic flag per handle, no lock.
#pragma once

#include <atomic>

#include "base/error.h"
#include "cublas_v2.h"

namespace infini::kunlun {

inline void check_blas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const auto ours = status == CUBLAS_STATUS_NOT_SUPPORTED  ? INFINI_STATUS_NOT_IMPLEMENTED
                    : status == CUBLAS_STATUS_ALLOC_FAILED ? INFINI_STATUS_OUT_OF_MEMORY
                                                           : INFINI_STATUS_INTERNAL_ERROR;
  fail(ours, call, " failed with BLAS status ", static_cast<int>(status));
}

class BlasHandles {
 public:
  BlasHandles();  // on the current device
  ~BlasHandles();
  BlasHandles(const BlasHandles&) = delete;
  BlasHandles& operator=(const BlasHandles&) = delete;

  // A handle whose stream is set, for as long as this object lives.
  class Borrowed {
   public:
    Borrowed(BlasHandles& all, void* stream);
    ~Borrowed() { busy_->store(false, std::memory_order_release); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    cublasHandle_t get() const { return handle_; }

   private:
    std::atomic<bool>* busy_;
    cublasHandle_t handle_;
  };

 private:
  static constexpr int count = 8;
  cublasHandle_t handles_[count] = {};
  std::atomic<bool> busy_[count] = {};
};

}  // namespace infini::kunlun
