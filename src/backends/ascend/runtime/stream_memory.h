// Device memory in stream order: a block that is given back on a stream serves later work of that
// stream at once, without waiting. It backs MallocAsync/FreeAsync and the operators' workspaces.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>

namespace infini::ascend {

// Every member may be called concurrently, with the device current for the calling thread.
class StreamMemory {
 public:
  StreamMemory() = default;
  ~StreamMemory() { trim(); }
  StreamMemory(const StreamMemory&) = delete;

  void* take(size_t bytes, void* stream);
  // What became of a block: idle on that stream now; not taken from here; given back before.
  enum class Given { idle, foreign, twice };
  Given give(void* p, void* stream) noexcept;
  // Forgets a taken block, which the client frees in another way; false when it was given back
  // before.
  bool forget(void* p) noexcept;
  // The stream's work is done: any stream may have its blocks.
  void stream_done(void* stream) noexcept;
  // Waits for the device, then gives every idle block back to it. False when nothing came of it.
  bool trim() noexcept;

 private:
  struct Block {
    size_t bytes;
    bool idle;
  };
  using Idle = std::multimap<size_t, void*>;  // by size
  void* take_idle(Idle& idle, size_t bytes);

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  std::unordered_map<void*, Idle> of_stream_;
  Idle common_;
};

// A block for the duration of a scope: work enqueued inside it may use the block.
class Scratch {
 public:
  Scratch(StreamMemory& memory, size_t bytes, void* stream)
      : memory_(memory), stream_(stream), p_(bytes > 0 ? memory.take(bytes, stream) : nullptr) {}
  ~Scratch() {
    if (p_ != nullptr) memory_.give(p_, stream_);
  }
  Scratch(const Scratch&) = delete;
  void* get() const { return p_; }

 private:
  StreamMemory& memory_;
  void* stream_;
  void* p_;
};

// aclrtMalloc; when the device has no room, trims `spare` and tries again.
void* allocate_or_trim(size_t bytes, StreamMemory& spare);

}  // namespace infini::ascend
