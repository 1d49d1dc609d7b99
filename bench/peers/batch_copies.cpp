// The driver's functions are looked up: this program knows no CUDA.
#include "bench/peers/batch_copies.h"

#include <dlfcn.h>

#include "base/error.h"

namespace infini::bench {
namespace {

// What the driver's ABI calls CUmemcpyAttributes; the hints are for managed memory alone.
struct Attributes {
  int source_order;
  int source_hint[2], destination_hint[2];
  unsigned flags;
};
constexpr int in_stream_order = 1;
// The thread's default stream, which waits for the device's default stream and is waited for by it. That one itself is
// refused.
void* const thread_stream = reinterpret_cast<void*>(2);

// Since CUDA 13; 12.8 had another argument, which told the copy that failed.
using Batch = int (*)(void** dst, void** src, size_t* bytes, size_t count, Attributes*,
                      size_t* first_of_attributes, size_t attributes, void* stream);
using OldBatch = int (*)(void** dst, void** src, size_t* bytes, size_t count, Attributes*,
                         size_t* first_of_attributes, size_t attributes, size_t* failed,
                         void* stream);

struct Driver {
  Batch batch = nullptr;
  OldBatch old_batch = nullptr;
};
const Driver& driver() {
  static const Driver found = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return Driver{};
    return Driver{reinterpret_cast<Batch>(dlsym(library, "cuMemcpyBatchAsync_v2")),
                  reinterpret_cast<OldBatch>(dlsym(library, "cuMemcpyBatchAsync"))};
  }();
  return found;
}

}  // namespace

bool has_batched_copies(const Device& device) {
  return device.kind() == INFINI_DEVICE_NVIDIA &&
         (driver().batch != nullptr || driver().old_batch != nullptr);
}

void run_batched_copies(BatchedCopies& copies) {
  Attributes attributes{in_stream_order, {}, {}, 0};
  size_t first = 0, failed = 0;
  void **dst = copies.dst.data(), **src = copies.src.data();
  size_t *bytes = copies.bytes.data(), count = copies.bytes.size();
  const int status =
      driver().batch != nullptr
          ? driver().batch(dst, src, bytes, count, &attributes, &first, 1, thread_stream)
          : driver().old_batch(dst, src, bytes, count, &attributes, &first, 1, &failed,
                               thread_stream);
  require(status == 0, INFINI_STATUS_INTERNAL_ERROR, "cuMemcpyBatchAsync says ", status);
}

}  // namespace infini::bench
