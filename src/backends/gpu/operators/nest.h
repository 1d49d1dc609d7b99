// An operator plan as a launch sees it: rows numbered by loops that divide fast. Shared by host and device.
#pragma once

#include "backends/gpu/fast_divide.h"
#include "plan/operators/operator_plan.h"

namespace infini::gpu {

constexpr int max_row_loops = 8;

struct RowNest {
  Function function;
  int32_t operands, depth;
  uint32_t rows, length;
  infiniDtype_t dtypes[max_operands];
  FastDivisor extents[max_row_loops];  // fastest first
  int64_t steps[max_row_loops][max_operands];
  int64_t row_steps[max_operands];
  float epsilon;
  int64_t pair_steps[2], table_steps[2], table_rows;
};
static_assert(sizeof(RowNest) <= 1024, "kernel arguments travel with every launch");

struct RowPointers {
  char* at[max_operands];
};

// Where row `number` begins in every operand; `innermost` becomes its index in the fastest loop. The number of operands is
// known when this is compiled, so that the places stay in registers.
template <int operands>
struct OperatorRow {
  char* at[operands];
};
template <int operands>
constexpr OperatorRow<operands> place_operator_row(const RowNest& nest, const RowPointers& base,
                                                   uint32_t number, uint32_t& innermost) {
  OperatorRow<operands> place{};
#pragma unroll
  for (int k = 0; k < operands; ++k) place.at[k] = base.at[k];
  innermost = 0;
  for (int i = 0; i < nest.depth; ++i) {
    const uint32_t digit = take_digit(number, nest.extents[i]);
    if (i == 0) innermost = digit;
#pragma unroll
    for (int k = 0; k < operands; ++k) place.at[k] += digit * nest.steps[i][k];
  }
  return place;
}

}  // namespace infini::gpu
