// The rearrange plan: what a copy between two layouts moves, as plain data.
//
// A plan is a nest of loops around one contiguous run of bytes (the atom). It is made once from two
// layouts by pure steps and then consumed by every backend.
// Law: the set of (dst byte, src byte) pairs of the plan equals that of the two layouts.
// Form: extents >= 2; dst steps positive and descending from the outermost loop inwards; no two
// points of the nest write the same byte; no two neighbouring loops could be one; the innermost loop
// is not contiguous with the atom on both sides. Nothing to move: atom_bytes == 0 and depth == 0.
#pragma once

#include <cstdint>
#include <string>

#include "plan/layout/layout.h"

namespace infini {

struct Loop {
  int64_t extent, dst_step, src_step;  // steps in bytes
};

struct RearrangePlan {  // copies atom_bytes at every point of the nest, outermost loop first
  int64_t atom_bytes = 0, dst_offset = 0, src_offset = 0;
  int depth = 0;
  Loop loops[max_rank];
};

// Throws BAD_TENSOR_DTYPE, BAD_TENSOR_SHAPE (they differ) or BAD_TENSOR_STRIDES (dst overlaps
// itself, or its disjointness could not be decided, see disjoint.h).
RearrangePlan make_rearrange_plan(const Layout& dst, const Layout& src);

// Bytes written, which is also bytes read when each read is counted.
int64_t moved_bytes(const RearrangePlan& plan);
// Bytes read when each source byte counts once: loops with a src step of 0 do not multiply.
int64_t distinct_source_bytes(const RearrangePlan& plan);
// The bytes touched, relative to the base pointers.
ByteRange dst_range(const RearrangePlan& plan);
ByteRange src_range(const RearrangePlan& plan);
// True when every byte would be copied onto itself if the two base pointers were equal.
bool is_identity(const RearrangePlan& plan);
// The number of atoms: the product of the extents (0 when nothing moves).
int64_t atom_count(const RearrangePlan& plan);

// The same copy in two steps: src into a dense temporary of moved_bytes(plan), then into dst.
struct StagedPlans {
  RearrangePlan gather, scatter;
};
StagedPlans stage_through_dense(const RearrangePlan& plan);

// The same copy in two steps where a loop reads the same again and again (its src step is 0): its first iteration, then from there,
// with dst's base pointer on both sides, all others.
struct RepeatedPlans {
  RearrangePlan once, again;
};
RepeatedPlans repeat_in_dst(const RearrangePlan& plan, int loop);

bool operator==(const RearrangePlan& a, const RearrangePlan& b);

// For people: one line per loop, then the atom.
std::string to_string(const RearrangePlan& plan);
std::ostream& operator<<(std::ostream& out, const RearrangePlan& plan);

}  // namespace infini
