// What operators see of a step, which destinations the AI Core writes, and schedules in words.
#include <algorithm>
#include <sstream>

#include "backends/ascend/rearrange/nest.h"

namespace infini::ascend {
namespace {

struct Dim {
  int64_t size, stride;
};

// Neighbours that are dense relative to each other count as one dimension.
int merge(int rank, const int64_t* dims, const int64_t* strides, Dim* merged) {
  int count = 0;
  for (int i = 0; i < rank; ++i) {
    if (count > 0 && merged[count - 1].stride == dims[i] * strides[i])
      merged[count - 1] = {merged[count - 1].size * dims[i], strides[i]};
    else
      merged[count++] = {dims[i], strides[i]};
  }
  return count;
}

// Dense, in whatever order: the chip moves or transposes it.
bool permuted_dense(int rank, const int64_t* dims, const int64_t* strides) {
  unsigned used = 0;
  int64_t expected = 1;
  for (int found = 0; found < rank; ++found) {
    int i = 0;
    while (i < rank && ((used >> i & 1) || strides[i] != expected)) ++i;
    if (i == rank) return false;
    used |= 1u << i;
    expected *= dims[i];
  }
  return true;
}

const char* name(Method method) {
  constexpr const char* names[] = {"copy", "2-D copy", "view copy", "flip"};
  return names[static_cast<int>(method)];
}

const char* name(Place place, const char* client) {
  return place == Place::client ? client : place == Place::stage_0 ? "dense 0" : "dense 1";
}

}  // namespace

bool ai_core_writes(int rank, const int64_t* dims, const int64_t* strides) {
  if (permuted_dense(rank, dims, strides)) return true;
  Dim merged[max_operator_rank];
  const int count = merge(rank, dims, strides, merged);
  const Dim run = merged[count - 1];
  if (count == 1) return true;                                            // uniform step
  if (count == 2) return run.stride == 1 && merged[0].stride > run.size;  // row pitch
  if (count > 4 || run.stride != 1 || run.size < 32) return false;
  return std::all_of(merged, merged + count - 1,
                     [&](const Dim& d) { return d.stride >= run.size; });
}

OperatorView operator_view(const Step& step) {
  OperatorView view;
  const Nest& nest = step.nest;
  view.dst_elements = view.src_elements = 1;
  auto add = [&](int64_t extent, int64_t dst_step, int64_t src_step) {
    const int64_t dst_stride = dst_step / step.element, src_stride = src_step / step.element;
    const int i = view.rank++;
    view.dims[i] = extent;
    view.dst_strides[i] = dst_stride;
    view.src_dims[i] = src_step == 0 ? 1 : extent;
    view.src_strides[i] = src_step == 0 ? 1 : std::abs(src_stride);
    view.flipped[i] = src_step < 0;
    view.dst_elements += dst_stride * (extent - 1);
    view.src_elements += std::abs(src_stride) * (extent - 1);
    if (src_step < 0) view.src_low += src_step * (extent - 1);
  };
  for (size_t i = step.outer; i < nest.loops.size(); ++i)
    add(nest.loops[i].extent, nest.loops[i].dst_step, nest.loops[i].src_step);
  if (nest.atom_bytes > step.element || view.rank == 0)
    add(nest.atom_bytes / step.element, step.element, step.element);
  for (int i = view.rank; i-- > 0;)  // a broadcast dim gets the stride that a dense one would have
    if (view.src_dims[i] == 1 && i + 1 < view.rank)
      view.src_strides[i] = view.src_dims[i + 1] * view.src_strides[i + 1];
  return view;
}

int64_t natural_element(const RearrangePlan& plan) { return largest_element(to_nest(plan), 8); }

int64_t launches(const Step& step) {
  int64_t count = 1;
  for (size_t i = 0; i < step.outer; ++i) count *= step.nest.loops[i].extent;
  return count;
}

int64_t launches(const Schedule& schedule) {
  int64_t count = 0;
  for (const Step& step : schedule.steps) count += launches(step);
  return count;
}

std::string to_string(const Schedule& schedule) {
  std::ostringstream text;
  for (const Step& step : schedule.steps) {
    const OperatorView view = operator_view(step);
    text << name(step.from, "src") << " -> " << name(step.to, "dst") << ": " << launches(step)
         << " x " << name(step.method) << " of";
    if (step.method == Method::copy || step.method == Method::copy_2d) {
      text << " " << step.nest.atom_bytes << " bytes";
      if (step.method == Method::copy_2d) text << " x " << step.nest.loops.back().extent << " rows";
    } else {
      text << " int" << 8 * step.element;
      for (int i = 0; i < view.rank; ++i) text << (i ? "x" : " ") << view.dims[i];
    }
    text << "\n";
  }
  return text.str();
}

}  // namespace infini::ascend
