// Shapes and strides that make sense nowhere, for every operator of the table: a status and words, never a crash, and the
// memory is not touched; empty ones are successful no-ops.
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "tests/capi/capi_support.h"

namespace infini {
namespace {

using test::Handle;

constexpr size_t half = size_t{1} << 62, huge = (size_t{1} << 63) - 1;

struct Hostile {
  const char* what;
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;  // empty: row-major
  bool is_empty = false;
};

std::vector<Hostile> hostile_layouts() {
  std::vector<size_t> deep(64, 1);
  deep[10] = 2;
  return {{"rank 0", {}, {}},
          {"rank 64", deep, {}},
          {"rank 65", std::vector<size_t>(65, 1), {}},
          {"an empty row", {0}, {}, true},
          {"empty beside huge", {0, huge}, {}, true},
          {"empty between huge", {half, 0, half}, {}, true},
          {"empty rows", {3, 0, 2}, {}, true},
          {"one element far apart", {1, 1}, {PTRDIFF_MIN, PTRDIFF_MAX}},
          {"too many elements", {huge, 2}, {}},
          {"too many bytes", {half, 1}, {}},
          {"too many of one element", {size_t{1} << 40, size_t{1} << 40}, {0, 0}},
          {"as many as wrap to few", {(size_t{1} << 42) + 1, size_t{1} << 22}, {}},
          {"a stride that overflows", {3, 2}, {PTRDIFF_MAX, 1}},
          {"the least stride", {2, 2}, {PTRDIFF_MIN, 1}},
          {"elements upon one another", {2, 2}, {1, 1}},
          {"one element for all", {4, 4}, {0, 0}}};
}

infiniDtype_t dtype_of(const std::string& name, size_t operand) {
  if (name == "rope" && operand == 2) return INFINI_DTYPE_I64;
  return name == "random_sample" && operand == 0 ? INFINI_DTYPE_I32 : INFINI_DTYPE_F32;
}

// All operands have this layout; null where it cannot even be described.
std::vector<infiniopTensorDescriptor_t> describe(const std::string& name, const Hostile& hostile) {
  std::vector<infiniopTensorDescriptor_t> operands;
  for (size_t k = 0; k < infiniopOperatorOperands(name.c_str()); ++k)
    infiniopCreateTensorDescriptor(
        &operands.emplace_back(), hostile.shape.size(), hostile.shape.data(),
        hostile.strides.empty() ? nullptr : hostile.strides.data(), dtype_of(name, k));
  return operands;
}

bool is_an_answer(infiniStatus_t status) {
  for (const infiniStatus_t known :
       {INFINI_STATUS_BAD_TENSOR_SHAPE, INFINI_STATUS_BAD_TENSOR_STRIDES,
        INFINI_STATUS_BAD_TENSOR_DTYPE, INFINI_STATUS_BAD_PARAM, INFINI_STATUS_NULL_POINTER,
        INFINI_STATUS_NOT_IMPLEMENTED, INFINI_STATUS_INSUFFICIENT_WORKSPACE})
    if (status == known) return std::strlen(infiniGetLastErrorString()) > 0;
  return false;
}

void expect_answer(infiniopHandle_t handle, const std::string& name, bool is_elementwise,
                   const Hostile& hostile) {
  SCOPED_TRACE(name + ": " + hostile.what);
  const auto operands = describe(name, hostile);
  auto* desc = reinterpret_cast<InfiniopDescriptor*>(1);
  const infiniStatus_t made = infiniopCreateOperatorDescriptor(
      handle, &desc, name.c_str(), operands.data(), operands.size(), nullptr);
  if (made != INFINI_STATUS_SUCCESS) {
    EXPECT_TRUE(is_an_answer(made)) << infiniStatusString(made) << infiniGetLastErrorString();
    EXPECT_EQ(desc, nullptr);
    EXPECT_FALSE(hostile.is_empty && is_elementwise) << infiniGetLastErrorString();
  } else {
    const std::vector<void*> nowhere(operands.size());
    const infiniopSampleOptions_t samples[3] = {};
    const infiniStatus_t ran =
        infiniopRunOperator(desc, nullptr, 0, nowhere.data(), nowhere.size(),
                            name == "random_sample" ? samples : nullptr, nullptr);
    if (ran != INFINI_STATUS_SUCCESS) {
      EXPECT_TRUE(is_an_answer(ran)) << infiniStatusString(ran) << infiniGetLastErrorString();
    }
    EXPECT_EQ(ran == INFINI_STATUS_SUCCESS, hostile.is_empty) << infiniGetLastErrorString();
    EXPECT_OK(infiniopDestroyOperatorDescriptor(desc));
  }
  for (const infiniopTensorDescriptor_t operand : operands)
    infiniopDestroyTensorDescriptor(operand);
}

TEST(HostileOperators, ShapesThatMakeNoSense) {
  const Handle handle;
  size_t count = 0;
  bool is_elementwise = true;
  for (; const char* const name = infiniopOperatorName(count); ++count) {
    is_elementwise = is_elementwise && std::strcmp(name, "rms_norm") != 0;
    for (const Hostile& hostile : hostile_layouts())
      expect_answer(handle.handle, name, is_elementwise, hostile);
  }
  EXPECT_GE(count, 14u);
}

}  // namespace
}  // namespace infini
