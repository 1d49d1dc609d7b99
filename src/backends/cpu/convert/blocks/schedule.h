// How the CPU walks a conversion: blocks of the nest that fit the first caches, as plain data.
//
// A block is brought together from x in y's order, converted, and put into y. Where the elements of a block already lie
// together, on either side, they are used where they are. Where y's elements are the smaller ones, a block is converted first, as
// it lies in x, and then put into y.
// Laws: the blocks cover every point of the plan's nest, each once; the runs of a block every element of it, each once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/convert/move.h"
#include "contract/device.h"
#include "contract/kernels.h"

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
  std::vector<int> by_x;  // the sides as they lie in x, innermost first
  int axis = -1;          // the side along which scale or shift differ
  bool streams = false;   // y goes past the caches
};

// Any plan.
ConvertSchedule make_convert_schedule(const OperatorPlan& plan, const Policy& policy);

double convert_blocks_ns(const ConvertSchedule& schedule, const OperatorPlan& plan,
                         const Setting& setting);

// By rearrangements of that device.
std::unique_ptr<OperatorKernel> make_block_converter(ConvertSchedule schedule,
                                                     const OperatorPlan& plan, const Policy& policy,
                                                     infini::Device& device);

// One block: where it begins and how far it reaches.
struct ConvertBlock {
  std::vector<int64_t> extents;
  int64_t elements = 1;
};
// The different shapes that blocks have: bit i of a shape's number says that it is the last one, cut short, of ragged side i.
std::vector<int> ragged_sides(const ConvertSchedule& schedule);
ConvertBlock block_of_shape(const ConvertSchedule& schedule, const std::vector<int>& ragged,
                            unsigned shape);

// Elements of a block that lie together in y and in x, one of which may be a buffer: all runs, each with its own scale and shift.
struct ConvertRuns {
  int64_t elements = 0;             // of a run; 0: there are none
  std::vector<OperatorLoop> outer;  // outermost first
};
// From a buffer in y's order to y's runs; from x's runs to a buffer in x's order. None where a run has several scales or shifts,
// or is so short that a rearrangement is faster.
ConvertRuns runs_into_y(const ConvertSchedule& schedule, const ConvertBlock& block, int64_t y_bytes,
                        int64_t x_bytes);
ConvertRuns runs_of_x(const ConvertSchedule& schedule, const ConvertBlock& block, int64_t y_bytes,
                      int64_t x_bytes);
// From the latter buffer to y.
RearrangePlan last_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                        infiniDtype_t dtype);

// Between an operand's elements of such a block and the same elements lying together in y's order. Nothing in between: null
// plan (atom_bytes equals all bytes and depth 0).
RearrangePlan gather_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                          infiniDtype_t dtype);
RearrangePlan scatter_plan(const ConvertSchedule& schedule, const ConvertBlock& block,
                           infiniDtype_t dtype);

std::string to_string(const ConvertSchedule& schedule);

}  // namespace infini::cpu
