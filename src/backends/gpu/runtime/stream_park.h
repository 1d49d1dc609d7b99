// Streams between their destruction and their next life.
//
// A vendor's runtime may crash when it is handed a stream that was destroyed. Destroyed streams
// therefore stay allocated for a while, and are known here by their address. While they are parked
// no other stream, of whomever, can have that address.
#pragma once

#include <atomic>
#include <mutex>

#include "vendor.h"

namespace infini::gpu {

class StreamPark {
 public:
  // A new stream or the one that was parked longest, if the park is full.
  Stream create();
  // Throws when the stream is parked already.
  void destroy(Stream stream);
  // Throws BAD_PARAM when the stream is parked. Takes no lock.
  void require_live(Stream stream) const;

 private:
  static constexpr int places = 16;
  Stream take_oldest();

  std::mutex mutex_;  // guards everything but reading parked_ and used_
  std::atomic<Stream> parked_[places] = {};
  int oldest_ = 0, count_ = 0;
  std::atomic<bool> used_ = false;
};

}  // namespace infini::gpu
