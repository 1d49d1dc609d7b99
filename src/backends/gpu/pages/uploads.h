// Tables on their way to the device: pinned memory and device memory that runs take turns with.
//
// A run fills pinned memory, which its stream copies into device memory in front of the kernel that reads it. Both come
// back into use when an event behind the kernel has passed, so that runs on any streams never share a table.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/gpu/runtime/check.h"
#include "infinirt.h"

namespace infini::gpu {

// Gives something back where no failure can be told: a second try, since what failed once may have been another's.
template <class Call>
void surely(const Call& call) noexcept {
  if (call() == success) return;
  take_last_error();
  if (call() != success) take_last_error();
}

class Uploads {
 public:
  Uploads() = default;
  Uploads(const Uploads&) = delete;
  Uploads& operator=(const Uploads&) = delete;
  ~Uploads();

  // fill(host) writes `bytes`; use(device) enqueues what reads them on the stream. Not for streams that are captured.
  template <class Fill, class Use>
  void pass(size_t bytes, Stream stream, const Fill& fill, const Use& use) {
    Slot& slot = take(bytes);
    const Return back{*this, slot, stream};
    fill(slot.host);
    check(copy_async(slot.device, slot.host, bytes, copy_kinds[INFINIRT_MEMCPY_H2D], stream),
          "cannot upload ", bytes, " bytes");
    use(static_cast<const void*>(slot.device));
  }

 private:
  struct Slot {
    void *host = nullptr, *device = nullptr;
    size_t bytes = 0;
    Event event = nullptr;
    bool taken = false;
  };
  // Whatever happened, the slot's next user waits for what was enqueued.
  struct Return {
    ~Return() { uploads.give_back(slot, stream); }
    Uploads& uploads;
    Slot& slot;
    Stream stream;
  };
  Slot& take(size_t bytes);
  Slot* find_idle(size_t bytes);
  void give_back(Slot& slot, Stream stream) noexcept;
  static void fit(Slot& slot, size_t bytes);
  static void release(Slot& slot) noexcept;

  std::mutex mutex_;  // guards the list and who has taken what
  std::vector<std::unique_ptr<Slot>> slots_;
};

// Work that is captured is replayed when nobody knows what the host's memory holds by then.
bool is_captured(Stream stream);

}  // namespace infini::gpu
