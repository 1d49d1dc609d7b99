// How long a schedule takes: calls in turns, and the bytes that each of them moves.
#include <algorithm>

#include "backends/ascend/rearrange/nest.h"
#include "backends/ascend/rearrange/rearrange_schedule.h"

namespace infini::ascend {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

// Elements of one operator call.
int64_t elements(const OperatorView& view) {
  int64_t count = 1;
  for (int i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

// The source lies as the operator goes through it: no first pass makes it contiguous.
bool reads_in_order(const OperatorView& view) {
  int64_t dense = 1;
  for (int i = view.rank; i-- > 0;) {
    if (view.flipped[i] || view.src_dims[i] != view.dims[i] || view.src_strides[i] != dense)
      return false;
    dense *= view.dims[i];
  }
  return true;
}

// Of the source or destination of one call, which has so many elements from its first to its last: elements that lie
// alone are moved in whole blocks. (Permutations of dense memory are transposed on the chip.)
double moved_bytes(const ChipModel& chip, int64_t inner_stride, int64_t spanned, int64_t count,
                   int64_t element) {
  const double bytes = as_double(count * element);
  if (inner_stride == 1 || spanned <= count) return bytes;
  return bytes * std::max(1.0, chip.block_bytes / as_double(element));
}

double operator_ns(const ChipModel& chip, const Step& step) {
  const OperatorView view = operator_view(step);
  const int64_t count = elements(view);
  if (!ai_core_writes(view.rank, view.dims, view.dst_strides))
    return chip.ai_cpu_ns + as_double(count) * chip.ai_cpu_element_ns;
  const int inner = view.rank - 1;
  const auto moved = [&](const int64_t* strides, int64_t spanned) {
    return moved_bytes(chip, strides[inner], spanned, count, step.element);
  };
  const double dense = as_double(count * step.element);
  const double written = dense + moved(view.dst_strides, view.dst_elements);
  const double read = reads_in_order(view) ? 0 : dense + moved(view.src_strides, view.src_elements);
  return (written + read) / chip.memory_bytes_per_ns;
}

// Of one call, beside its start.
double call_ns(const ChipModel& chip, const Step& step) {
  const double ns = 2 * as_double(step.nest.atom_bytes) / chip.memory_bytes_per_ns;
  if (step.method == Method::copy) return ns;
  if (step.method == Method::copy_2d)
    return as_double(step.nest.loops.back().extent) * std::max(chip.row_ns, ns);
  return operator_ns(chip, step);
}

}  // namespace

// Calls of a series begin while the one before runs.
double nanoseconds(const ChipModel& chip, const Schedule& schedule) {
  double sum = 0;
  for (const Step& step : schedule.steps) {
    const double each = call_ns(chip, step);
    sum += chip.call_ns + each + as_double(launches(step) - 1) * std::max(chip.call_ns, each);
  }
  return sum;
}

double least_ns(const ChipModel& chip, const Nest& nest) {
  double bytes = as_double(nest.atom_bytes);
  for (const Loop& loop : nest.loops) bytes *= as_double(loop.extent);
  return chip.call_ns + bytes / chip.memory_bytes_per_ns;
}

}  // namespace infini::ascend
