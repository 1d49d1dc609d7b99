// Shared by the emulator's tests: a device in use, no rule broken yet, and a check that one call
// breaks exactly one rule.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_copy.h"
#include "cann_emulator.h"

namespace cann_emulator {

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    clear_violations();
    reset_counters();
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeDevice(), 0);
    for (auto& v : violations())
      ADD_FAILURE() << v.call << " broke " << name(v.rule) << ": " << v.detail;
    EXPECT_TRUE(live().empty()) << live().device_blocks << " blocks, " << live().tensors
                                << " tensors, " << live().executors << " executors, "
                                << live().streams << " streams, " << live().events << " events";
    aclrtResetDevice(0);
  }

  // The call returned `code` and the record holds this one rule; the record is cleared.
  static void expect_broken(int returned, int code, Rule rule) {
    EXPECT_EQ(returned, code);
    auto found = violations();
    ASSERT_EQ(found.size(), 1u) << "for rule " << name(rule);
    EXPECT_EQ(found[0].rule, rule) << name(found[0].rule) << ": " << found[0].detail;
    EXPECT_FALSE(found[0].detail.empty());
    clear_violations();
  }
  // Returned `code` without any rule broken: a legal request that cannot be met.
  static void expect_refused(int returned, int code) {
    EXPECT_EQ(returned, code);
    EXPECT_TRUE(violations().empty());
    EXPECT_NE(aclGetRecentErrMsg(), nullptr);
  }
};

// Device memory for one test.
class Buffer {
 public:
  explicit Buffer(size_t size) : size_(size) {
    EXPECT_EQ(aclrtMalloc(&p_, size, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  }
  ~Buffer() { EXPECT_TRUE(!p_ || aclrtFree(p_) == 0); }
  Buffer(const Buffer&) = delete;
  void* get(size_t offset = 0) const { return static_cast<char*>(p_) + offset; }
  void* release() { return std::exchange(p_, nullptr); }
  template <class T>
  void write(const std::vector<T>& values) {
    EXPECT_EQ(
        aclrtMemcpy(p_, size_, values.data(), values.size() * sizeof(T), ACL_MEMCPY_HOST_TO_DEVICE),
        0);
  }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(size_ / sizeof(T));
    EXPECT_EQ(aclrtMemcpy(values.data(), size_, p_, size_, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return values;
  }

 private:
  void* p_ = nullptr;
  size_t size_;
};

template <class T>
std::vector<T> iota(size_t n) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), T{1});
  return values;
}

struct View {
  std::vector<int64_t> dims, strides;
  int64_t offset = 0;
  int64_t storage = -1;  // -1: just enough
  aclDataType dtype = ACL_INT32;
};

inline aclTensor* make_tensor(const View& v, void* p) {
  int64_t needed = v.offset + 1;
  for (size_t i = 0; i < v.dims.size(); ++i) needed += v.strides[i] * (v.dims[i] - 1);
  int64_t storage = v.storage < 0 ? needed : v.storage;
  return aclCreateTensor(v.dims.data(), v.dims.size(), v.dtype, v.strides.data(), v.offset,
                         ACL_FORMAT_ND, &storage, 1, p);
}

}  // namespace cann_emulator
