// The elementwise operators: sums, products, quotients and activations, computed in double from the documented formulas and
// rounded once.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_gelu_v2.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_sub.h"
#include "map.h"

namespace cann_emulator {
namespace {

const Dtypes floats = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
const Dtypes reals = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};
const Dtypes numbers = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                        ACL_INT16, ACL_INT32,   ACL_INT64, ACL_UINT8};

// Types are not promoted here: all operands have one.
const char* one_type(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  for (const Tensor& t : inputs)
    if (t.dtype != outputs[0].dtype) return "operands of different types are not emulated";
  return nullptr;
}

using Real = double (*)(double, double);
using Whole = uint64_t (*)(uint64_t, uint64_t);  // wraps around

Compute each(Real real, Whole whole) {
  return [=](const std::vector<Values>& in, std::vector<Values>& out) {
    for (size_t i = 0; i < out[0].size(); ++i) {
      const Value &a = in[0][i], &b = in.back()[i];
      if (a.whole)
        out[0][i] = {true, static_cast<int64_t>(whole(static_cast<uint64_t>(a.integer),
                                                      static_cast<uint64_t>(b.integer)))};
      else
        out[0][i] = {false, 0, false, real(a.number, b.number)};
    }
  };
}

int unary(Call& call, const char* op, const aclTensor* self, aclTensor* out, Real real,
          uint64_t* size, aclOpExecutor** executor) {
  const Fits fits = [](const std::vector<Tensor>& in, const std::vector<Tensor>& to) {
    return in[0].dims != to[0].dims ? "the shapes differ" : one_type(in, to);
  };
  return map_first_phase(call, op, {{self, "self", floats}}, {{out, "out", floats}}, fits,
                         each(real, nullptr), size, executor);
}

int binary(Call& call, const char* op, const aclTensor* self, const aclTensor* other,
           aclTensor* out, const Dtypes& dtypes, Real real, Whole whole, uint64_t* size,
           aclOpExecutor** executor) {
  return map_first_phase(call, op, {{self, "self", dtypes}, {other, "other", dtypes}},
                         {{out, "out", dtypes}}, one_type, each(real, whole), size, executor);
}

// Only 1 is emulated.
int check_alpha(Call& call, const aclScalar* alpha) {
  const auto found = meta().scalars.find(address_of(alpha));
  if (found == meta().scalars.end())
    return call.refused(ACLNN_ERR_PARAM_NULLPTR, "alpha is NULL or destroyed");
  if (found->second != 1)
    return call.refused(ACLNN_ERR_PARAM_INVALID, "an alpha other than 1 is not emulated");
  return 0;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace
}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                     const aclScalar* alpha, aclTensor* out, uint64_t* size,
                                     aclOpExecutor** executor) {
  return answer("aclnnAddGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (int code = check_alpha(call, alpha)) return code;
    return binary(
        call, "aclnnAdd", self, other, out, numbers, [](double a, double b) { return a + b; },
        [](uint64_t a, uint64_t b) { return a + b; }, size, executor);
  });
}
aclnnStatus aclnnSubGetWorkspaceSize(const aclTensor* self, const aclTensor* other,
                                     const aclScalar* alpha, aclTensor* out, uint64_t* size,
                                     aclOpExecutor** executor) {
  return answer("aclnnSubGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (int code = check_alpha(call, alpha)) return code;
    return binary(
        call, "aclnnSub", self, other, out, numbers, [](double a, double b) { return a - b; },
        [](uint64_t a, uint64_t b) { return a - b; }, size, executor);
  });
}
aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor* self, const aclTensor* other, aclTensor* out,
                                     uint64_t* size, aclOpExecutor** executor) {
  return answer("aclnnMulGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return binary(
        call, "aclnnMul", self, other, out, numbers, [](double a, double b) { return a * b; },
        [](uint64_t a, uint64_t b) { return a * b; }, size, executor);
  });
}
aclnnStatus aclnnDivGetWorkspaceSize(const aclTensor* self, const aclTensor* other, aclTensor* out,
                                     uint64_t* size, aclOpExecutor** executor) {
  return answer("aclnnDivGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return binary(
        call, "aclnnDiv", self, other, out, reals, [](double a, double b) { return a / b; },
        nullptr, size, executor);
  });
}
aclnnStatus aclnnSiluGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  return answer("aclnnSiluGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return unary(
        call, "aclnnSilu", self, out, [](double x, double) { return x * logistic(x); }, size,
        executor);
  });
}
aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  return answer("aclnnReluGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return unary(
        call, "aclnnRelu", self, out, [](double x, double) { return x < 0 ? 0 : x; }, size,
        executor);
  });
}
aclnnStatus aclnnSigmoidGetWorkspaceSize(const aclTensor* self, aclTensor* out, uint64_t* size,
                                         aclOpExecutor** executor) {
  return answer("aclnnSigmoidGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return unary(
        call, "aclnnSigmoid", self, out, [](double x, double) { return logistic(x); }, size,
        executor);
  });
}
aclnnStatus aclnnGeluV2GetWorkspaceSize(const aclTensor* x, int64_t approximate, aclTensor* y,
                                        uint64_t* size, aclOpExecutor** executor) {
  return answer("aclnnGeluV2GetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (approximate != 0 && approximate != 1)
      return call.refused(ACLNN_ERR_PARAM_INVALID, "approximate is ", approximate, ", not 0 or 1");
    const Real by_erf = [](double v, double) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); };
    const Real by_tanh = [](double v, double) {
      return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    };
    return unary(call, "aclnnGeluV2", x, y, approximate ? by_tanh : by_erf, size, executor);
  });
}

#define SECOND_PHASE(op)                                                                   \
  aclnnStatus op(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream s) { \
    return second_phase(#op, workspace, size, executor, s);                                \
  }
SECOND_PHASE(aclnnAdd)
SECOND_PHASE(aclnnSub)
SECOND_PHASE(aclnnMul)
SECOND_PHASE(aclnnDiv)
SECOND_PHASE(aclnnSilu)
SECOND_PHASE(aclnnRelu)
SECOND_PHASE(aclnnSigmoid)
SECOND_PHASE(aclnnGeluV2)
#undef SECOND_PHASE

}  // extern "C"
