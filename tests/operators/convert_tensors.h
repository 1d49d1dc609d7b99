// Convert's tests share: the device, its memory, descriptors.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/device_kind.h"
#include "harness/operators/convert_formats.h"
#include "infiniop.h"
#include "infinirt.h"

namespace infini::test {
namespace {

using namespace harness;

constexpr auto fine = INFINI_STATUS_SUCCESS;

// The device under test: INFINI_TEST_DEVICE, the CPU without it.
inline infiniDevice_t device_kind() {
  const char* const name = std::getenv("INFINI_TEST_DEVICE");
  for (int i = 0; name != nullptr && i < INFINI_DEVICE_TYPE_COUNT; ++i)
    if (std::string(name) == device_kind_name(static_cast<infiniDevice_t>(i)))
      return static_cast<infiniDevice_t>(i);
  return INFINI_DEVICE_CPU;
}

class Convert : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    infinirtGetDeviceCount(device_kind(), &count);
    ASSERT_TRUE(count > 0 || std::getenv("INFINI_TEST_DEVICE_REQUIRED") == nullptr)
        << "no " << device_kind_name(device_kind());
    if (count == 0) GTEST_SKIP() << "no " << device_kind_name(device_kind());
    ASSERT_EQ(fine, infinirtSetDevice(device_kind(), 0));
    ASSERT_EQ(fine, infiniopCreateHandle(&handle));
  }
  void TearDown() override { infiniopDestroyHandle(handle); }
  infiniopHandle_t handle = nullptr;
};

// Bytes in memory of the device.
struct Memory {
  explicit Memory(const std::vector<char>& host) : bytes(host.size()) {
    EXPECT_EQ(fine, infinirtMalloc(&p, std::max<size_t>(bytes, 1)));
    EXPECT_EQ(fine, infinirtMemcpy(p, host.data(), bytes, INFINIRT_MEMCPY_H2D));
  }
  Memory(const Memory&) = delete;
  ~Memory() { infinirtFree(p); }
  std::vector<char> host() const {
    std::vector<char> out(bytes);
    EXPECT_EQ(fine, infinirtDeviceSynchronize());
    EXPECT_EQ(fine, infinirtMemcpy(out.data(), p, bytes, INFINIRT_MEMCPY_D2H));
    return out;
  }
  size_t bytes;
  void* p = nullptr;
};

// The bytes that a run asks for.
struct Workspace {
  explicit Workspace(infiniopConvertDescriptor_t desc) {
    EXPECT_EQ(fine, infiniopGetConvertWorkspaceSize(desc, &bytes));
    EXPECT_EQ(fine, infinirtMalloc(&p, std::max<size_t>(bytes, 1)));
  }
  Workspace(const Workspace&) = delete;
  ~Workspace() { infinirtFree(p); }
  size_t bytes = 0;
  void* p = nullptr;
};

struct Desc {
  Desc(infiniDtype_t dtype, const std::vector<size_t>& shape,
       const std::vector<ptrdiff_t>& strides = {}) {
    EXPECT_EQ(fine,
              infiniopCreateTensorDescriptor(&t, shape.size(), shape.data(),
                                             strides.empty() ? nullptr : strides.data(), dtype));
  }
  Desc(const Desc&) = delete;
  ~Desc() { infiniopDestroyTensorDescriptor(t); }
  infiniopTensorDescriptor_t t = nullptr;
};

inline infiniopConvertOptions_t options_for(const FormatFacts& y, const FormatFacts& x,
                                            bool saturates, double scale = 1, double shift = 0) {
  return {sizeof(infiniopConvertOptions_t),
          (saturates ? 1u : 0u) | (x.format == Format::e5m2 ? 2u : 0u) |
              (y.format == Format::e5m2 ? 4u : 0u),
          scale, shift};
}

}  // namespace
}  // namespace infini::test
