// The tile kernel: runs a tile schedule, one block per tile.
#pragma once

#include "backends/gpu/tile_schedule.h"
#include "backends/gpu/words.cuh"

namespace infini::gpu {

// Writes down where rows and runs lie when that takes more than one loop, once for all threads.
inline __device__ void make_places(const TileSchedule& s, const TilePlace& place,
                                   unsigned char* images) {
  if (s.row_depth <= 1 && s.runs_depth <= 1) return;
  auto* row_steps = reinterpret_cast<int64_t*>(images + s.rows_at);
  auto* run_places = reinterpret_cast<RunPlace*>(images + s.runs_at);
  if (s.row_depth > 1)
    for (uint32_t i = threadIdx.x; i < place.rows; i += tile_threads) row_steps[i] = row_step(s, i);
  if (s.runs_depth > 1)
    for (uint32_t i = threadIdx.x; i < place.runs; i += tile_threads)
      run_places[i] = place_run(s, i);
  __syncthreads();
}

// A walk over the runs first, first + stride, ... of a tile.
class RunWalk {
 public:
  __device__ RunWalk(const TileSchedule& s, const unsigned char* images, uint32_t first,
                     uint32_t stride)
      : run(first),
        at{0, 0},
        stride_(stride),
        step_{0, 0},
        places_(s.runs_depth > 1 ? reinterpret_cast<const RunPlace*>(images + s.runs_at)
                                 : nullptr) {
    if (s.runs_depth == 1) {
      at = {first * s.many[0].step, static_cast<int32_t>(first) * s.many[0].image};
      step_ = {stride * s.many[0].step, static_cast<int32_t>(stride) * s.many[0].image};
    }
  }
  // True when there is such a run; `at` then says where it lies.
  __device__ bool find(uint32_t runs) {
    if (run >= runs) return false;
    if (places_ != nullptr) at = places_[run];
    return true;
  }
  __device__ void next() {
    run += stride_;
    at.dst += step_.dst;
    at.image += step_.image;
  }

  uint32_t run;
  RunPlace at;

 private:
  uint32_t stride_;
  RunPlace step_;
  const RunPlace* places_;
};

// Copies one vector of a row's image; at the ends of the source only what belongs to the row.
template <int unit>
__device__ void load_edge(const TileSchedule& s, unsigned char* to, const char* from,
                          const char* src, int32_t begin, int32_t end) {
  if (from >= src + s.src_begin && from + vector_bytes <= src + s.src_end) {
    stage_vector(to, from);
  } else {
    for (int k = 0; k < vector_bytes; k += unit)
      if (k >= begin && k < end) store_word<unit>(to + k, load_word<unit>(from + k));
  }
}

// Copies the tile's rows into their images.
template <int unit>
__device__ void load_rows(const TileSchedule& s, const TilePlace& place, const char* src,
                          unsigned char* images) {
  const auto* row_steps = reinterpret_cast<const int64_t*>(images + s.rows_at);
  const char* first = src + place.src - place.below;
  // Inside the source whole vectors may be read wherever a row begins and ends.
  const bool inside =
      place.src - place.below + s.rows_low - vector_bytes >= s.src_begin &&
      place.src - place.below + s.rows_high + place.row_bytes + vector_bytes <= s.src_end;
  const int32_t lane = (threadIdx.x & ((1u << s.row_lane_bits) - 1)) * vector_bytes;
  const uint32_t row_stride = tile_threads >> s.row_lane_bits;
  for (uint32_t row = threadIdx.x >> s.row_lane_bits; row < place.rows; row += row_stride) {
    const char* start = first + (s.row_depth <= 1 ? row_step(s, row) : row_steps[row]);
    const int shift = misalignment(start);
    const int32_t end = shift + place.row_bytes;
    unsigned char* to = images + row_image(s, row);
    for (int32_t at = lane; at < end; at += vector_bytes << s.row_lane_bits) {
      if (inside)
        stage_vector(to + at, start - shift + at);
      else
        load_edge<unit>(s, to + at, start - shift + at, src, shift - at, end - at);
    }
  }
}

// Gathers one vector, whole or partial, and stores it; offset(k) is where unit k is found.
template <int unit, class Offset>
__device__ void store_gathered(char* to, bool whole, int32_t first, int32_t run_units,
                               const unsigned char* from, const Offset& offset) {
  constexpr int units = vector_bytes / unit;
  if (whole) {
    Vector value;
#pragma unroll
    for (int k = 0; k < units; ++k) value.put<unit>(k, load_word<unit>(from + offset(k)));
    store_vector(to, value);
  } else {
#pragma unroll
    for (int k = 0; k < units; ++k)
      if (first + k >= 0 && first + k < run_units)
        store_word<unit>(to + k * unit, load_word<unit>(from + offset(k)));
  }
}

// The vectors that start at `first` of all runs of one thread.
template <int unit, class Offset>
__device__ void store_vectors(const TileSchedule& s, const TilePlace& place, char* dst,
                              const unsigned char* images, int32_t moved, int32_t first,
                              uint32_t first_run, const Offset& offset) {
  const bool whole = first >= 0 && first + vector_bytes / unit <= place.run_units;
  char* to = dst + place.dst + static_cast<int64_t>(first) * unit;
  const unsigned char* from = images + moved;
  for (RunWalk walk(s, images, first_run, tile_threads >> s.v_bits); walk.find(place.runs);
       walk.next())
    store_gathered<unit>(to + walk.at.dst, whole, first, place.run_units,
                         from + static_cast<int32_t>(walk.at.image), offset);
}

template <int unit>
__device__ void store_runs_linear(const TileSchedule& s, const TilePlace& place, char* dst,
                                  const char* src, const unsigned char* images) {
  constexpr int units = vector_bytes / unit;
  const ThreadPlace thread = place_thread(s, threadIdx.x);
  int32_t moved = misalignment(src + place.src - place.below) + place.below +
                  static_cast<int32_t>(thread.vector) * s.period_image;
  const int32_t step = s.unit_image;
  for (int32_t first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += s.v_stride * units, moved += s.v_image)
    store_vectors<unit>(s, place, dst, images, moved, first, thread.run,
                        [&](int k) { return k * step; });
}

// Words of 4 bytes hold 4 / unit neighbouring runs: their units are sorted in registers.
template <int unit>
__device__ void store_columns(const TileSchedule& s, char* to, const unsigned char* from) {
  constexpr int runs = 4 / unit;
  const int32_t step = s.unit_image;
  Vector values[runs];
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    uint32_t columns[runs];
#pragma unroll
    for (int k = 0; k < runs; ++k) columns[k] = load_word<4>(from + (word * runs + k) * step);
    transpose_units<unit>(columns);
#pragma unroll
    for (int r = 0; r < runs; ++r) values[r].word[word] = columns[r];
  }
#pragma unroll
  for (int r = 0; r < runs; ++r) store_vector(to + r * s.many[0].step, values[r]);
}

template <int unit>
__device__ void store_runs_by_columns(const TileSchedule& s, const TilePlace& place, char* dst,
                                      const char* src, const unsigned char* images) {
  constexpr int units = vector_bytes / unit, runs = 4 / unit;
  const ThreadPlace thread = place_thread(s, threadIdx.x);
  const unsigned char* from =
      images + misalignment(src + place.src) + static_cast<int32_t>(thread.vector) * s.period_image;
  for (int32_t first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
       first += s.v_stride * units, from += s.v_image) {
    char* to = dst + place.dst + static_cast<int64_t>(first) * unit;
    const bool whole = first + units <= place.run_units;
    for (RunWalk walk(s, images, thread.run * runs, (tile_threads >> s.v_bits) * runs);
         walk.find(place.runs); walk.next()) {
      if (whole) {
        store_columns<unit>(s, to + walk.at.dst, from + static_cast<int32_t>(walk.at.image));
      } else {
        for (int r = 0; r < runs; ++r)
          store_gathered<unit>(to + walk.at.dst + r * s.many[0].step, false, first, place.run_units,
                               from + walk.at.image + r * unit,
                               [&](int k) { return k * s.unit_image; });
      }
    }
  }
}

// Writes down where the first `count` positions of a run are found, whatever the rows' alignments.
template <class Entry>
__device__ void make_table(const TileSchedule& s, const TilePlace& place, const char* src,
                           uint32_t count, Entry* table) {
  const auto origin = static_cast<uint32_t>(misalignment(src + place.src - place.below));
  for (uint32_t i = threadIdx.x; i < count; i += tile_threads)
    table[i] = static_cast<Entry>(position_image(s, i, origin) + place.below);
}

template <int unit>
__device__ void store_runs_prepared(const TileSchedule& s, const TilePlace& place, char* dst,
                                    const unsigned char* images, const int32_t* table) {
  constexpr int units = vector_bytes / unit;
  const ThreadPlace thread = place_thread(s, threadIdx.x);
  const int lead = misalignment(dst + place.dst + place_run(s, thread.run).dst) / unit;
  int32_t first = static_cast<int32_t>(thread.vector) * units - lead;
  if (thread.vector >= s.v_stride || first >= place.run_units) return;
  int32_t offset[units];
  if (s.rows_even) {
    const PreparedVector at = find_in_period(s, first);
#pragma unroll
    for (int k = 0; k < units; ++k) offset[k] = table[at.index + k] + at.image;
  } else {
#pragma unroll
    for (int k = 0; k < units; ++k) {
      const PreparedVector at = find_in_stride(s, first + k);
      offset[k] = table[at.index] + at.image;
    }
  }
  for (int32_t moved = 0; first < place.run_units; first += s.v_stride * units, moved += s.v_image)
    store_vectors<unit>(s, place, dst, images, moved, first, thread.run,
                        [&](int k) { return offset[k]; });
}

template <int unit>
__device__ void store_runs_by_table(const TileSchedule& s, const TilePlace& place, char* dst,
                                    const unsigned char* images, const uint16_t* table) {
  constexpr int units = vector_bytes / unit;
  const uint32_t group_bits = s.v_low_bits + s.c_low_bits;
  const uint32_t groups = table_groups(s, place);
  for (uint32_t group = threadIdx.x >> group_bits; group < groups;
       group += tile_threads >> group_bits) {
    const ThreadPlace item = place_in_group(s, group, threadIdx.x);
    if (item.run >= place.runs) continue;
    const RunPlace at = place_run(s, item.run);
    char* start = dst + place.dst + at.dst;
    const int32_t first = static_cast<int32_t>(item.vector) * units - misalignment(start) / unit;
    if (first >= place.run_units) continue;
    const bool whole = first >= 0 && first + units <= place.run_units;
    store_gathered<unit>(start + static_cast<int64_t>(first) * unit, whole, first, place.run_units,
                         images + at.image, [&](int k) { return table[first + k]; });
  }
}

template <int unit, Gather gather>
__global__ void __launch_bounds__(tile_threads,
                                  resident_blocks(gather == Gather::prepared ? 4 : 6, tile_threads))
    move_tiles(const __grid_constant__ TileSchedule s, char* dst, const char* src) {
  unsigned char* images = shared_memory();
  const TilePlace place = place_tile(s, blockIdx.x);
  make_places(s, place, images);
  wait_for_predecessor();
  load_rows<unit>(s, place, src, images);
  auto* short_table = reinterpret_cast<uint16_t*>(images + s.table_at);
  auto* table = reinterpret_cast<int32_t*>(images + s.table_at);
  if constexpr (gather == Gather::table) make_table(s, place, src, place.run_units, short_table);
  if constexpr (gather == Gather::prepared) make_table(s, place, src, s.table_units, table);
  stage_wait();
  __syncthreads();
  if constexpr (gather == Gather::table)
    store_runs_by_table<unit>(s, place, dst, images, short_table);
  if constexpr (gather == Gather::prepared) store_runs_prepared<unit>(s, place, dst, images, table);
  if constexpr (gather == Gather::linear) store_runs_linear<unit>(s, place, dst, src, images);
  if constexpr (gather == Gather::columns) store_runs_by_columns<unit>(s, place, dst, src, images);
}

}  // namespace infini::gpu
