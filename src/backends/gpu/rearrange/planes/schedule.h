// The planes schedule: 2 to 4 planes on one side, their units interleaved on the other (colour
// channels first or last, real and imaginary parts).
//
// A chunk is one vector of each plane and as many vectors in a row on the interleaved side: a
// thread sorts its units in registers. Planes are accessed directly, the interleaved side through
// shared memory, so that all accesses to global memory are whole vectors side by side. Law: over
// all blocks every unit of the plan is written exactly once with the value of its source; all
// vectors are inside their planes; bases and steps are multiples of 16 bytes. C++17, constexpr:
// shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int plane_threads = 256;
constexpr int block_chunks = plane_threads;  // one chunk per thread
constexpr int min_planes = 2, max_planes = 4;

struct PlanesSchedule {
  int32_t unit, planes;
  int32_t joins;  // dst is the interleaved side
  uint32_t blocks, shared_bytes;
  uint32_t length;     // units of one plane
  FastDivisor pieces;  // blocks along a plane
  int32_t grid_depth;
  int64_t plane_step;  // from plane to plane
  int64_t dst_offset, src_offset;
  GridLoop grid[max_grid_loops];
};
static_assert(sizeof(PlanesSchedule) <= 512, "kernel arguments travel with every launch");

struct PlanesPlace {
  int64_t dst, src;       // offsets of unit 0 of plane 0
  uint32_t first, units;  // what the block takes of each plane
};

constexpr PlanesPlace place_planes(const PlanesSchedule& s, uint32_t block) {
  const auto most = static_cast<uint32_t>(block_chunks * vector_bytes / s.unit);
  PlanesPlace place{s.dst_offset, s.src_offset, 0, 0};
  place.first = take_digit(block, s.pieces) * most;
  for (int i = 0; i < s.grid_depth; ++i) {
    const uint32_t digit = take_digit(block, s.grid[i].extent);
    place.dst += digit * s.grid[i].dst_step;
    place.src += digit * s.grid[i].src_step;
  }
  const uint32_t left = s.length - place.first;
  place.units = left < most ? left : most;
  return place;
}

// Byte `to` of a chunk's vectors comes from this byte of the chunk's vectors on the other side,
// both counted through all vectors of the chunk.
constexpr int chunk_source(int unit, int planes, bool joins, int to) {
  const int units = vector_bytes / unit, number = to / unit, byte = to % unit;
  const int from =
      joins ? number % planes * units + number / planes : number % units * planes + number / units;
  return from * unit + byte;
}

}  // namespace infini::gpu
