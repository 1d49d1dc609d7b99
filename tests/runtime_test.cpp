// The registry: which devices there are, and what is said of those that are not there.
#include "runtime/registry.h"

#include <gtest/gtest.h>

#include "runtime/current_device.h"

namespace infini {
namespace {

TEST(Registry, TheCpuIsAlwaysThere) {
  EXPECT_EQ(1, device_count(INFINI_DEVICE_CPU));
  EXPECT_EQ(INFINI_DEVICE_CPU, open_device(INFINI_DEVICE_CPU, 0).kind());
  EXPECT_EQ(&open_device(INFINI_DEVICE_CPU, 0), &open_device(INFINI_DEVICE_CPU, 0));
  EXPECT_EQ(&open_device(INFINI_DEVICE_CPU, 0), &current_device());
}

TEST(Registry, AbsentKindsSayWhy) {
  std::string why;
  EXPECT_EQ(nullptr, find_backend(INFINI_DEVICE_CAMBRICON, &why));
  EXPECT_NE(std::string::npos, why.find("libinfini-cambricon.so"));
  EXPECT_EQ(0, device_count(INFINI_DEVICE_CAMBRICON));
}

}  // namespace
}  // namespace infini
