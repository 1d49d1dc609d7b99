// INFINI_VERBOSE: one line for every call, for those who look into somebody else's engine. Off, it costs a run the
// check of a null pointer.
//
//   infini: cpu:0 tiles 12.345 us: rearrange f32 3x2 src=1,3
//
// The end of a line is a problem that `infini bench` takes. On an accelerator the time is the host's: what it took to
// enqueue the work.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/export.h"
#include "contract/device.h"

namespace infini {

// What is said of every run of one operator.
class ToldCalls {
 public:
  // Null unless INFINI_VERBOSE is 1 (standard error) or names a file that can be appended to. `problem` is asked for only
  // when it is not.
  template <class Problem>
  static std::unique_ptr<const ToldCalls> make(const Device& device, const char* candidate,
                                               const Problem& problem) {
    if (!wanted()) return nullptr;
    return std::unique_ptr<const ToldCalls>(new ToldCalls(device, candidate, problem()));
  }

  template <class Body>
  void tell(const Body& body) const {
    const auto start = std::chrono::steady_clock::now();
    try {
      body();
    } catch (...) {
      add(start, " (failed)");
      throw;
    }
    add(start, "");
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  ToldCalls(const Device& device, const char* candidate, const std::string& problem);
  static bool wanted();
  INFINI_TOOL_EXPORT void add(Time start, const char* remark) const noexcept;

  std::string before_, after_;  // the time stands between
};

}  // namespace infini
