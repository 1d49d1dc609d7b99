// Streams: work on others' arrays goes where those others work, so that nobody has to wait.
#pragma once

#include "array.h"
#include "gil.h"

namespace infini::python {

// The current stream of the array's framework on the array's device, where that can be known.
std::optional<void*> current_stream(const Array& array);
std::optional<void*> current_stream(const Framework& framework, const infinicore::Device& device);
// Where the call's work on this device goes.
void* stream_for(const Call& call, const infinicore::Device& device);
// What `then` gets from now on runs after what `first` has got so far; nobody waits here.
void order(const infinicore::Device& device, void* first, void* then);
// Makes the array's stream the call's when it is the first one on an accelerator.
void join(Call& call, const Array& array);
// As DLPack numbers CUDA's streams.
nb::int_ dlpack_stream(void* stream);

// While it lives, the calling thread's operators use the call's stream, ordered with the thread's
// own where tensors of our own take part.
class StreamScope {
 public:
  explicit StreamScope(const Call& call);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;

 private:
  const Call& call_;
  void* before_ = nullptr;
};

// While it lives, this is the calling thread's current device.
class CurrentDevice {
 public:
  explicit CurrentDevice(const infinicore::Device& device)
      : before_(infinicore::context::getDevice()) {
    infinicore::context::setDevice(device);
  }
  ~CurrentDevice() { infinicore::context::setDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;

 private:
  infinicore::Device before_;
};

// Work below some bytes or products (`depth` for each element) is over before another thread could
// have used the GIL.
inline bool worth_unlocking(const Array& dst, int64_t depth = 0) {
  if (dst.device != infinicore::Device::cpu()) return true;
  const int64_t count = dst.count();
  return count * dst.itemsize >= 1 << 16 ||
         static_cast<double>(count) * static_cast<double>(depth) >= 1 << 16;
}

}  // namespace infini::python
