// A host without memory: every allocation of the emulator fails once, in a program that uses all of it. Calls then answer
// with an error, releases succeed, queues go on, and what comes after is right.
#include "../../common/failing_new.h"
#include "aclnnop/aclnn_flip.h"
#include "fixture.h"

namespace cann_emulator {
namespace {

using emulators::fail_new, emulators::new_has_failed;

constexpr size_t bytes = 256;

// What a client does; goes on after errors, as destructors do.
class Client {
 public:
  void work() {
    aclrtMalloc(&x_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&y_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&workspace_, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMallocHost(&host_, bytes);
    aclrtCreateStream(&stream_);
    aclrtCreateEvent(&event_);
    if (!x_ || !y_ || !workspace_ || !host_ || !stream_ || !event_) return;
    for (int i = 0; i < 300; ++i)  // more than a queue holds
      aclrtMemsetAsync(x_, bytes, i, bytes, stream_);
    aclrtMemcpyAsync(y_, bytes, host_, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream_);
    aclrtRecordEvent(event_, stream_);
    aclrtStreamWaitEvent(nullptr, event_);
    copy();
    flip();
    aclrtSynchronizeEvent(event_);
    aclrtSynchronizeStream(stream_);
    aclrtSynchronizeDevice();
  }

  // Releases never fail.
  void release() {
    EXPECT_TRUE(!stream_ || aclrtDestroyStream(stream_) == 0);
    EXPECT_TRUE(!event_ || aclrtDestroyEvent(event_) == 0);
    for (void* p : {x_, y_, workspace_}) EXPECT_TRUE(!p || aclrtFree(p) == 0);
    EXPECT_TRUE(!host_ || aclrtFreeHost(host_) == 0);
  }

 private:
  void copy() {
    const int64_t dims[] = {8, 8}, transposed[] = {1, 8}, dense[] = {8, 1}, storage = 64;
    aclTensor* dst = aclCreateTensor(dims, 2, ACL_INT32, dense, 0, ACL_FORMAT_ND, &storage, 1, y_);
    aclTensor* src =
        aclCreateTensor(dims, 2, ACL_INT32, transposed, 0, ACL_FORMAT_ND, &storage, 1, x_);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (dst && src && aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor) == 0)
      aclnnInplaceCopy(workspace_, size, executor, stream_);
    for (aclTensor* tensor : {dst, src}) EXPECT_EQ(0, aclDestroyTensor(tensor));
  }

  void flip() {
    const int64_t dims[] = {64}, one[] = {1}, axis[] = {0};
    aclTensor* dst = aclCreateTensor(dims, 1, ACL_INT32, one, 0, ACL_FORMAT_ND, dims, 1, y_);
    aclTensor* src = aclCreateTensor(dims, 1, ACL_INT32, one, 0, ACL_FORMAT_ND, dims, 1, x_);
    aclIntArray* axes = aclCreateIntArray(axis, 1);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (dst && src && axes && aclnnFlipGetWorkspaceSize(src, axes, dst, &size, &executor) == 0)
      aclnnFlip(workspace_, size, executor, stream_);
    EXPECT_TRUE(!axes || aclDestroyIntArray(axes) == 0);
    for (aclTensor* tensor : {dst, src}) EXPECT_EQ(0, aclDestroyTensor(tensor));
  }

  void *x_ = nullptr, *y_ = nullptr, *workspace_ = nullptr, *host_ = nullptr;
  aclrtStream stream_ = nullptr;
  aclrtEvent event_ = nullptr;
};

// The n-th allocation fails, for every n there is.
void fail_each(bool for_good) {
  bool failed = true;
  clear_violations();
  int64_t n = 1;
  for (; failed; ++n) {
    SCOPED_TRACE(n);
    Client client;
    fail_new(n, for_good);
    if (aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0) client.work();
    failed = new_has_failed();
    fail_new(0, false);
    aclInit(nullptr);
    ASSERT_EQ(0, aclrtSetDevice(0));
    aclrtSynchronizeDevice();  // may say that work was lost
    client.release();
    ASSERT_EQ(0, aclrtSynchronizeDevice());
    ASSERT_TRUE(live().empty()) << live().tensors << " tensors, " << live().arrays << " arrays, "
                                << live().executors << " executors, " << live().streams
                                << " streams, " << live().queued_tasks << " tasks";
    ASSERT_TRUE(violations().empty()) << violations()[0].detail;
    aclFinalize();
  }
  EXPECT_GT(n, 300);  // it did allocate
}

// Nothing was called yet: what the emulator makes once fails here, too.
TEST(OutOfMemory, EveryAllocationMayFailOnce) { fail_each(false); }
TEST(OutOfMemory, EveryAllocationMayFailForGood) { fail_each(true); }

using Fault = OnDevice;
TEST_F(Fault, ABrokenRuleIsKeptWithoutItsWords) {
  fail_new(1, true);
  const int code = aclrtFree(nullptr);
  fail_new(0, false);
  EXPECT_EQ(ACL_ERROR_INVALID_PARAM, code);
  ASSERT_EQ(1u, violations().size());
  EXPECT_EQ(Rule::null_free, violations()[0].rule);
  clear_violations();
}

TEST_F(Fault, ATensorIsDestroyedBetweenThePhases) {
  Buffer a(256), b(256);
  aclTensor* dst = make_tensor({{8}, {1}}, a.get());
  aclTensor* src = make_tensor({{8}, {1}}, b.get());
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnInplaceCopyGetWorkspaceSize(dst, src, &size, &executor), 0);
  fail_new(1, true);
  const int code = aclDestroyTensor(src);  // breaks a rule, and no exception comes out
  fail_new(0, false);
  EXPECT_EQ(0, code);
  EXPECT_EQ(1u, violations().size());
  EXPECT_EQ(0, aclDestroyTensor(dst));
  EXPECT_EQ(0, aclDestroyAclOpExecutor(executor));
  clear_violations();
}

}  // namespace
}  // namespace cann_emulator
