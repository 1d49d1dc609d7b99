// The description of an operand that the copy engine (TMA) wants; it holds the address and is made
// for every call.
#pragma once

#include <cuda.h>

#include "backends/nvidia/gemm/box_operand.h"
#include "backends/nvidia/gemm/driver_entry.h"

namespace infini::nvidia {

// cuTensorMapEncodeTiled: host arithmetic alone, 0.1 µs. Null where the driver has none.
using EncodeBoxes = decltype(&cuTensorMapEncodeTiled);

inline EncodeBoxes find_encode_boxes() {
  return driver_entry<EncodeBoxes>("cuTensorMapEncodeTiled", 12000);
}

// The boxes of an operand; `extent` is its part of C's tile. Swizzled as place_in_box() has it.
struct BoxMap {
  cuuint64_t extents[3], steps[2];
  cuuint32_t box[3];
  CUtensorMapSwizzle swizzle;
  CUtensorMapDataType type;

  BoxMap(const BoxOperand& x, int extent, infiniDtype_t dtype)
      : extents{static_cast<cuuint64_t>(x.inner), static_cast<cuuint64_t>(x.outer),
                static_cast<cuuint64_t>(x.batch)},
        steps{static_cast<cuuint64_t>(x.outer_step), static_cast<cuuint64_t>(x.batch_step)},
        box{static_cast<cuuint32_t>(x.k_inside ? box_depth : extent),
            static_cast<cuuint32_t>(x.k_inside ? extent : box_depth), 1},
        type(dtype == INFINI_DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) {
    swizzle = box[0] == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
              : box[0] == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : CU_TENSOR_MAP_SWIZZLE_32B;
  }

  bool encode(EncodeBoxes encode_boxes, CUtensorMap& map, const char* base) const {
    constexpr cuuint32_t every[3] = {1, 1, 1};
    return encode_boxes(&map, type, 3, const_cast<char*>(base), extents, steps, box, every,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  }
};

}  // namespace infini::nvidia
