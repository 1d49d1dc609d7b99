// The fill kernel: runs a fill schedule.
#pragma once

#include "backends/gpu/rearrange/fill/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// 8 bytes of a unit over and over; a vector has them twice.
struct Filling {
  uint32_t low, high;
};

template <int unit>
using Listed = Word<listed_bytes(unit)>;

template <int unit>
__device__ Listed<unit> repeat_unit(Word<unit> value) {
  if constexpr (unit == 1)
    return value * 0x01010101u;
  else if constexpr (unit == 2)
    return value * 0x00010001u;
  else
    return value;
}

template <int unit>
__device__ Filling filling(Listed<unit> value) {
  if constexpr (unit == 8)
    return {value.x, value.y};
  else
    return {value, value};
}

// The first `turn` bytes of a vector of a, at least one, the others of b. Byte k of a word is selected by nibble k, where 4
// more is b's.
__device__ inline Vector join_fillings(const Filling& a, const Filling& b, int turn) {
  const int most = turn < vector_bytes ? turn : vector_bytes;
  const uint64_t select =
      (UINT64_C(0x4444444444444440) << (4 * (most - 1))) | UINT64_C(0x3210321032103210);
  const auto low = static_cast<uint32_t>(select), high = static_cast<uint32_t>(select >> 32);
  return {{permute_bytes(a.low, b.low, low & 0xffff), permute_bytes(a.high, b.high, low >> 16),
           permute_bytes(a.low, b.low, high & 0xffff), permute_bytes(a.high, b.high, high >> 16)}};
}

template <int unit>
__device__ void list_runs(const FillSchedule& s, const FillBlock& block, Listed<unit>* units,
                          int64_t* places, const char* src) {
  for (uint32_t i = threadIdx.x; i < block.stretches * s.listed.divisor; i += fill_threads) {
    const uint32_t stretch = divide(i, s.listed), run = i - stretch * s.listed.divisor;
    const RowPlace place = place_row(s, listed_run(s, block, stretch, run));
    units[i] = repeat_unit<unit>(load_word<unit>(src + place.src));
    if (run == 0) places[stretch] = place.dst + block.begin;
  }
}

template <int unit>
__global__ void __launch_bounds__(fill_threads, resident_blocks(8, fill_threads))
    move_fills(const __grid_constant__ FillSchedule s, char* dst, const char* src) {
  char* shared = reinterpret_cast<char*>(shared_memory());
  auto* units = reinterpret_cast<Listed<unit>*>(shared);
  auto* places = reinterpret_cast<int64_t*>(shared + s.places_at);
  const FillBlock block = place_fill(s, blockIdx.x);
  auto* shared_piece = reinterpret_cast<FillPiece*>(shared + s.piece_at);
  if (threadIdx.x == 0) *shared_piece = fill_piece(s, block);
  wait_for_predecessor();
  list_runs<unit>(s, block, units, places, src);
  __syncthreads();
  const FillPiece piece =
      *shared_piece;  // from there compilers do not find it anew for each vector
  for (uint32_t i = threadIdx.x; i < block.stretches * s.vectors.divisor; i += fill_threads) {
    const uint32_t stretch = divide(i, s.vectors);
    char* to = dst + places[stretch];
    const int32_t at = first_fill(block, misalignment(to)) +
                       static_cast<int32_t>(i - stretch * s.vectors.divisor) * vector_bytes;
    if (at >= piece.bytes) continue;
    const FillVector v = place_vector(s, piece, at);
    const Listed<unit>* unit_at = units + stretch * s.listed.divisor + v.run;
    const Vector value =
        join_fillings(filling<unit>(unit_at[0]), filling<unit>(unit_at[1]), v.turn);
    store_part<unit>(to + at, value, v.begin, v.end);
  }
}

}  // namespace infini::gpu
