// The OpenMP runtime that another library uses. We have none ourselves; it is told to leave our threads alone.
#pragma once

#include <dlfcn.h>

#include "backends/cpu/runtime/shared_object.h"

namespace infini::cpu {

struct OpenMp {
  int (*threads)() = nullptr;  // of the regions that the calling thread opens
  void (*set_threads)(int) = nullptr;
};

// False where it cannot be told which runtime the library uses: one that the process had before may have taken its place.
inline bool find_openmp(void* library, OpenMp& runtime) {
  constexpr const char* setter = "omp_set_num_threads";
  if (!find_symbol(library, "omp_get_max_threads", runtime.threads) ||
      !find_symbol(library, setter, runtime.set_threads))
    return false;
  void* const global = dlsym(RTLD_DEFAULT, setter);
  return global == nullptr || global == reinterpret_cast<void*>(runtime.set_threads);
}

// While it lives, the library has no other threads where it is called by this one. Nothing that other threads see is
// changed.
class OneThread {
 public:
  explicit OneThread(const OpenMp& runtime)
      : runtime_(runtime), before_(runtime.threads == nullptr ? 1 : runtime.threads()) {
    if (before_ != 1) runtime_.set_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) runtime_.set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const OpenMp& runtime_;
  int before_;
};

}  // namespace infini::cpu
