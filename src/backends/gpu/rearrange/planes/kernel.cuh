// The planes kernel: runs a planes schedule.
#pragma once

#include "backends/gpu/rearrange/planes/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// The vectors of one chunk, on either side.
template <int planes>
struct Chunk {
  uint32_t word[4 * planes];

  __device__ void put_vector(int i, const Vector& v) {
#pragma unroll
    for (int k = 0; k < 4; ++k) word[4 * i + k] = v.word[k];
  }
  __device__ Vector vector(int i) const {
    return {{word[4 * i], word[4 * i + 1], word[4 * i + 2], word[4 * i + 3]}};
  }
};

// The other side of a chunk. Which bytes make a word is known when this is compiled.
template <int unit, int planes, bool joins>
__device__ Chunk<planes> sort_units(const Chunk<planes>& in) {
  Chunk<planes> out;
#pragma unroll
  for (int w = 0; w < 4 * planes; ++w) {
    int from[4];
#pragma unroll
    for (int b = 0; b < 4; ++b) from[b] = chunk_source(unit, planes, joins, 4 * w + b);
    if constexpr (unit == 4) {
      out.word[w] = in.word[from[0] / 4];
    } else if constexpr (unit == 2) {
      const uint32_t low = from[0] % 4, high = from[2] % 4 + 4;
      out.word[w] = permute_bytes(in.word[from[0] / 4], in.word[from[2] / 4],
                                  low | (low + 1) << 4 | high << 8 | (high + 1) << 12);
    } else {
      static_assert(unit == 1);
      uint32_t value = permute_bytes(in.word[from[0] / 4], in.word[from[1] / 4],
                                     (from[0] % 4) | (from[1] % 4 + 4) << 4);
      value = permute_bytes(value, in.word[from[2] / 4], 0x10 | (from[2] % 4 + 4) << 8);
      out.word[w] = permute_bytes(value, in.word[from[3] / 4], 0x210 | (from[3] % 4 + 4) << 12);
    }
  }
  return out;
}

// Vector i of the block's interleaved bytes between global and shared memory; the last may be
// partial. `body` moves whole vectors.
template <int unit, class Body>
__device__ void walk_interleaved(uint32_t bytes, char* to, const char* from, const Body& body) {
  for (uint32_t at = threadIdx.x * vector_bytes; at < bytes; at += plane_threads * vector_bytes) {
    if (at + vector_bytes <= bytes) {
      body(to + at, from + at);
    } else {
      for (uint32_t k = at; k < bytes; k += unit)
        store_word<unit>(to + k, load_word<unit>(from + k));
    }
  }
}

// Moves the first `count` units of a chunk whose planes end inside it.
template <int unit, int planes, bool joins>
__device__ void move_partial(char* interleaved, char* plane, int64_t plane_step, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    for (int k = 0; k < planes; ++k) {
      char* a = interleaved + (i * planes + k) * unit;
      char* b = plane + k * plane_step + i * unit;
      store_word<unit>(joins ? a : b, load_word<unit>(joins ? b : a));
    }
}

template <int unit, int planes>
__device__ void split_chunk(const PlanesPlace& place, char* shared, char* plane, int64_t step) {
  constexpr uint32_t units = vector_bytes / unit;
  const uint32_t chunk = threadIdx.x, unit_at = chunk * units;
  char* from = shared + chunk * planes * vector_bytes;
  if (unit_at + units <= place.units) {
    Chunk<planes> in;
#pragma unroll
    for (int k = 0; k < planes; ++k) in.put_vector(k, load_vector(from + k * vector_bytes));
    const Chunk<planes> out = sort_units<unit, planes, false>(in);
#pragma unroll
    for (int k = 0; k < planes; ++k)
      store_vector(plane + k * step + chunk * vector_bytes, out.vector(k));
  } else if (unit_at < place.units) {
    move_partial<unit, planes, false>(from, plane + chunk * vector_bytes, step,
                                      place.units - unit_at);
  }
}

template <int unit, int planes>
__device__ void join_chunk(const PlanesPlace& place, char* shared, const char* plane,
                           int64_t step) {
  constexpr uint32_t units = vector_bytes / unit;
  const uint32_t chunk = threadIdx.x, unit_at = chunk * units;
  char* to = shared + chunk * planes * vector_bytes;
  if (unit_at + units <= place.units) {
    Chunk<planes> in;
#pragma unroll
    for (int k = 0; k < planes; ++k)
      in.put_vector(k, load_vector(plane + k * step + chunk * vector_bytes));
    const Chunk<planes> out = sort_units<unit, planes, true>(in);
#pragma unroll
    for (int k = 0; k < planes; ++k) store_vector(to + k * vector_bytes, out.vector(k));
  } else if (unit_at < place.units) {
    move_partial<unit, planes, true>(to, const_cast<char*>(plane) + chunk * vector_bytes, step,
                                     place.units - unit_at);
  }
}

template <int unit, int planes, bool joins>
__global__ void __launch_bounds__(plane_threads, resident_blocks(4, plane_threads))
    move_planes(const __grid_constant__ PlanesSchedule s, char* dst, const char* src) {
  auto* shared = reinterpret_cast<char*>(shared_memory());
  const PlanesPlace place = place_planes(s, blockIdx.x);
  const uint32_t bytes = place.units * planes * unit;
  const int64_t plane = static_cast<int64_t>(place.first) * unit;
  wait_for_predecessor();
  if constexpr (joins) {
    join_chunk<unit, planes>(place, shared, src + place.src + plane, s.plane_step);
    __syncthreads();
    walk_interleaved<unit>(bytes, dst + place.dst + plane * planes, shared,
                           [](char* to, const char* from) { store_vector(to, load_vector(from)); });
  } else {
    walk_interleaved<unit>(bytes, shared, src + place.src + plane * planes,
                           [](char* to, const char* from) { stage_vector(to, from); });
    stage_wait();
    __syncthreads();
    split_chunk<unit, planes>(place, shared, dst + place.dst + plane, s.plane_step);
  }
}

}  // namespace infini::gpu
