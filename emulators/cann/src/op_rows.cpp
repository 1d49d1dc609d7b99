// aclnnRmsNorm, aclnnSoftmax, aclnnInplaceMaskedFillScalar and aclnnIndexSelect, in double.
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_masked_fill_scalar.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_softmax.h"
#include "map.h"

namespace cann_emulator {
namespace {

const Dtypes floats = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
const Dtypes reals = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

int64_t product(const std::vector<int64_t>& dims, size_t first, size_t last) {
  int64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= dims[i];
  return n;
}

// gamma has x's last dims; rstd has x's first ones and then ones.
const char* norm_fits(const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
  const auto &x = in[0].dims, &gamma = in[1].dims, &rstd = out[1].dims;
  if (out[0].dims != x) return "yOut has not x's shape";
  if (gamma.empty() || gamma.size() > x.size()) return "gamma has no or too many dims";
  const size_t lead = x.size() - gamma.size();
  for (size_t i = 0; i < gamma.size(); ++i)
    if (gamma[i] != x[lead + i]) return "gamma is not x's last dims";
  if (rstd.size() != x.size()) return "rstdOut has not x's rank";
  for (size_t i = 0; i < x.size(); ++i)
    if (rstd[i] != (i < lead ? x[i] : 1)) return "rstdOut has not x's first dims";
  if (in[0].dtype != in[1].dtype || in[0].dtype != out[0].dtype)
    return "x, gamma and yOut of different types are not emulated";
  return nullptr;
}

void norm(const std::vector<Values>& in, std::vector<Values>& out, double epsilon) {
  const size_t length = in[1].size();
  for (size_t row = 0; row < out[1].size(); ++row) {
    double squares = 0;
    for (size_t i = 0; i < length; ++i)
      squares += in[0][row * length + i].number * in[0][row * length + i].number;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    out[1][row].number = factor;
    for (size_t i = 0; i < length; ++i)
      out[0][row * length + i].number = in[0][row * length + i].number * factor * in[1][i].number;
  }
}

void softmax(const std::vector<Values>& in, std::vector<Values>& out, size_t extent, size_t inner) {
  for (size_t at = 0; at < out[0].size(); ++at) {
    if (at / inner % extent != 0) continue;  // the first of its row
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < extent; ++i) most = std::fmax(most, in[0][at + i * inner].number);
    for (size_t i = 0; i < extent; ++i) sum += std::exp(in[0][at + i * inner].number - most);
    for (size_t i = 0; i < extent; ++i)
      out[0][at + i * inner].number = std::exp(in[0][at + i * inner].number - most) / sum;
  }
}

}  // namespace
}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor* x, const aclTensor* gamma, double epsilon,
                                         const aclTensor* y, const aclTensor* rstd, uint64_t* size,
                                         aclOpExecutor** executor) {
  return answer("aclnnRmsNormGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    return map_first_phase(
        call, "aclnnRmsNorm",
        {{x, "x", floats, false, true}, {gamma, "gamma", floats, false, true}},
        {{y, "yOut", floats, true}, {rstd, "rstdOut", {ACL_FLOAT}, true}}, norm_fits,
        [epsilon](const std::vector<Values>& in, std::vector<Values>& out) {
          norm(in, out, epsilon);
        },
        size, executor);
  });
}

aclnnStatus aclnnSoftmaxGetWorkspaceSize(const aclTensor* self, int64_t dim, aclTensor* out,
                                         uint64_t* size, aclOpExecutor** executor) {
  return answer("aclnnSoftmaxGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    int code = 0;
    const Tensor* const tensor = find_tensor(call, self, "self", code);
    if (!tensor) return code;
    const auto rank = static_cast<int64_t>(tensor->dims.size());
    if (dim < -rank || dim >= rank)
      return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "dim is ", dim, ", the rank is ",
                         rank);
    const auto axis = static_cast<size_t>(dim < 0 ? dim + rank : dim);
    const auto extent = static_cast<size_t>(tensor->dims[axis]),
               inner = static_cast<size_t>(product(tensor->dims, axis + 1, tensor->dims.size()));
    const Fits fits = [](const std::vector<Tensor>& in, const std::vector<Tensor>& to) {
      return in[0].dims != to[0].dims     ? "the shapes differ"
             : in[0].dtype != to[0].dtype ? "operands of different types are not emulated"
                                          : nullptr;
    };
    return map_first_phase(
        call, "aclnnSoftmax", {{self, "self", floats}}, {{out, "out", floats}}, fits,
        [=](const std::vector<Values>& in, std::vector<Values>& to) {
          softmax(in, to, extent, inner);
        },
        size, executor);
  });
}

aclnnStatus aclnnInplaceMaskedFillScalarGetWorkspaceSize(aclTensor* self, const aclTensor* mask,
                                                         const aclScalar* value, uint64_t* size,
                                                         aclOpExecutor** executor) {
  return answer(
      "aclnnInplaceMaskedFillScalarGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
        const auto found = meta().scalars.find(address_of(value));
        if (found == meta().scalars.end())
          return call.refused(ACLNN_ERR_PARAM_NULLPTR, "value is NULL or destroyed");
        return map_first_phase(
            call, "aclnnInplaceMaskedFillScalar",
            {{self, "selfRef", floats}, {mask, "mask", {ACL_BOOL}}}, {{self, "selfRef", floats}},
            nullptr,
            [number = found->second](const std::vector<Values>& in, std::vector<Values>& out) {
              for (size_t i = 0; i < out[0].size(); ++i)
                out[0][i].number = in[1][i].integer ? number : in[0][i].number;
            },
            size, executor);
      });
}

// An index outside of self ends the kernel on the chip; here it is recorded as a broken bound, and its slice is NaN.
aclnnStatus aclnnIndexSelectGetWorkspaceSize(const aclTensor* self, int64_t dim,
                                             const aclTensor* index, aclTensor* out, uint64_t* size,
                                             aclOpExecutor** executor) {
  return answer("aclnnIndexSelectGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (dim != 0)
      return call.refused(ACLNN_ERR_PARAM_INVALID, "a dim other than 0 is not emulated");
    int code = 0;
    const Tensor* const tensor = find_tensor(call, self, "self", code);
    if (!tensor) return code;
    const int64_t rows = tensor->dims.empty() ? 0 : tensor->dims[0];
    const auto length = static_cast<size_t>(product(tensor->dims, 1, tensor->dims.size()));
    const Fits fits = [](const std::vector<Tensor>& in, const std::vector<Tensor>& to) {
      if (in[1].dims.size() != 1 || in[0].dims.empty()) return "index has not one dim";
      std::vector<int64_t> wanted = in[0].dims;
      wanted[0] = in[1].dims[0];
      return to[0].dims != wanted         ? "out has not index's rows of self's"
             : in[0].dtype != to[0].dtype ? "self and out have different types"
                                          : nullptr;
    };
    return map_first_phase(
        call, "aclnnIndexSelect",
        {{self, "self", reals, false}, {index, "index", {ACL_INT32, ACL_INT64}, false}},
        {{out, "out", reals}}, fits,
        [=](const std::vector<Values>& in, std::vector<Values>& to) {
          for (size_t i = 0; i < to[0].size(); ++i) {
            const int64_t row = in[1][i / length].integer;
            const bool inside = row >= 0 && row < rows;
            if (!inside && i % length == 0)
              Call("aclnnIndexSelect")
                  .broken(Rule::out_of_bounds, 0, "index ", row, " of ", rows, " rows");
            to[0][i].number = inside ? in[0][static_cast<size_t>(row) * length + i % length].number
                                     : static_cast<double>(NAN);
          }
        },
        size, executor);
  });
}

aclnnStatus aclnnRmsNorm(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream s) {
  return second_phase("aclnnRmsNorm", workspace, size, executor, s);
}
aclnnStatus aclnnSoftmax(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream s) {
  return second_phase("aclnnSoftmax", workspace, size, executor, s);
}
aclnnStatus aclnnInplaceMaskedFillScalar(void* workspace, uint64_t size, aclOpExecutor* executor,
                                         aclrtStream s) {
  return second_phase("aclnnInplaceMaskedFillScalar", workspace, size, executor, s);
}
aclnnStatus aclnnIndexSelect(void* workspace, uint64_t size, aclOpExecutor* executor,
                             aclrtStream s) {
  return second_phase("aclnnIndexSelect", workspace, size, executor, s);
}

}  // extern "C"
