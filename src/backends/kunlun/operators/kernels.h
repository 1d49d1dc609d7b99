// The kernels of operators as the host calls them: each enqueues one launch and returns 0 or the runtime's negative code.
#pragma once

#include "backends/kunlun/operators/row_nest.h"
#include "xpu/runtime.h"

namespace infini::kunlun {

struct Launch {
  int clusters, cores;
  XPUStream stream;
};

int launch_map(const Launch& launch, char* const* operands, const RowNest& nest);
int launch_cast(const Launch& launch, char* const* operands, const RowNest& nest);
int launch_convert(const Launch& launch, char* const* operands, const RowNest& nest,
                   const ConvertNumbers& numbers);
int launch_norm(const Launch& launch, char* const* operands, float epsilon, const RowNest& nest);
int launch_softmax(const Launch& launch, char* const* operands, const RowNest& nest);
int launch_rope(const Launch& launch, char* const* operands, const RowNest& nest);
// The row at the pointers.
int launch_sample(const Launch& launch, char* const* operands, float random_val, float topp,
                  float temperature, int topk, bool greedy, const RowNest& nest);

}  // namespace infini::kunlun
