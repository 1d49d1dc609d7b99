// What has no call of the vendor's is computed on the host as the vendor's calls compute what has one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "backends/ascend/operators/functions.h"
#include "base/dtype.h"
#include "base/float_formats.h"
#include "infiniop.h"
#include "infinirt.h"

namespace infini::ascend {
namespace {

constexpr size_t count = 64;

struct Bytes {
  Bytes() { EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtMalloc(&p, 8 * count)); }
  ~Bytes() { infinirtFree(p); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  void* p = nullptr;
};

// -3 ... 5 in steps of an eighth, but for integers all bytes.
void fill(void* to, infiniDtype_t dtype, int start) {
  std::vector<char> bytes(count * static_cast<size_t>(dtype_bytes(dtype)));
  for (size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>((static_cast<int>(i) + start) % 64 - 24) / 8 + 0.0625f;
    const uint16_t f16 = f16_from_f32(value), bf16 = bf16_from_f32(value);
    if (dtype == INFINI_DTYPE_F32) std::memcpy(&bytes[4 * i], &value, 4);
    if (dtype == INFINI_DTYPE_F16) std::memcpy(&bytes[2 * i], &f16, 2);
    if (dtype == INFINI_DTYPE_BF16) std::memcpy(&bytes[2 * i], &bf16, 2);
    if (dtype == INFINI_DTYPE_I8) bytes[i] = static_cast<char>(37 * static_cast<int>(i) + start);
  }
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infinirtMemcpy(to, bytes.data(), bytes.size(), INFINIRT_MEMCPY_H2D));
}

std::vector<double> values_of(const void* from, infiniDtype_t dtype) {
  std::vector<char> bytes(count * static_cast<size_t>(dtype_bytes(dtype)));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtDeviceSynchronize());
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infinirtMemcpy(bytes.data(), from, bytes.size(), INFINIRT_MEMCPY_D2H));
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &bytes[i * static_cast<size_t>(dtype_bytes(dtype))],
                static_cast<size_t>(dtype_bytes(dtype)));
    const auto half = static_cast<uint16_t>(bits);
    values.push_back(dtype == INFINI_DTYPE_F32    ? double{std::bit_cast<float>(bits)}
                     : dtype == INFINI_DTYPE_F16  ? double{f32_from_f16(half)}
                     : dtype == INFINI_DTYPE_BF16 ? double{f32_from_bf16(half)}
                                                  : static_cast<signed char>(bits));
  }
  return values;
}

void run_by_calls(const FunctionFacts& facts, infiniDtype_t dtype, void* const* operands) {
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t row = nullptr;
  infiniopOperatorDescriptor_t desc = nullptr;
  const size_t shape[] = {count}, number = static_cast<size_t>(facts.operands);
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateHandle(&handle));
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateTensorDescriptor(&row, 1, shape, nullptr, dtype));
  const infiniopTensorDescriptor_t rows[] = {row, row, row};
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateOperatorDescriptor(handle, &desc, facts.name, rows, number, nullptr))
      << infiniGetLastErrorString();
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infiniopRunOperator(desc, nullptr, 0, operands, number, nullptr, nullptr))
      << infiniGetLastErrorString();
  infiniopDestroyOperatorDescriptor(desc);
  infiniopDestroyTensorDescriptor(row);
  infiniopDestroyHandle(handle);
}

void expect_alike(Function function, infiniDtype_t dtype, double unit) {
  const FunctionFacts& facts = facts_of(function);
  SCOPED_TRACE(std::string(facts.name) + " " + std::string(dtype_name(dtype)));
  const Bytes by_calls, by_host, a, b;
  fill(a.p, dtype, 5);
  fill(b.p, dtype, 29);
  void* const operands[] = {by_calls.p, a.p, b.p};
  run_by_calls(facts, dtype, operands);
  OperatorPlan plan;
  plan.function = function;
  plan.operands = facts.operands;
  plan.length = count;
  for (infiniDtype_t& each : plan.dtypes) each = dtype;
  char* const places[] = {static_cast<char*>(by_host.p), static_cast<char*>(a.p),
                          static_cast<char*>(b.p)};
  run_host_map({plan, places, nullptr, nullptr, nullptr});
  const auto wanted = values_of(by_calls.p, dtype), got = values_of(by_host.p, dtype);
  for (size_t i = 0; i < count; ++i)
    EXPECT_NEAR(wanted[i], got[i], unit * std::abs(wanted[i])) << i;
}

TEST(AscendHostMap, ComputesAsTheCallsDo) {
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtSetDevice(INFINI_DEVICE_ASCEND, 0))
      << infiniGetLastErrorString();
  for (int i = 0; i < elementwise_count; ++i) {
    const auto function = static_cast<Function>(i);
    if (function == Function::cast) continue;
    expect_alike(function, INFINI_DTYPE_F32, 0x1p-18);
    expect_alike(function, INFINI_DTYPE_F16, 0x1p-10);
    expect_alike(function, INFINI_DTYPE_BF16, 0x1p-7);
    if (facts_of(function).takes == Takes::numbers) expect_alike(function, INFINI_DTYPE_I8, 0);
  }
}

}  // namespace
}  // namespace infini::ascend
