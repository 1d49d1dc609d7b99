// Cutting a conversion into blocks.
#include "backends/cpu/convert/blocks/schedule.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/checked.h"
#include "base/dtype.h"

namespace infini::cpu {
namespace {

using Side = ConvertSchedule::Side;

// So many elements of a transpose are taken along each of the two directions in which memory is contiguous.
constexpr int64_t along = 128;
constexpr int64_t straight_bytes = 16 << 10;

// Takes sides in this order until `wanted` elements are together, as far as whole blocks stay small.
void grow(std::vector<Side>& sides, const std::vector<int>& order, int64_t wanted, int64_t most) {
  int64_t all = 1, taken = 1;
  for (const Side& side : sides) all *= side.block;
  for (const int i : order) {
    Side& side = sides[static_cast<size_t>(i)];
    const int64_t room = std::max<int64_t>(most / (all / side.block), 1);
    const int64_t take =
        std::clamp<int64_t>(ceil_div(wanted, taken), side.block, std::min(side.extent, room));
    all = all / side.block * take;
    side.block = take;
    taken *= take;
    if (taken >= wanted || side.block < side.extent) return;
  }
}

// Blocks of one side are equally long, as far as that goes.
void even_out(std::vector<Side>& sides) {
  for (Side& side : sides) side.block = ceil_div(side.extent, side.blocks());
  // Whole lines of y, whatever its type.
  Side& inner = sides.back();
  constexpr int64_t lines = 64;
  if (inner.block < inner.extent && inner.block >= 4 * lines) inner.block -= inner.block % lines;
}

RearrangePlan dense_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                         infiniDtype_t dtype, int operand, bool gathers) {
  size_t shape[max_rank];
  ptrdiff_t strides[max_rank];
  size_t rank = 0;
  for (size_t i = 0; i < schedule.sides.size(); ++i) {
    if (block.extents[i] == 1) continue;
    shape[rank] = static_cast<size_t>(block.extents[i]);
    strides[rank++] = schedule.sides[i].steps[operand] / dtype_bytes(dtype);
  }
  const Layout dense = make_layout(dtype, rank, shape, nullptr),
               spread = make_layout(dtype, rank, shape, strides);
  return gathers ? make_rearrange_plan(dense, spread) : make_rearrange_plan(spread, dense);
}

// Runs of operand `far` in a block whose other operand, `near`, is a buffer with the sides in this order (innermost first).
ConvertRuns make_runs(const ConvertSchedule& schedule, const ConvertBlock& block,
                      const std::vector<int>& order, int near, const int64_t (&bytes)[2]) {
  constexpr int64_t least_run_bytes = 128;
  const int far = 1 - near;
  ConvertRuns runs{1, {}};
  for (const int i : order) {
    const Side& side = schedule.sides[static_cast<size_t>(i)];
    const int64_t extent = block.extents[static_cast<size_t>(i)];
    if (extent == 1) continue;
    const bool joins =
        runs.outer.empty() && i != schedule.axis && side.steps[far] == runs.elements * bytes[far];
    if (joins) {
      runs.elements *= extent;
      continue;
    }
    int64_t inner = runs.elements;
    for (const OperatorLoop& loop : runs.outer) inner *= loop.extent;
    OperatorLoop loop{extent, {}};
    std::copy_n(side.steps, 4, loop.steps);
    loop.steps[near] = inner * bytes[near];
    runs.outer.insert(runs.outer.begin(), loop);
  }
  return runs.elements * bytes[far] < least_run_bytes ? ConvertRuns{} : runs;
}

std::vector<int> by_y(const ConvertSchedule& schedule) {
  std::vector<int> order;
  for (int i = static_cast<int>(schedule.sides.size()); i-- > 0;) order.push_back(i);
  return order;
}

}  // namespace

ConvertRuns runs_into_y(const ConvertSchedule& schedule, const ConvertBlock& block, int64_t y_bytes,
                        int64_t x_bytes) {
  return make_runs(schedule, block, by_y(schedule), 1, {y_bytes, x_bytes});
}
ConvertRuns runs_of_x(const ConvertSchedule& schedule, const ConvertBlock& block, int64_t y_bytes,
                      int64_t x_bytes) {
  return make_runs(schedule, block, schedule.by_x, 0, {y_bytes, x_bytes});
}

RearrangePlan last_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                        infiniDtype_t dtype) {
  size_t shape[max_rank];
  ptrdiff_t strides[2][max_rank];
  size_t rank = 0;
  for (size_t i = 0; i < schedule.sides.size(); ++i) {
    if (block.extents[i] == 1) continue;
    ptrdiff_t apart = 1;
    for (const int inner : schedule.by_x) {
      if (inner == static_cast<int>(i)) break;
      apart *= block.extents[static_cast<size_t>(inner)];
    }
    shape[rank] = static_cast<size_t>(block.extents[i]);
    strides[0][rank] = schedule.sides[i].steps[0] / dtype_bytes(dtype);
    strides[1][rank++] = apart;
  }
  return make_rearrange_plan(make_layout(dtype, rank, shape, strides[0]),
                             make_layout(dtype, rank, shape, strides[1]));
}

ConvertSchedule make_convert_schedule(const OperatorPlan& plan, const Policy& policy) {
  ConvertSchedule schedule;
  std::vector<Side>& sides = schedule.sides;
  for (int i = 0; i < plan.depth; ++i) {
    sides.push_back({plan.loops[i].extent, {}, 1});
    std::copy_n(plan.loops[i].steps, 4, sides.back().steps);
  }
  sides.push_back({plan.length, {}, 1});
  std::copy_n(plan.row_steps, 4, sides.back().steps);
  if (plan.length == 1) std::fill_n(sides.back().steps, 4, 0);

  const int64_t most =
      std::min(convert_block_elements,
               convert_block_bytes / (dtype_bytes(plan.dtypes[0]) + dtype_bytes(plan.dtypes[1])));
  const std::vector<int> by_y = infini::cpu::by_y(schedule);
  std::vector<int>& by_x = schedule.by_x;
  by_x = by_y;
  const auto reach = [&](int i) {  // what is repeated comes last
    const int64_t step = std::abs(sides[static_cast<size_t>(i)].steps[1]);
    return step == 0 ? INT64_MAX : step;
  };
  std::stable_sort(by_x.begin(), by_x.end(), [&](int a, int b) { return reach(a) < reach(b); });
  if (by_x[0] != by_y[0]) {
    grow(sides, by_y, along, most);
    grow(sides, by_x, along, most);
  }
  // What is not gathered goes through the first cache alone.
  grow(sides, by_y,
       by_x == by_y ? std::min(most, straight_bytes / dtype_bytes(plan.dtypes[0])) : most, most);
  even_out(sides);

  for (size_t i = 0; i < sides.size(); ++i) {
    schedule.blocks *= sides[i].blocks();
    if (sides[i].extent > 1 && (sides[i].steps[2] != 0 || sides[i].steps[3] != 0))
      schedule.axis = static_cast<int>(i);
  }
  schedule.streams = converts_beyond_caches(plan, policy);
  return schedule;
}

std::vector<int> ragged_sides(const ConvertSchedule& schedule) {
  std::vector<int> ragged;
  for (size_t i = 0; i < schedule.sides.size(); ++i)
    if (schedule.sides[i].extent % schedule.sides[i].block != 0)
      ragged.push_back(static_cast<int>(i));
  return ragged;
}

ConvertBlock block_of_shape(const ConvertSchedule& schedule, const std::vector<int>& ragged,
                            unsigned shape) {
  ConvertBlock block;
  for (const Side& side : schedule.sides) block.extents.push_back(side.block);
  for (size_t k = 0; k < ragged.size(); ++k) {
    const Side& side = schedule.sides[static_cast<size_t>(ragged[k])];
    if (shape >> k & 1) block.extents[static_cast<size_t>(ragged[k])] = side.extent % side.block;
  }
  for (const int64_t extent : block.extents) block.elements *= extent;
  return block;
}

RearrangePlan gather_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                          infiniDtype_t dtype) {
  return dense_plan(schedule, block, dtype, 1, true);
}
RearrangePlan scatter_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                           infiniDtype_t dtype) {
  return dense_plan(schedule, block, dtype, 0, false);
}

std::string to_string(const ConvertSchedule& schedule) {
  std::ostringstream text;
  text << schedule.blocks << " blocks of";
  const char* before = " ";
  for (const Side& side : schedule.sides) {
    text << before << side.block;
    before = "x";
  }
  text << (schedule.streams ? ", past the caches" : "");
  return text.str();
}

}  // namespace infini::cpu
