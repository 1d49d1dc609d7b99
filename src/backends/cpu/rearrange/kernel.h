// What all rearrange kernels of the CPU share: how they are run or recorded, and how loops are walked.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/schedule.h"
#include "backends/cpu/runtime/stream.h"
#include "contract/kernels.h"

namespace infini::cpu {

class Kernel : public RearrangeKernel {
 public:
  explicit Kernel(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes() const { return bytes_; }  // that are written

  void run(void* dst, const void* src, void* stream) const final {
    auto* to = static_cast<char*>(dst);
    auto* from = static_cast<const char*>(src);
    if (stream != nullptr) [[unlikely]] {
      if (const auto recording = capture_of(stream)) {
        recording->add([self = shared_from_this(), this, to, from] { execute(to, from); });
        return;
      }
    }
    execute(to, from);
  }
  // Base pointers in, everything done when it returns. Does not throw.
  virtual void execute(char* dst, const char* src) const = 0;
  // How execute() goes with a dst at this address, in a word or two: tests count what they have met.
  virtual std::string way(const char* dst) const = 0;

 private:
  int64_t bytes_;
};

// Four at a time, none waiting for its neighbour: small tensors spend their time here. (Four running
// sums instead of one are compiled wrongly by g++ 12 at -O3.)
inline void write_ascending(int64_t* out, int64_t count, int64_t first, int64_t step) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4, first += 4 * step) {
    out[i] = first, out[i + 1] = first + step;
    out[i + 2] = first + 2 * step, out[i + 3] = first + 3 * step;
  }
  for (; i < count; ++i, first += step) out[i] = first;
}

// The offsets of one side of a schedule (loops innermost first), from any point on.
template <int64_t Loop::*step>
class OffsetCursor {
 public:
  OffsetCursor(const std::vector<Loop>& loops, int64_t start)
      : loops_(loops.data()), depth_(static_cast<int>(loops.size())) {
    for (int i = 0; i < depth_; ++i) {
      index_[i] = start == 0 ? 0 : start % loops_[i].extent;
      start = start == 0 ? 0 : start / loops_[i].extent;
      offset_ += index_[i] * (loops_[i].*step);
    }
  }
  // Writes the next `count` offsets.
  void take(int64_t* out, int64_t count) {
    if (loops_[0].extent < few_iterations) return take_one_by_one(out, count);
    while (count > 0) {
      const int64_t left = loops_[0].extent - index_[0], now = count < left ? count : left;
      write_ascending(out, now, offset_, loops_[0].*step);
      out += now;
      count -= now;
      index_[0] += now;
      offset_ += now * (loops_[0].*step);
      if (index_[0] == loops_[0].extent) carry();
    }
  }

 private:
  // Of so short a loop each turn would be a jump that nobody foresees.
  static constexpr int64_t few_iterations = 8;
  void take_one_by_one(int64_t* out, int64_t count) {
    const int64_t apart = loops_[0].*step, extent = loops_[0].extent;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = offset_;
      offset_ += apart;
      if (++index_[0] == extent) carry();
    }
  }
  void carry() {
    for (int i = 0; i < depth_ && index_[i] == loops_[i].extent; ++i) {
      offset_ -= index_[i] * (loops_[i].*step);
      index_[i] = 0;
      if (i + 1 == depth_) return;
      ++index_[i + 1];
      offset_ += loops_[i + 1].*step;
    }
  }

  const Loop* loops_;
  int depth_;
  int64_t index_[max_rank];
  int64_t offset_ = 0;
};

// A point of a nest (loops outermost first) and its offsets on both sides.
class NestCursor {
 public:
  NestCursor(const std::vector<Loop>& loops, int64_t start)
      : loops_(loops.data()), depth_(static_cast<int>(loops.size())) {
    for (int i = depth_; i-- > 0;) {
      index_[i] = start == 0 ? 0 : start % loops_[i].extent;
      start = start == 0 ? 0 : start / loops_[i].extent;
      dst += index_[i] * loops_[i].dst_step;
      src += index_[i] * loops_[i].src_step;
    }
  }
  void advance() {
    for (int i = depth_; i-- > 0;) {
      dst += loops_[i].dst_step;
      src += loops_[i].src_step;
      if (++index_[i] < loops_[i].extent) return;
      dst -= index_[i] * loops_[i].dst_step;
      src -= index_[i] * loops_[i].src_step;
      index_[i] = 0;
    }
  }

  // Past all iterations of the innermost loop, of which none has been made.
  void skip_innermost() {
    const Loop& inner = loops_[depth_ - 1];
    index_[depth_ - 1] = inner.extent - 1;
    dst += (inner.extent - 1) * inner.dst_step;
    src += (inner.extent - 1) * inner.src_step;
    advance();
  }

  int64_t dst = 0, src = 0;

 private:
  const Loop* loops_;
  int depth_;
  int64_t index_[max_rank];
};

// A schedule's text with what it is run by, and the machine it was made for.
inline std::string with_setting(const std::string& schedule, Isa level, int threads) {
  return schedule + ", " + isa_name(level) + ", " + std::to_string(threads) +
         (threads == 1 ? " thread\n" : " threads\n") + to_string(machine());
}

}  // namespace infini::cpu
