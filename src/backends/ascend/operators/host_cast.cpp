// Casts that the vendor's call computes otherwise, on the host: both tensors cross the link once, and the stream is waited for.
#include <acl/acl.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"
#include "base/float_formats.h"

namespace infini::ascend {
namespace {

// An element without loss: a real number, or an integer by sign and magnitude.
struct Number {
  bool is_real = false, negative = false;
  double real = 0;
  uint64_t magnitude = 0;
};

bool has_sign(infiniDtype_t dtype) { return dtype >= INFINI_DTYPE_I8 && dtype <= INFINI_DTYPE_I64; }

Number load(const char* p, infiniDtype_t dtype) {
  uint64_t bits = 0;
  const auto bytes = static_cast<size_t>(dtype_bytes(dtype));
  std::memcpy(&bits, p, bytes);  // little-endian
  const auto real = [](double x) { return Number{true, false, x, 0}; };
  switch (dtype) {
    case INFINI_DTYPE_F16: return real(f32_from_f16(static_cast<uint16_t>(bits)));
    case INFINI_DTYPE_BF16: return real(f32_from_bf16(static_cast<uint16_t>(bits)));
    case INFINI_DTYPE_F32: return real(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case INFINI_DTYPE_F64: return real(std::bit_cast<double>(bits));
    case INFINI_DTYPE_BOOL: return {false, false, 0, bits != 0};
    default: break;
  }
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  const bool negative = has_sign(dtype) && (bits & sign) != 0;
  return {false, negative, 0, negative ? sign - (bits & (sign - 1)) : bits};
}

float odd_of(const Number& x) {
  if (x.is_real) return to_odd(x.real);
  const float value = to_odd(x.magnitude);
  return x.negative ? -value : value;
}

// Rounded to nearest even, saturated; NaN is 0.
uint64_t whole_of(const Number& x, infiniDtype_t dtype) {
  Number whole = x;
  if (x.is_real) {
    const double rounded = std::isnan(x.real) ? 0 : std::nearbyint(x.real);
    whole = {false, rounded < 0, 0,
             std::abs(rounded) >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(std::abs(rounded))};
  }
  const uint64_t sign = uint64_t{1} << (8 * dtype_bytes(dtype) - 1);
  const uint64_t most = !has_sign(dtype) ? (whole.negative ? 0 : sign - 1 + sign)
                        : whole.negative ? sign
                                         : sign - 1;
  const uint64_t magnitude = std::min(whole.magnitude, most);
  return whole.negative ? ~magnitude + 1 : magnitude;
}

void store(char* p, infiniDtype_t dtype, const Number& x) {
  const double sign = x.negative ? -1 : 1;
  uint64_t bits = 0;
  switch (dtype) {
    case INFINI_DTYPE_F16: bits = f16_from_f32(odd_of(x)); break;
    case INFINI_DTYPE_BF16: bits = bf16_from_f32(odd_of(x)); break;
    case INFINI_DTYPE_F32:
      bits = std::bit_cast<uint32_t>(x.is_real ? static_cast<float>(x.real)
                                               : static_cast<float>(sign) *
                                                     static_cast<float>(x.magnitude));
      break;
    case INFINI_DTYPE_F64:
      bits = std::bit_cast<uint64_t>(x.is_real ? x.real : sign * static_cast<double>(x.magnitude));
      break;
    case INFINI_DTYPE_BOOL: bits = x.is_real ? x.real != 0 : x.magnitude != 0; break;
    default: bits = whole_of(x, dtype);
  }
  std::memcpy(p, &bits, static_cast<size_t>(dtype_bytes(dtype)));
}

}  // namespace

void run_host_cast(const FunctionRun& run) {
  const OperatorPlan& plan = run.plan;  // one dense row
  const int64_t to = dtype_bytes(plan.dtypes[0]), from = dtype_bytes(plan.dtypes[1]);
  std::vector<char> x(static_cast<size_t>(plan.length * from)),
      y(static_cast<size_t>(plan.length * to));
  check(aclrtSynchronizeStream(run.stream), "aclrtSynchronizeStream");
  check(aclrtMemcpy(x.data(), x.size(), run.operands[1], x.size(), ACL_MEMCPY_DEVICE_TO_HOST),
        "aclrtMemcpy");
  for (int64_t i = 0; i < plan.length; ++i)
    store(y.data() + i * to, plan.dtypes[0], load(x.data() + i * from, plan.dtypes[1]));
  check(aclrtMemcpy(run.operands[0], y.size(), y.data(), y.size(), ACL_MEMCPY_HOST_TO_DEVICE),
        "aclrtMemcpy");
}

}  // namespace infini::ascend
