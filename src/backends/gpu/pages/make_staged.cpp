// Making staged schedules: which loops are the box, and in which words both sides move.
#include "backends/gpu/pages/make_staged.h"

#include <algorithm>
#include <sstream>

namespace infini::gpu {
namespace {

constexpr int64_t enough_run = 128;  // bytes

// The largest power of two up to 16 that divides all of them.
int common_unit(uint64_t bits) {
  bits |= 16;
  return static_cast<int>(bits & (~bits + 1));
}

// The largest divisor of `extent` up to `most`, at least 1.
int64_t divisor_up_to(int64_t extent, int64_t most) {
  for (int64_t n = std::min(extent, most); n > 1; --n)
    if (extent % n == 0) return n;
  return 1;
}

// The loops that are in the box. One that is too long is cut in two: the inner part is in.
struct Box {
  RearrangePlan plan;
  bool in[max_rank] = {};
  int64_t bytes;

  explicit Box(const RearrangePlan& p) : plan(p), bytes(p.atom_bytes) {}
  bool take(int loop, int64_t wanted) {
    if (in[loop]) return true;
    Loop& whole = plan.loops[loop];
    const int64_t part = divisor_up_to(whole.extent, std::min(wanted, staged_bytes / bytes));
    if (part == 1) return false;
    if (part < whole.extent) {
      if (plan.depth == max_rank) return false;
      plan.loops[plan.depth++] = {whole.extent / part, part * whole.dst_step,
                                  part * whole.src_step};
      whole.extent = part;
    }
    in[loop] = true;
    bytes *= part;
    return true;
  }
  // Loops that continue a run of one side, each step being the bytes so far, until it is long enough.
  template <int64_t Loop::*step>
  int64_t take_run() {
    int64_t run = plan.atom_bytes;
    while (run < enough_run) {
      int next = -1;
      for (int i = 0; i < plan.depth; ++i)
        if (plan.loops[i].*step == run) next = i;
      if (next < 0 || !take(next, 2 * enough_run / run)) break;
      run *= plan.loops[next].extent;
    }
    return run;
  }
};

// The box's loops by one side's steps, the fastest first.
template <int64_t Loop::*step>
int sorted_loops(const Box& box, int* order) {
  int count = 0;
  for (int i = 0; i < box.plan.depth; ++i)
    if (box.in[i]) order[count++] = i;
  std::sort(order, order + count,
            [&](int a, int b) { return box.plan.loops[a].*step < box.plan.loops[b].*step; });
  return count;
}

// A walk in units along the fastest loop, whose extent they divide.
void set_walk(StagedLoop* walk, int& depth, const Box& box, const int* order, int count,
              const int64_t* image, int unit, int64_t Loop::*step) {
  const int64_t units = unit / box.plan.atom_bytes;
  depth = 0;
  for (int i = 0; i < count; ++i) {
    const Loop& loop = box.plan.loops[order[i]];
    const int64_t scale = i == 0 ? units : 1;
    if (loop.extent == scale) continue;
    walk[depth++] = {make_fast_divisor(static_cast<uint32_t>(loop.extent / scale)),
                     static_cast<int32_t>(image[order[i]] * scale), loop.*step * scale};
  }
}

// The unit in which a side moves: along its fastest loop, by what all of its steps allow.
int unit_of(const Box& box, const int* order, int64_t Loop::*step, uint64_t bits) {
  const Loop& fastest = box.plan.loops[order[0]];
  if (fastest.*step != box.plan.atom_bytes) return static_cast<int>(box.plan.atom_bytes);
  bits |= static_cast<uint64_t>(fastest.extent * box.plan.atom_bytes);
  for (int i = 0; i < box.plan.depth; ++i)
    if (i != order[0]) bits |= static_cast<uint64_t>(box.plan.loops[i].*step);
  return common_unit(bits);
}

// The loops that count a piece's boxes; how many these are, 0: too many.
int64_t set_outer(StagedSchedule& s, const Box& box) {
  int64_t boxes = 1;
  for (int i = box.plan.depth; i-- > 0;) {
    if (box.in[i]) continue;
    const Loop& loop = box.plan.loops[i];
    if (loop.extent >= (int64_t{1} << 30) / boxes) return 0;
    boxes *= loop.extent;
    s.outer[s.outer_depth++] = {make_fast_divisor(static_cast<uint32_t>(loop.extent)),
                                loop.dst_step, loop.src_step};
  }
  return boxes;
}

}  // namespace

std::optional<StagedSchedule> make_staged_schedule(const RearrangePlan& whole,
                                                   uint64_t other_steps) {
  const int64_t element = whole.atom_bytes;
  if (whole.depth < 2 || element > 8 || (element & (element - 1)) != 0) return std::nullopt;
  Box box(whole);
  const int64_t dst_run = box.take_run<&Loop::dst_step>();
  const int64_t src_run = box.take_run<&Loop::src_step>();
  if (dst_run < 16 || src_run < 16) return std::nullopt;
  const RearrangePlan& plan = box.plan;
  StagedSchedule s{};
  int by_src[max_rank] = {}, by_dst[max_rank] = {};
  const int count = sorted_loops<&Loop::src_step>(box, by_src);
  sorted_loops<&Loop::dst_step>(box, by_dst);
  int64_t image[max_rank] = {}, dense = element;
  for (int i = 0; i < count; ++i) {
    image[by_src[i]] = dense;
    dense *= plan.loops[by_src[i]].extent;
  }
  s.element = static_cast<int32_t>(element);
  s.load_unit = unit_of(box, by_src, &Loop::src_step, other_steps);
  s.store_unit = unit_of(box, by_dst, &Loop::dst_step, other_steps);
  if (std::min(s.load_unit, s.store_unit) <= element || count > max_staged_loops ||
      plan.depth - count > max_staged_loops)
    return std::nullopt;
  set_walk(s.load, s.load_depth, box, by_src, count, image, s.load_unit, &Loop::src_step);
  set_walk(s.store, s.store_depth, box, by_dst, count, image, s.store_unit, &Loop::dst_step);
  const int64_t boxes = set_outer(s, box);
  if (boxes == 0) return std::nullopt;
  s.element_image = static_cast<int32_t>(image[by_dst[0]]);
  s.box_bytes = static_cast<uint32_t>(box.bytes);
  s.boxes_per_block = static_cast<uint32_t>(staged_bytes / box.bytes);
  s.boxes = make_fast_divisor(static_cast<uint32_t>(boxes));
  s.loads = make_fast_divisor(s.box_bytes / static_cast<uint32_t>(s.load_unit));
  s.stores = make_fast_divisor(s.box_bytes / static_cast<uint32_t>(s.store_unit));
  s.load_lanes = make_fast_divisor(std::min<uint32_t>(s.loads.divisor, piece_threads));
  s.store_lanes = make_fast_divisor(std::min<uint32_t>(s.stores.divisor, piece_threads));
  s.dst_offset = plan.dst_offset;
  s.src_offset = plan.src_offset;
  return s;
}

int alignment_of(const StagedSchedule& s) { return std::max(s.load_unit, s.store_unit); }

std::string to_string(const StagedSchedule& s) {
  std::ostringstream text;
  text << "boxes of " << s.box_bytes << " bytes through shared memory, " << s.boxes.divisor
       << " of a piece, " << s.boxes_per_block << " in a block, loaded by " << s.load_unit
       << " and stored by " << s.store_unit << " bytes";
  return text.str();
}

}  // namespace infini::gpu
