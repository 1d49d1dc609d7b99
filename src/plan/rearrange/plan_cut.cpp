// Cutting rearrange plans.
#include "plan/rearrange/plan_cut.h"

#include <algorithm>

namespace infini {
namespace {

// Loops that became fewer may be fused now: the steps that make a plan do so.
RearrangePlan in_form(const RearrangePlan& loose) {
  size_t shape[max_rank];
  ptrdiff_t dst[max_rank], src[max_rank];
  size_t rank = 0;
  for (int i = 0; i < loose.depth; ++i) {
    shape[rank] = static_cast<size_t>(loose.loops[i].extent);
    dst[rank] = loose.loops[i].dst_step;
    src[rank++] = loose.loops[i].src_step;
  }
  shape[rank] = static_cast<size_t>(loose.atom_bytes);
  dst[rank] = src[rank] = 1;
  ++rank;
  RearrangePlan plan = make_rearrange_plan(make_layout(INFINI_DTYPE_U8, rank, shape, dst),
                                           make_layout(INFINI_DTYPE_U8, rank, shape, src));
  plan.dst_offset += loose.dst_offset;
  plan.src_offset += loose.src_offset;
  return plan;
}

}  // namespace

RearrangePlan part_of(const RearrangePlan& plan, int loop, int64_t begin, int64_t count) {
  RearrangePlan part = plan;
  part.dst_offset += begin * plan.loops[loop].dst_step;
  part.src_offset += begin * plan.loops[loop].src_step;
  part.loops[loop].extent = count;
  return in_form(part);
}

PieceCut cut_by_bytes(const RearrangePlan& plan, int64_t bytes) {
  PieceCut cut;
  int64_t inner = plan.atom_bytes;  // of one iteration of the loop that is looked at
  for (int i = plan.depth; i-- > 0 && inner <= bytes; inner *= plan.loops[i].extent)
    cut = {i, std::min(plan.loops[i].extent, bytes / inner)};
  return cut;
}

int64_t PieceCut::pieces(const RearrangePlan& plan) const {
  int64_t count = (plan.loops[loop].extent + iterations - 1) / iterations;
  for (int i = 0; i < loop; ++i) count *= plan.loops[i].extent;
  return count;
}

CutPiece piece_of(const RearrangePlan& plan, const PieceCut& cut, int64_t index) {
  const Loop& last = plan.loops[cut.loop];
  const int64_t along = (last.extent + cut.iterations - 1) / cut.iterations;
  const int64_t first = index % along * cut.iterations;
  CutPiece piece{first * last.dst_step, first * last.src_step,
                 std::min(cut.iterations, last.extent - first)};
  index /= along;
  for (int i = cut.loop; i-- > 0; index /= plan.loops[i].extent) {
    piece.dst += index % plan.loops[i].extent * plan.loops[i].dst_step;
    piece.src += index % plan.loops[i].extent * plan.loops[i].src_step;
  }
  return piece;
}

RearrangePlan piece_plan(const RearrangePlan& plan, const PieceCut& cut, int64_t iterations) {
  RearrangePlan piece = plan;
  for (int i = 0; i < cut.loop; ++i) piece.loops[i].extent = 1;
  piece.loops[cut.loop].extent = iterations;
  return in_form(piece);
}

}  // namespace infini
