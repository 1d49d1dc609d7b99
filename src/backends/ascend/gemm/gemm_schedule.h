// How a gemm plan is carried out with CANN's matrix operators, as plain data: pure host code, no
// SDK.
//
// The matrix unit reads dense matrices, plain or transposed, and writes dense rows. What is not so
// is copied through the caller's workspace by rearrange kernels.
#pragma once

#include <cstddef>
#include <string>

#include "plan/gemm/gemm_operand.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::ascend {

// One operand as the operators see it.
struct MatrixSide {
  bool packed = false;          // through the workspace
  bool columns_first = false;   // a transposed view
  bool one_batch = false;       // a single matrix serves every batch
  size_t workspace_offset = 0;  // where the packed copy lies
  GemmOperand stored, seen;     // the client's steps; the steps of what the operator gets
};

struct GemmSchedule {
  bool swapped = false;  // computes Cᵀ = Bᵀ·Aᵀ: the plan's a is the client's b
  GemmPlan plan;         // after folding batches and swapping
  MatrixSide c, a, b;
  size_t workspace_bytes = 0;
};

GemmSchedule make_gemm_schedule(const GemmPlan& plan);

// For people: which operands are packed, and the extents that the operator gets.
std::string to_string(const GemmSchedule& schedule);

}  // namespace infini::ascend
