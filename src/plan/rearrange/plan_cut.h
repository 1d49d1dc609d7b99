// Parts of a rearrange plan: what a copy that must be made in pieces makes at a time.
#pragma once

#include "plan/rearrange/rearrange_plan.h"

namespace infini {

// Iterations [begin, begin + count) of one loop, in the form that plans have.
// Law: the pairs of bytes of all parts of a loop together are those of the plan.
RearrangePlan part_of(const RearrangePlan& plan, int loop, int64_t begin, int64_t count);

// Where to cut so that pieces have at most so many bytes of dst: loops before `loop` are walked one by one, of `loop` so
// many iterations are taken at a time. Pieces of a dst without gaps are neighbours in it. Depth 0, or an atom that is
// larger: loop is -1.
struct PieceCut {
  int loop = -1;
  int64_t iterations = 0;
  int64_t pieces(const RearrangePlan& plan) const;
};
PieceCut cut_by_bytes(const RearrangePlan& plan, int64_t bytes);

// Piece number `index` of a cut: how far its bases lie from those of piece 0, and whether it is one of the last of its
// loop, which may be smaller.
struct CutPiece {
  int64_t dst = 0, src = 0;
  int64_t iterations = 0;
};
CutPiece piece_of(const RearrangePlan& plan, const PieceCut& cut, int64_t index);
// The plan of a piece with so many iterations, at the place of piece 0.
RearrangePlan piece_plan(const RearrangePlan& plan, const PieceCut& cut, int64_t iterations);

}  // namespace infini
