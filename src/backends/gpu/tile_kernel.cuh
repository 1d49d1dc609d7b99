// The tile kernel: runs a tile schedule, one block per tile.
#pragma once

#include "backends/gpu/tile_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

// Copies the tile's rows into their images.
template <int unit>
__device__ void load_rows(const TileSchedule& s, const TilePlace& place, const char* src,
                          unsigned char* images) {
  const char* first = src + place.src - place.below;
  const FastDivisor& vectors = s.row_vectors[s.rows_uniform && misalignment(first) == 0 ? 0 : 1];
  const uint32_t count = static_cast<uint32_t>(place.rows) * vectors.divisor;
  for (uint32_t i = threadIdx.x; i < count; i += tile_threads) {
    const uint32_t row = divide(i, vectors);
    const int32_t at = static_cast<int32_t>(i - row * vectors.divisor) * vector_bytes;
    const char* start = first + row_step(s, row);
    const int shift = misalignment(start);
    if (at >= shift + place.row_bytes) continue;
    const char* from = start - shift + at;
    unsigned char* to = images + row_image(s, row) + at;
    if (from >= src + s.src_begin && from + vector_bytes <= src + s.src_end) {
      stage_vector(to, from);
    } else {  // the vector reaches over the end of the source: only what belongs to the row
      for (int k = 0; k < vector_bytes; k += unit)
        if (at + k >= shift && at + k < shift + place.row_bytes)
          store_word<unit>(to + k, load_word<unit>(from + k));
    }
  }
}

// All rows have one alignment and all runs have one: what a thread gathers lies at offsets that it
// computes once.
template <int unit>
__device__ void store_runs_uniform(const TileSchedule& s, const TilePlace& place, char* dst,
                                   const char* src, const unsigned char* images) {
  constexpr int units = vector_bytes / unit;
  const ThreadPlace thread = place_thread(s, threadIdx.x);
  if (thread.vector >= s.v_stride) return;
  const int lead = misalignment(dst + place.dst) / unit;
  const int shift = misalignment(src + place.src - place.below) + place.below;
  const uint32_t run_stride = tile_threads >> s.v_bits;
  int32_t first = static_cast<int32_t>(thread.vector) * units - lead;
  int32_t offset[units];
#pragma unroll
  for (int k = 0; k < units; ++k) offset[k] = uniform_image(s, first + k, shift);
  for (int32_t moved = 0; first < place.run_units;
       first += s.v_stride * units, moved += s.v_image) {
    for (uint32_t run = thread.run; run < place.runs; run += run_stride) {
      const RunPlace at = place_run(s, run);
      char* to = dst + place.dst + at.dst + static_cast<int64_t>(first) * unit;
      const unsigned char* from = images + moved + at.image;
      Vector value;
      if (first >= 0 && first + units <= place.run_units) {
#pragma unroll
        for (int k = 0; k < units; ++k)
          value.template put<unit>(k, load_word<unit>(from + offset[k]));
        store_vector(to, value);
      } else {
#pragma unroll
        for (int k = 0; k < units; ++k)
          if (first + k >= 0 && first + k < place.run_units)
            store_word<unit>(to + k * unit, load_word<unit>(from + offset[k]));
      }
    }
  }
}

// Writes down where each position of a run is found, whatever the rows' alignments.
inline __device__ void make_table(const TileSchedule& s, const TilePlace& place, const char* src,
                                  uint16_t* table) {
  const char* first = src + place.src - place.below;
  for (uint32_t i = threadIdx.x; i < place.run_units; i += tile_threads) {
    const RunPosition at = run_position(s, i);
    const int shift = misalignment(first + row_step(s, at.row)) + place.below;
    table[i] = static_cast<uint16_t>(row_image(s, at.row) + at.image + shift);
  }
}

template <int unit>
__device__ void store_runs_by_table(const TileSchedule& s, const TilePlace& place, char* dst,
                                    const unsigned char* images, const uint16_t* table) {
  constexpr int units = vector_bytes / unit;
  const uint32_t group_bits = s.v_low_bits + s.c_low_bits;
  const uint32_t groups = table_groups(s, place);
  for (uint32_t group = threadIdx.x >> group_bits; group < groups;
       group += tile_threads >> group_bits) {
    const auto [vector, run] = place_in_group(s, group, threadIdx.x);
    if (run >= place.runs) continue;
    const RunPlace at = place_run(s, run);
    char* start = dst + place.dst + at.dst;
    const int32_t first = static_cast<int32_t>(vector) * units - misalignment(start) / unit;
    if (first >= place.run_units) continue;
    char* to = start + static_cast<int64_t>(first) * unit;
    const unsigned char* from = images + at.image;
    if (first >= 0 && first + units <= place.run_units) {
      Vector value;
#pragma unroll
      for (int k = 0; k < units; ++k)
        value.template put<unit>(k, load_word<unit>(from + table[first + k]));
      store_vector(to, value);
    } else {
#pragma unroll
      for (int k = 0; k < units; ++k)
        if (first + k >= 0 && first + k < place.run_units)
          store_word<unit>(to + k * unit, load_word<unit>(from + table[first + k]));
    }
  }
}

template <int unit, bool uniform>
__global__ void __launch_bounds__(tile_threads)
    move_tiles(const __grid_constant__ TileSchedule s, char* dst, const char* src) {
  extern __shared__ uint4 shared[];
  auto* images = reinterpret_cast<unsigned char*>(shared);
  const TilePlace place = place_tile(s, blockIdx.x);
  load_rows<unit>(s, place, src, images);
  auto* table = reinterpret_cast<uint16_t*>(images + s.table_offset);
  if constexpr (!uniform) make_table(s, place, src, table);
  stage_wait();
  __syncthreads();
  if constexpr (uniform)
    store_runs_uniform<unit>(s, place, dst, src, images);
  else
    store_runs_by_table<unit>(s, place, dst, images, table);
}

}  // namespace infini::gpu
