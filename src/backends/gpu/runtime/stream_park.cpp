// Parking destroyed streams.
#include "backends/gpu/runtime/stream_park.h"

#include "backends/gpu/runtime/check.h"

namespace infini::gpu {

Stream StreamPark::create() {
  {
    const std::lock_guard lock(mutex_);
    if (count_ == places) return take_oldest();
  }
  Stream stream = nullptr;
  check(stream_create(&stream), "cannot create a stream");
  return stream;
}

// A stream in capture is not worth keeping: its next owner would inherit the capture.
void StreamPark::destroy(Stream stream) {
  const std::lock_guard lock(mutex_);
  require_live(stream);
  bool capturing = false;
  check(stream_is_capturing(stream, &capturing), "cannot destroy stream ", stream);
  if (capturing) return check(stream_destroy(stream), "cannot destroy stream ", stream);
  const Stream leaving = count_ == places ? take_oldest() : nullptr;
  parked_[(oldest_ + count_++) % places] = stream;
  used_ = true;
  // Its owner was told long ago that it is gone: what goes wrong now is not the caller's failure.
  if (leaving != nullptr && stream_destroy(leaving) != success) take_last_error();
}

Stream StreamPark::take_oldest() {
  const Stream stream = parked_[oldest_].exchange(nullptr);
  oldest_ = (oldest_ + 1) % places;
  --count_;
  return stream;
}

void StreamPark::require_live(Stream stream) const {
  if (stream == nullptr || !used_.load(std::memory_order_relaxed)) return;
  for (const auto& place : parked_)
    require(place.load(std::memory_order_relaxed) != stream, INFINI_STATUS_BAD_PARAM, "stream ",
            stream, " has been destroyed");
}

}  // namespace infini::gpu
