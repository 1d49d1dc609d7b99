// How the CPU walks a conversion: blocks of the nest that fit the first caches, as plain data.
//
// A block is brought together from x in y's order, converted, and put into y. Where the elements of a block already lie
// together, on either side, they are used where they are.
// Law: the blocks cover every point of the plan's nest, each once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/operators/convert_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::cpu {

// A block has at most so many elements, and so many bytes on both sides together.
constexpr int64_t convert_block_elements = 16384, convert_block_bytes = 64 << 10;

struct ConvertSchedule {
  struct Side {
    int64_t extent;
    int64_t steps[4];  // bytes: y, x, scale, shift
    int64_t block;     // of a whole block; at most extent
    int64_t blocks() const { return (extent + block - 1) / block; }
  };
  std::vector<Side> sides;  // outermost first, y's steps descending
  int64_t blocks = 1;
  int axis = -1;         // the side along which scale or shift differ
  bool streams = false;  // y goes past the caches
};

ConvertSchedule make_convert_schedule(const OperatorPlan& plan, int64_t streamed_bytes);

// One block: where it begins and how far it reaches.
struct ConvertBlock {
  std::vector<int64_t> extents;
  int64_t elements = 1;
};
// The different shapes that blocks have: bit i of a shape's number says that it is the last one, cut short, of ragged side i.
std::vector<int> ragged_sides(const ConvertSchedule& schedule);
ConvertBlock block_of_shape(const ConvertSchedule& schedule, const std::vector<int>& ragged,
                            unsigned shape);

// Between an operand's elements of such a block and the same elements lying together in y's order. Nothing in between: null
// plan (atom_bytes equals all bytes and depth 0).
RearrangePlan gather_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                          infiniDtype_t dtype);
RearrangePlan scatter_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                           infiniDtype_t dtype);

std::string to_string(const ConvertSchedule& schedule);

}  // namespace infini::cpu
