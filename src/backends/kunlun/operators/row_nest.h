// How an operator is walked on the XPU: the argument that kernels receive by value. Both the host's and the device's compiler
// see this file: C++17, members of fixed width, no padding, no pointers.
//
// Every operand's row lies together, or is one element for the whole row (a row step of 0). Elementwise functions and rope
// are cut into units of `chunk` elements of one row, each a core's; row functions give a row to a core or to a cluster.
#pragma once

#include <stdint.h>

namespace infini::kunlun {

constexpr int max_nest_loops = 8;
constexpr int nest_operands = 5;

// A core's local memory is cut into buffers of this many bytes, eight at most.
constexpr int chunk_bytes = 768;

struct NestLoop {
  int64_t extent;
  int64_t steps[nest_operands];  // bytes
};

struct RowNest {
  int64_t rows, length, chunks;  // chunks of `chunk` elements in a row, the last one may have fewer
  int64_t offsets[nest_operands];    // of the first row
  int64_t row_steps[nest_operands];  // 0: one element for the whole row
  int64_t pair_steps[2];  // rope: from the first to the second elements of a head's pairs, y and x
  int64_t table_steps[2], table_rows;  // rope: of sin and cos
  int32_t dtypes[nest_operands];
  int32_t function, operands, depth, chunk,
      clustered;                   // clustered: a row is a cluster's, else a core's
  NestLoop loops[max_nest_loops];  // outermost first
};
static_assert(sizeof(NestLoop) == 48 && sizeof(RowNest) == 184 + 48 * max_nest_loops,
              "the device must see the same layout");

// What Convert does besides moving; formats of plan/operators/convert_plan.h.
struct ConvertNumbers {
  int32_t formats[2];  // of y and x
  int32_t wide, computes, saturates;
  int32_t along[2];  // scale and shift are read from memory
  int32_t unused;
  int64_t scale, shift;  // the bits of two doubles
};
static_assert(sizeof(ConvertNumbers) == 48, "the device must see the same layout");

}  // namespace infini::kunlun
