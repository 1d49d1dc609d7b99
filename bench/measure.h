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
  std::vector<double> samples = {};  // seconds of a run, one for each turn
  double median() const;
};

// Half of what lies between the quartiles, by the median: how far a turn usually is from it.
double spread_of(std::vector<double> values);

// How many times as long `other` takes: the median over the turns, so that a machine which is slower for a while is
// slower for both.
double times_as_long(const Side& other, const Side& side);
// For each turn.
std::vector<double> ratios_of(const Side& other, const Side& side);

// Samples of at least 1 ms (2 ms on accelerators), each side in turn, for about this many seconds.
// `settle` seconds of every turn run before its sample and do not count. `idle` seconds nothing runs before them: the
// threads of another library spin for a while after its last call, and where there is no processor left for one of ours,
// it may share that of another for all of the turn. Throws Interrupted.
void measure(Device& device, std::vector<Side>& sides, double seconds, double settle = 0,
             double idle = 0);

// The library's setting, which a copy of base in this program would not know.
int threads_in_use();
void set_threads(int count);

// Seconds of one run: of two where that is short, the second.
double time_once(Device& device, const Body& body);

}  // namespace infini::bench
