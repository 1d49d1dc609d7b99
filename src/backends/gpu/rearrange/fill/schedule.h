// The fill schedule: runs of dst that repeat one unit of src.
//
// Runs that touch in dst make a stretch. It is written by vectors that are aligned in dst, so that
// only its ends are partial; where a run ends inside a vector, the rest takes the next run's unit.
// A block takes several stretches, or a piece of one: some whole runs, or a segment of one run. It
// looks up the units of its runs once, into shared memory, and then only writes.
// Law: every byte of the plan is written exactly once; a vector belongs to the piece in which it
// begins, or to the first piece of its stretch. C++17, constexpr: shared by kernel and interpreter.
#pragma once

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int fill_threads = 256;
// Vectors that a block writes, or a few more.
constexpr int fill_vectors = 1024;
// Runs are at least so long that no vector knows more than two of them.
constexpr int least_fill_bytes = vector_bytes;

struct FillSchedule {
  int32_t unit, depth;
  uint32_t blocks, stretches, stretches_per_block, shared_bytes;
  uint32_t stretch_runs;  // runs of a stretch
  uint32_t piece_runs;    // of which a piece has so many whole ones; 1 where runs are cut
  FastDivisor pieces;     // of one stretch
  FastDivisor segments;   // pieces of one run, where runs are cut
  FastDivisor listed;     // runs that a block lists of a stretch: those of its piece and the next
  FastDivisor vectors;    // of one piece
  FastDivisor run_bytes;  // of whole runs
  int32_t piece_bytes;
  uint32_t places_at, piece_at;  // in shared memory, behind the units
  int64_t whole_run_bytes, dst_offset, src_offset;
  GridLoop loops[max_grid_loops];  // which run, fastest loop first
};
static_assert(sizeof(FillSchedule) <= 512, "kernel arguments travel with every launch");

// A unit as it lies in shared memory.
constexpr int listed_bytes(int unit) { return unit < 4 ? 4 : unit; }

struct FillBlock {
  uint32_t first_stretch, stretches;
  uint32_t first_run;  // in its stretch
  int64_t begin;       // bytes of that run which other pieces have
  bool leads;          // the piece is the first of its stretch
};

constexpr FillBlock place_fill(const FillSchedule& s, uint32_t block) {
  const uint32_t piece = take_digit(block, s.pieces);
  const uint32_t first_stretch = block * s.stretches_per_block;
  const uint32_t left = s.stretches - first_stretch;
  const uint32_t run = divide(piece, s.segments);
  return {first_stretch, left < s.stretches_per_block ? left : s.stretches_per_block,
          run * s.piece_runs,
          static_cast<int64_t>(piece - run * s.segments.divisor) * s.piece_bytes, piece == 0};
}

// Run `i` of those that a block lists of a stretch. Behind the last run there is none to be known.
constexpr uint32_t listed_run(const FillSchedule& s, const FillBlock& block, uint32_t stretch,
                              uint32_t i) {
  const uint32_t run = block.first_run + i;
  const uint32_t last = s.stretch_runs - 1;
  return (block.first_stretch + stretch) * s.stretch_runs + (run < last ? run : last);
}

// What a piece's bytes are, counted from its beginning.
struct FillPiece {
  int32_t bytes;    // that belong to it
  int32_t stretch;  // until the stretch ends, if less than a vector more
  int32_t run_end;  // where its first run ends, likewise
};

constexpr FillPiece fill_piece(const FillSchedule& s, const FillBlock& block) {
  const int64_t run_left = s.whole_run_bytes - block.begin;
  const int64_t left =
      run_left + (int64_t{s.stretch_runs} - 1 - block.first_run) * s.whole_run_bytes;
  const int64_t cut = s.segments.divisor > 1 && run_left < s.piece_bytes ? run_left : s.piece_bytes;
  const int64_t bytes = left < cut ? left : cut, seen = bytes + vector_bytes;
  return {static_cast<int32_t>(bytes), static_cast<int32_t>(left < seen ? left : seen),
          static_cast<int32_t>(run_left < seen ? run_left : seen)};
}

// A vector of a piece: it begins at byte `at`; bytes [begin, end) of it are written, those before
// `turn` with run `run` of those listed, the others with the next.
struct FillVector {
  int32_t at, begin, end, turn;
  uint32_t run;
};

// The place of a piece's first vector: lead is where the piece begins in a vector of dst.
constexpr int32_t first_fill(const FillBlock& block, int lead) {
  return -lead & (block.leads ? -1 : vector_bytes - 1);
}

constexpr FillVector place_vector(const FillSchedule& s, const FillPiece& piece, int32_t at) {
  const uint32_t run = at < 0 ? 0 : divide(static_cast<uint32_t>(at), s.run_bytes);
  const int32_t run_end = piece.run_end + static_cast<int32_t>(run * s.run_bytes.divisor);
  const int32_t left = piece.stretch - at;
  return {at, at < 0 ? -at : 0, left < vector_bytes ? left : vector_bytes, run_end - at, run};
}

}  // namespace infini::gpu
