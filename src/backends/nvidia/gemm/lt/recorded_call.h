// A library's call as plain data: what it launches is recorded once, with made-up addresses, and launched by us from then
// on with real ones. A call then costs the host what its kernels cost, not what the library takes to arrive at them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/nvidia/gemm/lt/argument_places.h"
#include "vendor.h"

namespace infini::nvidia {

class RecordedCall {
 public:
  // `call` has the library make its call with these addresses on this stream, which only records; false: it declined.
  using Call = std::function<bool(const Addresses&, gpu::Stream)>;

  // Null where the driver is too old or the call is not a chain of kernels and short fills whose arguments follow from
  // the addresses: then the library must be called. For the current device.
  static std::shared_ptr<const RecordedCall> record(const Call& call);

  // Addresses as aligned as other_addresses are, or better. From any thread.
  gpu::Status launch(const Addresses& addresses, gpu::Stream stream) const;
  size_t steps() const { return steps_.size(); }

 private:
  // One kernel; without a function it is a fill of `bytes` bytes at the only argument.
  struct Step {
    CUfunction function = nullptr;
    CUlaunchConfig config{};
    std::vector<CUlaunchAttribute> attributes = {};
    std::vector<std::byte> arguments = {};
    ArgumentPlaces places = {};
    int value = 0;
    size_t bytes = 0;
  };
  class Reader;

  std::vector<Step> steps_;
};

}  // namespace infini::nvidia
