// Faults on demand: the n-th call fails, repeatable executors are refused, sources with gaps are
// refused. Leaks show.
#include <cstdlib>

#include "fixture.h"

namespace cann_emulator {
namespace {

using Fault = OnDevice;

TEST_F(Fault, TheNthCallFailsAndSaysSo) {
  void* p = nullptr;
  fail_call(2);
  ASSERT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  EXPECT_FALSE(fault_fired());
  void* q = nullptr;
  expect_refused(aclrtMalloc(&q, 64, ACL_MEM_MALLOC_HUGE_FIRST), 207018);
  EXPECT_TRUE(fault_fired());
  EXPECT_EQ(aclrtFree(p), 0);
  EXPECT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);  // only once
  EXPECT_EQ(aclrtFree(p), 0);
}

TEST_F(Fault, ReleasesNeverFail) {
  Buffer a(64);
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  fail_call(1);
  EXPECT_EQ(aclrtFree(p), 0);
  EXPECT_FALSE(fault_fired());
  fail_call(0);
}

TEST_F(Fault, RefusalsOnDemand) {
  Buffer a(256), b(256);
  aclTensor* dst = make_tensor({{8}, {1}}, a.get());
  aclTensor* gapped = make_tensor({{8}, {3}}, b.get());
  aclTensor* plain = make_tensor({{8}, {1}}, b.get());
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  refuse_gapped_sources(true);
  expect_refused(aclnnInplaceCopyGetWorkspaceSize(dst, gapped, &size, &executor), 561103);
  refuse_gapped_sources(false);
  refuse_repeatable(true);
  ASSERT_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, plain, &size, &executor), 0);
  expect_refused(aclSetAclOpExecutorRepeatable(executor), 561000);
  refuse_repeatable(false);
  EXPECT_EQ(aclnnInplaceCopy(nullptr, 0, executor, nullptr),
            0);  // the executor is still good for one run
  for (aclTensor* t : {dst, gapped, plain}) EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclrtSynchronizeStream(nullptr), 0);
}

TEST(StrictDeathTest, ABrokenRuleEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // a fresh process, which reads the environment anew
  setenv("CANN_EMULATOR_STRICT", "1", 1);
  EXPECT_EXIT(
      {
        aclrtFree(nullptr);
        std::exit(0);
      },
      testing::ExitedWithCode(86), "aclrtFree broke initialised");
  unsetenv("CANN_EMULATOR_STRICT");
}

TEST_F(Fault, LeaksShow) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  Buffer a(256);
  aclTensor* t = make_tensor({{8}, {1}}, a.get());
  Live found = live();
  EXPECT_EQ(found.streams, 1u);
  EXPECT_EQ(found.tensors, 1u);
  EXPECT_EQ(found.device_blocks, 1u);
  EXPECT_EQ(found.device_bytes, 256u);
  EXPECT_FALSE(found.empty());
  EXPECT_EQ(aclDestroyTensor(t), 0);
  EXPECT_EQ(aclrtDestroyStream(stream), 0);
}

}  // namespace
}  // namespace cann_emulator
