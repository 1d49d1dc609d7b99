// The tiny schedule: one unit per thread, all loops in the thread, for tensors that take less time
// to move than to launch.
//
// What counts here is latency: a kernel argument of a few words, 32-bit steps, no shared memory,
// one wave of threads. Law: over all threads every unit of the plan is visited exactly once. C++17,
// constexpr: shared by kernel and interpreter.
#pragma once

#include <cstdint>

#include "backends/gpu/fast_divide.h"

namespace infini::gpu {

constexpr int tiny_threads = 128;
constexpr int max_tiny_loops = 6;
constexpr uint32_t max_tiny_units = 1u << 17;

struct TinyLoop {
  FastDivisor extent;
  int32_t dst_step, src_step;
};

struct TinySchedule {
  int32_t unit, depth;
  uint32_t units, blocks;
  TinyLoop loops[max_tiny_loops];  // fastest first
};
static_assert(sizeof(TinySchedule) <= 256, "the driver copies arguments with every launch");

// Offsets from the first element; the plan's own offsets go into the pointers.
struct TinyPlace {
  int32_t dst, src;
};

constexpr TinyPlace place_tiny(const TinySchedule& s, uint32_t number) {
  TinyPlace place{0, 0};
  for (int i = 0; i < max_tiny_loops; ++i) {
    if (i == s.depth) break;
    const uint32_t digit = i + 1 == s.depth ? number : take_digit(number, s.loops[i].extent);
    place.dst += static_cast<int32_t>(digit) * s.loops[i].dst_step;
    place.src += static_cast<int32_t>(digit) * s.loops[i].src_step;
  }
  return place;
}

}  // namespace infini::gpu
