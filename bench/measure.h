// Measuring several ways of doing something in turns, so that all see the same machine.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "contract/device.h"

namespace infini::bench {

// Device memory that is touched before it is measured.
class Memory {
 public:
  Memory(Device& device, size_t bytes) : device_(device), p_(device.allocate(bytes)) {
    device.set(p_, 0x5a, bytes);
  }
  ~Memory() { device_.free(p_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* get() const { return static_cast<char*>(p_); }

 private:
  Device& device_;
  void* p_;
};

using Body = std::function<void()>;

struct Side {
  Body body;
  int64_t repeats = 1;
  std::vector<double> samples = {};
  double median();
};

// Samples of at least 1 ms (2 ms on accelerators), each side in turn, for about this many seconds.
// `settle` seconds of every turn run before its sample and do not count: the threads of another
// library spin for a while after its last call.
void measure(Device& device, std::vector<Side>& sides, double seconds, double settle = 0);

}  // namespace infini::bench
