// Convert, prepared: which walk, which kernel, and what its vectors want.
#pragma once

#include "backends/gpu/convert/schedule.h"
#include "backends/gpu/operators/kernels.h"
#include "backends/gpu/operators/nest.h"

namespace infini::gpu {

// Takes the dim that its walk wants out of the plan's loops.
ConvertNumbers take_convert_walk(OperatorPlan& plan);

Kernels convert_kernels(const OperatorPlan& plan, const ConvertNumbers& numbers);

// In vectors (in words, of tiles) an operand begins at a multiple of so many bytes, as all of its rows do.
int64_t convert_unit(const ConvertNumbers& numbers, const infiniDtype_t* dtypes,
                     const int64_t* row_steps, int operand);
bool converts_in_vectors(const OperatorPlan& plan, const ConvertNumbers& numbers);

// Units of a row, where each is a whole block's; else 0.
uint32_t convert_blocks(const ConvertNumbers& numbers, const RowNest& nest, bool in_vectors);
size_t convert_shared_bytes(const ConvertNumbers& numbers, const RowNest& nest);

}  // namespace infini::gpu
