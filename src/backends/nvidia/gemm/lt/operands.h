// Operands as cuBLASLt sees them: packed where that was decided, and how they are aligned.
#pragma once

#include <algorithm>
#include <memory>

#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/lt/cublaslt.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::nvidia {

constexpr int64_t vector_bytes = 16;  // leading dimensions that tensor cores are fed from

inline cudaDataType_t cuda_type(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? CUDA_R_16F
         : dtype == INFINI_DTYPE_BF16 ? CUDA_R_16BF
         : dtype == INFINI_DTYPE_F32  ? CUDA_R_32F
                                      : CUDA_R_64F;
}

// A rectangle of bytes in the workspace that must be zeros: the padding along k.
struct Zeros {
  size_t offset = 0, pitch = 0, width = 0, height = 0;
};

// One operand as cuBLASLt sees it, after packing where that was decided.
struct Prepared {
  GemmOperand operand;
  BlasMatrix blas;
  std::unique_ptr<RearrangeKernel> pack = nullptr, unpack = nullptr;
  size_t offset = 0;  // of the packed copy in the workspace
  Zeros zeros = {};
};

struct Extents {
  int64_t m, n, k;
};

// Tensor cores want all three extents, not only the rows in memory, in whole vectors.
inline Extents whole_vectors(const GemmPlan& plan) {
  const int64_t unit = vector_bytes / dtype_bytes(plan.a.dtype);
  return {round_up(plan.m, unit), round_up(plan.n, unit), round_up(plan.k, unit)};
}

inline bool rows_aligned(const BlasMatrix& x, infiniDtype_t dtype) {
  const int64_t bytes = dtype_bytes(dtype);
  return x.leading * bytes % vector_bytes == 0 && x.batch_stride * bytes % vector_bytes == 0;
}

inline bool same(const OperandShape& a, const OperandShape& b) {
  return a.batch == b.batch && a.rows == b.rows && a.cols == b.cols;
}

// The bits in which no address of an aligned operand differs from its base.
inline uint32_t alignment_of(const BlasMatrix& x, infiniDtype_t dtype) {
  const auto bytes = static_cast<uint64_t>(dtype_bytes(dtype));
  const uint64_t bits = static_cast<uint64_t>(x.leading) * bytes |
                        static_cast<uint64_t>(x.batch_stride) * bytes | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

}  // namespace infini::nvidia
