// Workspace for one run: back in the pool as soon as the run is submitted, for later work only.
#pragma once

#include "runtime/place.h"

namespace infinicore::detail {

class Workspace {
 public:
  Workspace(infini::MemoryPool& pool, size_t bytes, void* stream)
      : pool_(pool), bytes_(bytes), stream_(stream) {
    if (bytes > 0) data_ = pool.allocate(bytes, stream);
  }
  ~Workspace() {
    if (data_ != nullptr) pool_.free(data_, bytes_, stream_, false);
  }
  Workspace(const Workspace&) = delete;
  void* data() const { return data_; }

 private:
  infini::MemoryPool& pool_;
  size_t bytes_;
  void* stream_;
  void* data_ = nullptr;
};

}  // namespace infinicore::detail
