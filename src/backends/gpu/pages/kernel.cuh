// The piece kernels: every thread moves up to four units at a time, each of whichever piece it belongs to.
#pragma once

#include "backends/gpu/pages/schedule.h"
#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

struct PieceEnds {
  char* dst;  // null: the piece has a bad id
  const char* src;
};

// By id, where `table` says how wide ids are.
struct ReadId {
  PieceTable table;
  template <class Index>
  constexpr int64_t operator()(const void* ids, Index index) const {
    return table == PieceTable::ids64 ? static_cast<const int64_t*>(ids)[index]
                                      : static_cast<const int32_t*>(ids)[index];
  }
};

__device__ inline PieceEnds find_piece(const PiecePlaces& places, uint32_t piece) {
  const uint32_t layer = divide(piece, places.copies);
  const uint32_t copy = piece - layer * places.copies.divisor;
  int64_t dst = places.bases[layer].dst, src = places.bases[layer].src;
  if (places.table == PieceTable::pairs) {
    const PiecePair pair = places.pairs[copy];
    dst += pair.dst;
    src += pair.src;
  } else if (places.table != PieceTable::none) {
    bool bad = false;
    const ReadId read{places.table};
    dst += place_on_side(places.dst, copy, bad, read);
    src += place_on_side(places.src, copy, bad, read);
    if (bad) {
      raise_to(places.bad, ~copy);
      return {nullptr, nullptr};
    }
  }
  return {reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src)};
}

// The block has one piece, or a chunk of it.
template <int unit>
__device__ void move_one(const PieceSchedule& s, const BlockShare& share, const PieceEnds& ends) {
  Word<unit> values[piece_batch];
#pragma unroll
  for (int k = 0; k < piece_batch; ++k) {
    const uint32_t i = threadIdx.x + k * piece_threads;
    if (i < share.count)
      values[k] = load_word<unit>(ends.src + place_in_piece(s, share.first + i).src);
  }
#pragma unroll
  for (int k = 0; k < piece_batch; ++k) {
    const uint32_t i = threadIdx.x + k * piece_threads;
    if (i < share.count)
      store_word<unit>(ends.dst + place_in_piece(s, share.first + i).dst, values[k]);
  }
}

// The block has several pieces, whose places it looks up first.
template <int unit>
__device__ void move_several(const PieceSchedule& s, const BlockShare& share,
                             const PiecePlaces& places) {
  auto* table = reinterpret_cast<PieceEnds*>(shared_memory());
  const uint32_t pieces = divide(share.count, s.per_piece);
  for (uint32_t i = threadIdx.x; i < pieces; i += piece_threads)
    table[i] = find_piece(places, share.piece + i);
  __syncthreads();
  Word<unit> values[piece_batch];
  char* to[piece_batch];
#pragma unroll
  for (int k = 0; k < piece_batch; ++k) {
    const uint32_t i = threadIdx.x + k * piece_threads;
    to[k] = nullptr;
    if (i >= share.count) continue;
    const UnitOfPiece which = unit_of_share(s, share, i);
    const PieceEnds ends = table[which.piece - share.piece];
    if (ends.dst == nullptr) continue;
    const UnitPlace place = place_in_piece(s, which.unit);
    values[k] = load_word<unit>(ends.src + place.src);
    to[k] = ends.dst + place.dst;
  }
#pragma unroll
  for (int k = 0; k < piece_batch; ++k)
    if (to[k] != nullptr) store_word<unit>(to[k], values[k]);
}

template <int unit, bool several>
__global__ void __launch_bounds__(piece_threads, resident_blocks(6, piece_threads))
    move_pieces(const __grid_constant__ PieceSchedule s,
                const __grid_constant__ PiecePlaces places) {
  const BlockShare share = share_of(s, blockIdx.x, places.pieces);
  wait_for_predecessor();
  if constexpr (several) {
    move_several<unit>(s, share, places);
  } else {
    const PieceEnds ends = find_piece(places, share.piece);
    if (ends.dst != nullptr) move_one<unit>(s, share, ends);
  }
}

// A unit that may lie anywhere, by the largest words that its two addresses allow.
template <int unit>
__device__ void move_unit(char* to, const char* from) {
  const auto bits = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (unit > 8 && bits % 16 == 0) return store_word<16>(to, load_word<16>(from));
  if constexpr (unit > 8) {
    move_unit<8>(to, from);
    move_unit<8>(to + 8, from + 8);
  } else if constexpr (unit > 1) {
    if (bits % unit == 0) return store_word<unit>(to, load_word<unit>(from));
    move_unit<unit / 2>(to, from);
    move_unit<unit / 2>(to + unit / 2, from + unit / 2);
  } else {
    store_word<1>(to, load_word<1>(from));
  }
}

template <int unit>
__device__ void move_own_share(const PieceSchedule& s, const BlockShare& share,
                               const PieceEnds& ends) {
  const auto bits = reinterpret_cast<uintptr_t>(ends.dst + s.dst_offset) |
                    reinterpret_cast<uintptr_t>(ends.src + s.src_offset);
  if (bits % unit == 0) return move_one<unit>(s, share, ends);
  for (uint32_t i = threadIdx.x; i < share.count; i += piece_threads) {
    const UnitPlace place = place_in_piece(s, share.first + i);
    move_unit<unit>(ends.dst + place.dst, ends.src + place.src);
  }
}

// Copies with layouts of their own: the block looks up its copy and that one's schedule.
__global__ void __launch_bounds__(piece_threads)
    move_own_pieces(const __grid_constant__ OwnPieces own,
                    const __grid_constant__ PiecePlaces places) {
  wait_for_predecessor();
  const uint32_t block = own.first[0] + blockIdx.x;
  const uint32_t copy = copy_of_block(own, block);
  const PieceSchedule& s = own.schedules[copy];
  const BlockShare share = share_of(s, block - own.first[copy], 1);
  const PieceEnds ends = find_piece(places, copy);
  switch (s.unit) {
    case 16: return move_own_share<16>(s, share, ends);
    case 8: return move_own_share<8>(s, share, ends);
    case 4: return move_own_share<4>(s, share, ends);
    case 2: return move_own_share<2>(s, share, ends);
    default: return move_own_share<1>(s, share, ends);
  }
}

}  // namespace infini::gpu
