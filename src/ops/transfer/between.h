// The prepared copy between the host's memory and a device's, with any strides on both sides.
//
// Several ways are asked what they would take (ops/transfer/ways.h); one is chosen for pinned memory of the host, one for any.
#pragma once

#include <memory>
#include <string>

#include "base/export.h"
#include "contract/choice.h"
#include "contract/device.h"
#include "ops/explain/call_log.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini {

enum class Direction { to_device, to_host };

// Further memory that a copy may take, the host's and the device's together.
constexpr int64_t most_extra_bytes = int64_t{64} << 20;

// One way of moving a plan whose offsets are 0. Immutable; many threads may run it at once.
class Way {
 public:
  virtual ~Way() = default;
  virtual void run(void* dst, const void* src, void* stream) const = 0;
  virtual const char* name() const = 0;
};

// Immutable; many threads may run it at once.
class RearrangeBetween {
 public:
  // `device` is the one that is not the host; when it is the CPU this is a rearrangement there.
  INFINI_TOOL_EXPORT RearrangeBetween(Device& device, Direction direction, const Layout& dst,
                                      const Layout& src, const Choice& choice = {},
                                      int64_t extra_bytes = most_extra_bytes);

  // On a stream of the device. From and to pinned memory it returns at once, and the host's side must stay until the stream
  // has come so far; else it returns when the host's side has been read or written.
  void run(void* dst, const void* src, void* stream) const {
    if (told_) [[unlikely]]
      return told_->tell([&] { run_untold(dst, src, stream); });
    run_untold(dst, src, stream);
  }

  Device& device() const { return *device_; }
  // The ways that are taken from and to pinned memory, and any other; null where nothing moves.
  const Way* pinned() const { return pinned_.get(); }
  const Way* pageable() const { return pageable_.get(); }

 private:
  INFINI_TOOL_EXPORT void run_untold(void* dst, const void* src, void* stream) const;

  Device* device_;
  Direction direction_;
  // Ways begin at the plan's first elements: also where they move on from there they stay inside the tensors.
  int64_t dst_offset_ = 0, src_offset_ = 0;
  std::unique_ptr<const Way> pinned_, pageable_;
  std::unique_ptr<const ToldCalls> told_;  // null: nobody listens
};

}  // namespace infini
