// aclnnCast: between floats to nearest even; to integers truncated and wrapped around; to bool whether it is not zero.
#include "aclnnop/aclnn_cast.h"
#include "map.h"

using namespace cann_emulator;

namespace {
const Dtypes castable = {ACL_FLOAT,  ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                         ACL_INT16,  ACL_INT32,   ACL_INT64, ACL_UINT8,  ACL_UINT16,
                         ACL_UINT32, ACL_UINT64,  ACL_BOOL};
}

extern "C" {

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor* self, const aclDataType dtype,
                                      aclTensor* out, uint64_t* size, aclOpExecutor** executor) {
  return answer("aclnnCastGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    const Fits fits = [dtype](const std::vector<Tensor>& in, const std::vector<Tensor>& to) {
      return in[0].dims != to[0].dims ? "the shapes differ"
             : to[0].dtype != dtype   ? "dtype is not out's"
                                      : nullptr;
    };
    const Compute compute = [](const std::vector<Values>& in, std::vector<Values>& to) {
      to[0] = in[0];
    };
    return map_first_phase(call, "aclnnCast", {{self, "self", castable}}, {{out, "out", castable}},
                           fits, compute, size, executor);
  });
}
aclnnStatus aclnnCast(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return second_phase("aclnnCast", workspace, size, executor, stream);
}

}  // extern "C"
