// The piece schedule: many copies of a few bytes to a few megabytes in one launch.
//
// A piece is moved unit by unit (1 to 16 bytes), in the order of dst. Small pieces share a block, large ones are cut into
// chunks of at most a block's units. Which piece is where is told by PiecePlaces: base pointers by value (one pair for
// each layer, or for each copy), plus pairs of offsets, or page ids, in device memory.
// Law: over all blocks and threads every unit of every piece is visited exactly once; a piece with a bad id never.
// C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include <cstdint>

#include "backends/gpu/fast_divide.h"

namespace infini::gpu {

constexpr int piece_threads = 256;
constexpr int piece_batch = 4;  // units that a thread has in flight
constexpr uint32_t block_units = piece_threads * piece_batch;
constexpr int max_piece_loops = 8;
constexpr uint32_t most_together = 512;  // pieces of one block, whose places it keeps
constexpr int most_bases = 192;          // pairs of pointers that travel with a launch

struct PieceLoop {
  FastDivisor extent;
  int64_t dst_step, src_step;
};

struct PieceSchedule {
  int32_t unit, depth;
  int32_t dense;              // a piece is one run on both sides
  uint32_t units;             // of one piece
  uint32_t pieces_per_block;  // 1 where a piece is cut into chunks
  uint32_t chunk_units;       // that a block takes of one piece
  FastDivisor chunks;         // blocks that share a piece
  FastDivisor per_piece;      // units, as a divisor
  int64_t dst_offset, src_offset;
  PieceLoop loops[max_piece_loops];  // fastest first
};

// What one block does: units [first, first + count), counted through its pieces from `piece` on.
struct BlockShare {
  uint32_t piece, first, count;
};

constexpr BlockShare share_of(const PieceSchedule& s, uint32_t block, uint32_t pieces) {
  const uint32_t chunk = take_digit(block, s.chunks);
  const uint32_t piece = block * s.pieces_per_block;
  if (s.chunks.divisor > 1) {
    const uint32_t first = chunk * s.chunk_units, left = s.units - first;
    return {piece, first, left < s.chunk_units ? left : s.chunk_units};
  }
  const uint32_t left = pieces - piece;
  return {piece, 0, (left < s.pieces_per_block ? left : s.pieces_per_block) * s.units};
}

constexpr uint32_t blocks_for(const PieceSchedule& s, uint32_t pieces) {
  return (pieces + s.pieces_per_block - 1) / s.pieces_per_block * s.chunks.divisor;
}

// Which unit of which piece: number `i` of a block's share.
struct UnitOfPiece {
  uint32_t piece, unit;
};

constexpr UnitOfPiece unit_of_share(const PieceSchedule& s, const BlockShare& share, uint32_t i) {
  const uint32_t number = share.first + i;
  if (s.pieces_per_block == 1) return {share.piece, number};
  const uint32_t piece = divide(number, s.per_piece);
  return {share.piece + piece, number - piece * s.units};
}

struct UnitPlace {
  int64_t dst, src;
};

constexpr UnitPlace place_in_piece(const PieceSchedule& s, uint32_t number) {
  UnitPlace place{s.dst_offset, s.src_offset};
  if (s.dense) {
    const int64_t at = static_cast<int64_t>(number) * s.unit;
    return {place.dst + at, place.src + at};
  }
  for (int i = 0; i < s.depth; ++i) {
    const uint32_t digit = i + 1 == s.depth ? number : take_digit(number, s.loops[i].extent);
    place.dst += digit * s.loops[i].dst_step;
    place.src += digit * s.loops[i].src_step;
  }
  return place;
}

// Addresses, or offsets to be added to addresses.
struct PiecePair {
  int64_t dst, src;
};

enum class PieceTable : int32_t { none, pairs, ids32, ids64 };

// One side's pages, see plan/rearrange/paged_plan.h. No ids: copy i takes piece i.
struct PieceSide {
  const void* ids;
  int64_t last_page, pitch, piece_step;
  FastDivisor pieces;
  int32_t whole_pages;
};

struct PiecePlaces {
  PieceTable table;
  uint32_t pieces;     // of all layers together
  FastDivisor copies;  // pieces of one layer
  const PiecePair* pairs;
  uint32_t* bad;  // the largest of ~i over all copies i that had a bad id, 0: none
  PieceSide dst, src;
  PiecePair bases[most_bases];
};
static_assert(sizeof(PieceSchedule) + sizeof(PiecePlaces) <= 4032,
              "kernel arguments are at most 4 KB");

constexpr bool wide(int64_t n) { return n < 0 || n >= int64_t{1} << 31; }

// The offset of copy i's piece, given a way to read id number n; `bad` where there is none.
template <class ReadId>
constexpr int64_t place_on_side(const PieceSide& side, uint32_t copy, bool& bad,
                                const ReadId& read) {
  int64_t page = 0, k = 0;
  if (side.ids != nullptr && side.whole_pages) {
    const uint32_t index = divide(copy, side.pieces);
    page = read(side.ids, index);
    k = copy - index * side.pieces.divisor;
  } else {
    page = side.ids == nullptr ? copy : read(side.ids, copy);
    if (side.pieces.divisor > 1 && page >= 0) {
      const int64_t number = page;
      page = wide(number) ? number / side.pieces.divisor
                          : divide(static_cast<uint32_t>(number), side.pieces);
      k = number - page * side.pieces.divisor;
    }
  }
  if (page < 0 || page > side.last_page) {
    bad = true;
    return 0;
  }
  return page * side.pitch + k * side.piece_step;
}

// Batches of copies with layouts of their own: which copy a block belongs to. first[i] counts the blocks of all copies
// before i; those that move nothing have none. A launch may have some neighbouring copies only.
struct OwnPieces {
  const PieceSchedule* schedules;
  const uint32_t* first;  // copies + 1 numbers
  uint32_t copies;
};

// `block` counts through the whole batch.
constexpr uint32_t copy_of_block(const OwnPieces& own, uint32_t block) {
  uint32_t low = 0, high = own.copies;  // first[low] <= block < first[high]
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (own.first[middle] <= block)
      low = middle;
    else
      high = middle;
  }
  return low;
}

}  // namespace infini::gpu
