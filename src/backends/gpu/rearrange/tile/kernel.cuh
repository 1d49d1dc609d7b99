// The tile kernel: runs a tile schedule, one block per tile.
#pragma once

#include "backends/gpu/rearrange/tile/store.cuh"
#include "backends/gpu/rearrange/tile/store_words.cuh"

namespace infini::gpu {

// Copies one vector of a row's image; at the ends of the source only what belongs to the row.
template <int unit>
__device__ void load_edge(const TileSchedule& s, unsigned char* to, const char* from,
                          const char* src, int32_t begin, int32_t end) {
  if (from >= src + s.src_begin && from + vector_bytes <= src + s.src_end) {
    stage_vector(to, from, s.whole_lines != 0);
  } else {
    for (int k = 0; k < vector_bytes; k += unit)
      if (k >= begin && k < end) store_word<unit>(to + k, load_word<unit>(from + k));
  }
}

// Writes down where rows lie, where that takes several loops and every thread has several rows.
inline __device__ void list_rows(const TileSchedule& s, const TilePlace& place, WalkPlace* rows) {
  if (!s.rows_listed) return;
  for (uint32_t r = threadIdx.x; r < place.rows; r += tile_threads) rows[r] = place_row_image(s, r);
  __syncthreads();
}

// Copies the tile's rows into their images.
template <int unit, bool can_list>
__device__ void load_rows(const TileSchedule& s, const TilePlace& place, const char* src,
                          unsigned char* images) {
  const auto* listed = reinterpret_cast<const WalkPlace*>(images + s.rows_at);
  const char* first = src + place.src - place.below;
  const int origin = before_row(reinterpret_cast<uintptr_t>(first));
  // Inside the source whole vectors may be read wherever a row begins and ends.
  const bool inside =
      place.src - place.below + s.rows_low - vector_bytes >= s.src_begin &&
      place.src - place.below + s.rows_high + place.row_bytes + vector_bytes <= s.src_end;
  const FastDivisor& lanes = s.row_lanes[!s.rows_sectored || origin != 0];
  const ThreadPlace thread = place_thread(threadIdx.x, lanes);
  const uint32_t row_threads = divide(tile_threads, lanes);
  if (thread.run >= row_threads) return;
  const auto lane = static_cast<int32_t>(thread.vector) * vector_bytes;
  const auto row_of = [&](uint32_t number) {
    return can_list && s.rows_listed ? listed[number] : place_row_image(s, number);
  };
  if (inside && lanes.divisor < tile_threads) {  // usual, and a vector of each row for each thread
    unsigned char* to = images + origin;
#pragma unroll 1
    for (uint32_t number = thread.run; number < place.rows; number += row_threads) {
      const WalkPlace row = row_of(number);
      const char* start = first + row.step;
      const int32_t at = lane - before_row(reinterpret_cast<uintptr_t>(start));
      if (holds_some(at, place.row_bytes))
        stage_vector(to + (row.image + at), start + at, s.whole_lines != 0);
    }
    return;
  }
  const auto stride = static_cast<int32_t>(lanes.divisor) * vector_bytes;
  for (uint32_t number = thread.run; number < place.rows; number += row_threads) {
    const WalkPlace row = row_of(number);
    const char* start = first + row.step;
    unsigned char* to = images + origin + row.image;
    for (int32_t at = lane - before_row(reinterpret_cast<uintptr_t>(start)); at < place.row_bytes;
         at += stride) {
      if (!holds_some(at, place.row_bytes)) continue;
      if (inside)
        stage_vector(to + at, start + at, s.whole_lines != 0);
      else
        load_edge<unit>(s, to + at, start + at, src, -at, place.row_bytes - at);
    }
  }
}

// Writes down where the first positions of a run are found, whatever the loops they are made of.
// `together`: a thread's entries follow one another, and most of them are found by a step.
template <bool together>
__device__ void make_table(const TileSchedule& s, const TilePlace& place, int32_t* table) {
  if constexpr (!together) {
    for (uint32_t i = threadIdx.x; i < s.table_units; i += tile_threads)
      table[i] = position_image(s, table_position(s, place, i));
    return;
  }
  const TableShare share = share_table(s, threadIdx.x);
  if (share_is_plain(s, place, share)) {
    const TableWalk walk = walk_table(s, share.first - vector_bytes / s.unit);
    for (uint32_t i = share.first; i < share.end; ++i)
      table[i] = table_image(s, walk, i - share.first);
  } else {
    for (uint32_t i = share.first; i < share.end; ++i)
      table[i] = position_image(s, table_position(s, place, i));
  }
}

// The same for runs.
inline __device__ void make_runs(const TileSchedule& s, const TilePlace& place, WalkPlace* runs) {
  if (s.runs_depth > 1)
    for (uint32_t r = threadIdx.x; r < place.runs; r += tile_threads) runs[r] = place_run(s, r);
}

template <int unit, Gather gather>
__global__ void __launch_bounds__(tile_threads, resident_blocks(gather == Gather::words        ? 6
                                                                : looks_up(gather) && unit < 4 ? 4
                                                                                               : 5,
                                                                tile_threads))
    move_tiles(const __grid_constant__ TileSchedule s, char* dst, const char* src) {
  unsigned char* images = shared_memory();
  TilePlace place = place_tile(s, blockIdx.x);
  if constexpr (gather == Gather::words)
    list_rows(s, place, reinterpret_cast<WalkPlace*>(images + s.rows_at));
  wait_for_predecessor();
  load_rows<unit, gather == Gather::words>(s, place, src, images);
  if constexpr (looks_up(gather))
    make_table<gather == Gather::words>(s, place, reinterpret_cast<int32_t*>(images + s.table_at));
  if constexpr (lists_runs(gather))
    make_runs(s, place, reinterpret_cast<WalkPlace*>(images + s.runs_at));
  stage_wait();
  __syncthreads();
  const ThreadPlace thread = place_thread(s, threadIdx.x);
  if constexpr (gather == Gather::staged) {
    const TileStore<unit> store(s, place, dst, src, images);
    unsigned char* copies = images + s.stage_at + vector_bytes;
    if (thread.run < s.run_threads) store.stage(thread, copies);
    __syncthreads();
    store.unstage(copies);
  } else if (gather != Gather::each && thread.run >= s.run_threads) {
    return;
  } else if constexpr (gather <= Gather::prepared || gather == Gather::words) {
    const int32_t repeats = place.repeats, turns = repeat_turns(s, repeats);
#pragma unroll 1
    for (int32_t turn = 0; turn < turns; ++turn, place.dst += s.repeat_step) {
      place.repeats = repeats_in_turn(s, repeats, turn);
      const TileStore<unit> store(s, place, dst, src, images);
      if constexpr (gather == Gather::each) store.each();
      if constexpr (gather == Gather::prepared) store.prepared(thread);
      if constexpr (gather == Gather::words) store_words(store, thread);
    }
  } else {
    const TileStore<unit> store(s, place, dst, src, images);
    if constexpr (gather == Gather::linear) store.linear(thread);
    if constexpr (gather == Gather::columns) store.columns(thread);
    if constexpr (gather == Gather::single) store.single(thread);
  }
}

}  // namespace infini::gpu
