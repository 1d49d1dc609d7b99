// Making a rearrange plan: a chain of small pure steps, each of which keeps the plan's law.
#include "plan/rearrange/rearrange_plan.h"

#include <algorithm>
#include <sstream>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "plan/layout/disjoint.h"

namespace infini {
namespace {

void require_compatible(const Layout& dst, const Layout& src) {
  require(dst.dtype == src.dtype, INFINI_STATUS_BAD_TENSOR_DTYPE, "dst is ", dtype_name(dst.dtype),
          " but src is ", dtype_name(src.dtype), "; rearrange moves bits and needs equal dtypes");
  require(same_shape(dst, src), INFINI_STATUS_BAD_TENSOR_SHAPE, "dst has shape ", ShapeOf{dst},
          " but src has shape ", ShapeOf{src}, "; they must be equal");
}

// One loop for each dim that has more than one element.
void take_dims(RearrangePlan& plan, const Layout& dst, const Layout& src) {
  for (int i = 0; i < dst.rank; ++i) {
    if (dst.shape[i] == 1) continue;
    plan.loops[plan.depth++] = {dst.shape[i], dst.strides[i] * plan.atom_bytes,
                                src.strides[i] * plan.atom_bytes};
  }
}

// Walks every loop in the direction in which dst ascends.
void make_dst_ascending(RearrangePlan& plan) {
  for (Loop* loop = plan.loops; loop != plan.loops + plan.depth; ++loop) {
    if (loop->dst_step >= 0) continue;
    plan.dst_offset += (loop->extent - 1) * loop->dst_step;
    plan.src_offset += (loop->extent - 1) * loop->src_step;
    loop->dst_step = -loop->dst_step;
    loop->src_step = -loop->src_step;
  }
}

void sort_by_dst_step(RearrangePlan& plan) {
  std::sort(plan.loops, plan.loops + plan.depth,
            [](const Loop& a, const Loop& b) { return a.dst_step > b.dst_step; });
}

// The common case needs no search: each step is at least the span of the loops inside it.
bool dst_nests(const RearrangePlan& plan) {
  int64_t span = plan.atom_bytes;
  for (int i = plan.depth; i-- > 0;) {
    if (plan.loops[i].dst_step < span) return false;
    span += (plan.loops[i].extent - 1) * plan.loops[i].dst_step;
  }
  return true;
}

void require_disjoint_writes(const RearrangePlan& plan, const Layout& dst) {
  if (dst_nests(plan)) return;
  Dim dims[max_rank];
  for (int i = 0; i < plan.depth; ++i) dims[i] = {plan.loops[i].extent, plan.loops[i].dst_step};
  require_disjoint(are_disjoint(dims, plan.depth, plan.atom_bytes), "dst", dst);
}

bool continues(const Loop& outer, const Loop& inner) {
  int64_t dst_next, src_next;
  return checked_mul(inner.extent, inner.dst_step, dst_next) && outer.dst_step == dst_next &&
         checked_mul(inner.extent, inner.src_step, src_next) && outer.src_step == src_next;
}

// Two loops that walk both sides as one become one.
void fuse_neighbours(RearrangePlan& plan) {
  int kept = 0;
  for (int i = 0; i < plan.depth; ++i) {
    const Loop loop = plan.loops[i];
    if (kept > 0 && continues(plan.loops[kept - 1], loop)) {
      plan.loops[kept - 1] = {plan.loops[kept - 1].extent * loop.extent, loop.dst_step,
                              loop.src_step};
    } else {
      plan.loops[kept++] = loop;
    }
  }
  plan.depth = kept;
}

// After fusing at most one loop is contiguous with the atom.
void absorb_into_atom(RearrangePlan& plan) {
  if (plan.depth == 0) return;
  const Loop& inner = plan.loops[plan.depth - 1];
  if (inner.dst_step != plan.atom_bytes || inner.src_step != plan.atom_bytes) return;
  plan.atom_bytes *= inner.extent;
  --plan.depth;
}

void leave_out(RearrangePlan& plan, int loop) {
  std::copy(plan.loops + loop + 1, plan.loops + plan.depth, plan.loops + loop);
  --plan.depth;
}

template <class Step>
ByteRange range_of(const RearrangePlan& plan, int64_t offset, Step step) {
  if (plan.atom_bytes == 0) return {};
  ByteRange range{offset, offset + plan.atom_bytes};
  for (int i = 0; i < plan.depth; ++i) {
    const int64_t reach = (plan.loops[i].extent - 1) * step(plan.loops[i]);
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

}  // namespace

RearrangePlan make_rearrange_plan(const Layout& dst, const Layout& src) {
  require_compatible(dst, src);
  RearrangePlan plan;
  if (element_count(dst) == 0) return plan;
  plan.atom_bytes = dtype_bytes(dst.dtype);
  take_dims(plan, dst, src);
  make_dst_ascending(plan);
  sort_by_dst_step(plan);
  require_disjoint_writes(plan, dst);
  fuse_neighbours(plan);
  absorb_into_atom(plan);
  return plan;
}

StagedPlans stage_through_dense(const RearrangePlan& plan) {
  StagedPlans staged{plan, plan};
  staged.gather.dst_offset = staged.scatter.src_offset = 0;
  int64_t step = plan.atom_bytes;
  for (int i = plan.depth; i-- > 0;) {
    staged.gather.loops[i].dst_step = staged.scatter.loops[i].src_step = step;
    step *= plan.loops[i].extent;
  }
  for (RearrangePlan* half : {&staged.gather, &staged.scatter}) {
    fuse_neighbours(*half);
    absorb_into_atom(*half);
  }
  return staged;
}

RepeatedPlans repeat_in_dst(const RearrangePlan& plan, int loop) {
  RepeatedPlans parts{plan, plan};
  leave_out(parts.once, loop);
  parts.again.src_offset = plan.dst_offset;
  for (int i = 0; i < plan.depth; ++i) parts.again.loops[i].src_step = plan.loops[i].dst_step;
  Loop& repeated = parts.again.loops[loop];
  parts.again.dst_offset += repeated.dst_step;
  repeated = {repeated.extent - 1, repeated.dst_step, 0};
  if (repeated.extent == 1) leave_out(parts.again, loop);
  for (RearrangePlan* part : {&parts.once, &parts.again}) {
    fuse_neighbours(*part);
    absorb_into_atom(*part);
  }
  return parts;
}

int64_t atom_count(const RearrangePlan& plan) {
  int64_t count = plan.atom_bytes > 0 ? 1 : 0;
  for (int i = 0; i < plan.depth; ++i) count *= plan.loops[i].extent;
  return count;
}

int64_t moved_bytes(const RearrangePlan& plan) { return atom_count(plan) * plan.atom_bytes; }

int64_t distinct_source_bytes(const RearrangePlan& plan) {
  int64_t bytes = plan.atom_bytes;
  for (int i = 0; i < plan.depth; ++i)
    if (plan.loops[i].src_step != 0) bytes *= plan.loops[i].extent;
  return bytes;
}

ByteRange dst_range(const RearrangePlan& plan) {
  return range_of(plan, plan.dst_offset, [](const Loop& loop) { return loop.dst_step; });
}

ByteRange src_range(const RearrangePlan& plan) {
  return range_of(plan, plan.src_offset, [](const Loop& loop) { return loop.src_step; });
}

bool is_identity(const RearrangePlan& plan) {
  return plan.dst_offset == plan.src_offset &&
         std::all_of(plan.loops, plan.loops + plan.depth,
                     [](const Loop& loop) { return loop.dst_step == loop.src_step; });
}

bool operator==(const RearrangePlan& a, const RearrangePlan& b) {
  return a.atom_bytes == b.atom_bytes && a.dst_offset == b.dst_offset &&
         a.src_offset == b.src_offset && a.depth == b.depth &&
         std::equal(a.loops, a.loops + a.depth, b.loops, [](const Loop& x, const Loop& y) {
           return x.extent == y.extent && x.dst_step == y.dst_step && x.src_step == y.src_step;
         });
}

std::string to_string(const RearrangePlan& plan) {
  std::ostringstream text;
  if (plan.atom_bytes == 0) return "nothing to move";
  if (plan.dst_offset != 0 || plan.src_offset != 0)
    text << "start at dst " << plan.dst_offset << ", src " << plan.src_offset << "\n";
  for (int i = 0; i < plan.depth; ++i) {
    const Loop& loop = plan.loops[i];
    text << std::string(2 * static_cast<size_t>(i), ' ') << "for " << loop.extent
         << ": dst += " << loop.dst_step << ", src += " << loop.src_step << "\n";
  }
  text << std::string(2 * static_cast<size_t>(plan.depth), ' ') << "copy " << plan.atom_bytes
       << " bytes";
  return text.str();
}

std::ostream& operator<<(std::ostream& out, const RearrangePlan& plan) {
  return out << to_string(plan);
}

}  // namespace infini
