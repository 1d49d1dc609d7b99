// Elementwise functions for which the vendor has no call (yet), on the host: operands cross the link once, and the stream is
// waited for. A new row of the table of operators works here at once; a call of the vendor's is a row of map.cpp.
#include <acl/acl.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"
#include "base/float_formats.h"

namespace infini::ascend {
namespace {

struct RealMath {
  using Scalar = double;
  static constexpr bool integers = false;
  static double exp(double x) { return std::exp(x); }
  static double erfc(double x) { return std::erfc(x); }
};
// Wraps around, whatever the integer's size is: the upper bits are left out.
struct WholeMath {
  using Scalar = uint64_t;
  static constexpr bool integers = true;
};

double real_of(uint64_t bits, infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return f32_from_f16(static_cast<uint16_t>(bits));
    case INFINI_DTYPE_BF16: return f32_from_bf16(static_cast<uint16_t>(bits));
    case INFINI_DTYPE_F32: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    default: return std::bit_cast<double>(bits);
  }
}
uint64_t bits_of(double x, infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return f16_from_f32(to_odd(x));
    case INFINI_DTYPE_BF16: return bf16_from_f32(to_odd(x));
    case INFINI_DTYPE_F32: return std::bit_cast<uint32_t>(static_cast<float>(x));
    default: return std::bit_cast<uint64_t>(x);
  }
}
bool is_real(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 || dtype == INFINI_DTYPE_F32 ||
         dtype == INFINI_DTYPE_F64;
}

template <int operands>
uint64_t computed(Function function, uint64_t a, uint64_t b, infiniDtype_t dtype) {
  if (!is_real(dtype)) return apply<WholeMath, operands>(function, a, b);
  return bits_of(apply<RealMath, operands>(function, real_of(a, dtype), real_of(b, dtype)), dtype);
}

}  // namespace

void run_host_map(const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;  // one dense row
  const infiniDtype_t dtype = plan.dtypes[0];
  const auto size = static_cast<size_t>(dtype_bytes(dtype)),
             bytes = static_cast<size_t>(plan.length) * size;
  const bool has_second = plan.operands > 2;
  std::vector<char> a(bytes), b(has_second ? bytes : 0);
  check(aclrtSynchronizeStream(run.stream), "aclrtSynchronizeStream");
  check(aclrtMemcpy(a.data(), bytes, run.operands[1], bytes, ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  if (has_second)
    check(aclrtMemcpy(b.data(), bytes, run.operands[2], bytes, ACL_MEMCPY_DEVICE_TO_HOST),
          "aclrtMemcpy");
  for (size_t i = 0; i < bytes; i += size) {
    uint64_t x = 0, y = 0;  // little-endian
    std::memcpy(&x, a.data() + i, size);
    if (has_second) std::memcpy(&y, b.data() + i, size);
    x = has_second ? computed<3>(plan.function, x, y, dtype)
                   : computed<2>(plan.function, x, x, dtype);
    std::memcpy(a.data() + i, &x, size);
  }
  check(aclrtMemcpy(run.operands[0], bytes, a.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
}

}  // namespace infini::ascend
