// Grids: the loops that blocks are spread over, and what memory moves. All schedules share it.
//
// C++17, constexpr: shared by kernels and interpreter.
#pragma once

#include <cstdint>

#include "backends/gpu/fast_divide.h"

namespace infini::gpu {

constexpr int vector_bytes = 16;
constexpr int sector_bytes = 32;    // what memory is written by
constexpr int max_grid_loops = 10;  // deeper grids are left to the generic schedule

// A loop that blocks are spread over.
struct GridLoop {
  FastDivisor extent;
  int64_t dst_step, src_step;
};

struct RowPlace {
  int64_t dst, src;
};

// Of any schedule that numbers its rows by loops.
template <class Schedule>
constexpr RowPlace place_row(const Schedule& s, uint32_t row) {
  RowPlace place{s.dst_offset, s.src_offset};
  for (int i = 0; i < s.depth; ++i) {
    const uint32_t digit = take_digit(row, s.loops[i].extent);
    place.dst += digit * s.loops[i].dst_step;
    place.src += digit * s.loops[i].src_step;
  }
  return place;
}

}  // namespace infini::gpu
