// What goes wrong on a GPU: a status, words that carry the vendor's own, and a next call that
// works. Runs on the device named by INFINI_TEST_DEVICE; skips with the reason when there is none.
#include <string>

#include "tests/gpu/gpu_fixture.h"

namespace infini::test {
namespace {

class GpuFaults : public GpuTestWithBuffers {
 protected:
  GpuFaults() : GpuTestWithBuffers(512 * 512 * 4) {}

  static bool last_words_hold(const char* text) {
    return std::string(infiniGetLastErrorString()).find(text) != std::string::npos;
  }
  // Transposes n×n numbers there and back.
  void expect_it_works(size_t n) {
    const Handle handle;
    const Tensor dense({n, n}), turned({n, n}, {1, static_cast<ptrdiff_t>(n)});
    const RearrangeOp op(handle, dense, turned);
    std::vector<float> there(n * n), back(n * n);
    for (size_t i = 0; i < there.size(); ++i) there[i] = static_cast<float>(i);
    EXPECT_OK(infinirtMemcpy(a_, there.data(), n * n * 4, INFINIRT_MEMCPY_H2D));
    EXPECT_OK(infiniopRearrange(op.desc, b_, a_, stream_));
    EXPECT_OK(infinirtStreamSynchronize(stream_));
    EXPECT_OK(infinirtMemcpy(back.data(), b_, n * n * 4, INFINIRT_MEMCPY_D2H));
    for (size_t i = 0; i < back.size(); ++i)
      ASSERT_EQ(there[i % n * n + i / n], back[i]) << "element " << i;
  }
};

// One operator of every size class: a tiny one, a large one, a plain copy.
TEST_F(GpuFaults, ADestroyedStreamIsRefused) {
  const Handle handle;
  infinirtStream_t gone = nullptr;
  for (const size_t n : {8, 512}) {
    for (const ptrdiff_t step : {ptrdiff_t{1}, static_cast<ptrdiff_t>(n)}) {
      const Tensor dense({n, n}), other({n, n}, {step, step == 1 ? static_cast<ptrdiff_t>(n) : 1});
      const RearrangeOp op(handle, dense, other);
      ASSERT_OK(infinirtStreamCreate(&gone));
      EXPECT_OK(infiniopRearrange(op.desc, b_, a_, gone));
      ASSERT_OK(infinirtStreamSynchronize(gone));  // others will use this memory
      ASSERT_OK(infinirtStreamDestroy(gone));
      EXPECT_NE(INFINI_STATUS_SUCCESS, infiniopRearrange(op.desc, b_, a_, gone)) << n;
      EXPECT_TRUE(last_words_hold("stream")) << infiniGetLastErrorString();
      EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtStreamSynchronize(gone));
      EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtStreamDestroy(gone));
      expect_it_works(n);
    }
  }
}

// Products small and large enough for every way of multiplying.
TEST_F(GpuFaults, ADestroyedStreamIsRefusedByGemm) {
  const Handle handle;
  for (const size_t n : {size_t{8}, size_t{64}, size_t{256}}) {
    const Tensor square({n, n});
    infiniopGemmDescriptor_t gemm = nullptr;
    const auto made =
        infiniopCreateGemmDescriptor(handle.handle, &gemm, square.desc, square.desc, square.desc);
    if (made == INFINI_STATUS_NOT_IMPLEMENTED) GTEST_SKIP() << infiniGetLastErrorString();
    ASSERT_OK(made);
    size_t workspace_bytes = 0;
    ASSERT_OK(infiniopGetGemmWorkspaceSize(gemm, &workspace_bytes));
    void *workspace = nullptr, *c = nullptr;
    ASSERT_OK(infinirtMalloc(&workspace, workspace_bytes + 64));
    ASSERT_OK(infinirtMalloc(&c, n * n * 4));
    infinirtStream_t gone = nullptr;
    ASSERT_OK(infinirtStreamCreate(&gone));
    const auto run = [&] {
      return infiniopGemm(gemm, workspace, workspace_bytes, c, a_, b_, 1, 0, gone);
    };
    EXPECT_OK(run());
    ASSERT_OK(infinirtStreamSynchronize(gone));
    ASSERT_OK(infinirtStreamDestroy(gone));
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run()) << n;
    EXPECT_TRUE(last_words_hold("stream")) << infiniGetLastErrorString();
    expect_it_works(n);
    EXPECT_OK(infinirtFree(workspace));
    EXPECT_OK(infinirtFree(c));
    EXPECT_OK(infiniopDestroyGemmDescriptor(gemm));
  }
}

// Allocating while a stream is captured in global mode spoils the capture; so does a launch then.
TEST_F(GpuFaults, AFailedLaunchTellsAndPasses) {
  expect_it_works(64);
  const Handle handle;
  const Tensor dense({64, 64}), turned({64, 64}, {1, 64});
  const RearrangeOp op(handle, dense, turned);
  ASSERT_OK(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  void* p = nullptr;
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtMalloc(&p, 64));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infiniopRearrange(op.desc, b_, a_, stream_));
  EXPECT_TRUE(last_words_hold("cannot launch rearrange")) << infiniGetLastErrorString();
  EXPECT_TRUE(last_words_hold("says")) << infiniGetLastErrorString();
  infinirtGraph_t graph = nullptr;
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtStreamEndCapture(stream_, &graph));
  expect_it_works(64);
}

TEST_F(GpuFaults, TooLittleMemoryTellsAndPasses) {
  void* p = nullptr;
  EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, infinirtMalloc(&p, size_t{1} << 46));
  EXPECT_TRUE(last_words_hold("memory")) << infiniGetLastErrorString();
  EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, infinirtMallocAsync(&p, size_t{1} << 46, stream_));
  EXPECT_TRUE(last_words_hold("memory")) << infiniGetLastErrorString();
  EXPECT_EQ(nullptr, p);
  expect_it_works(64);
}

TEST_F(GpuFaults, FreedMemoryIsRefused) {
  const Handle handle;
  const Tensor dense({64, 64}), turned({64, 64}, {1, 64});
  const RearrangeOp op(handle, dense, turned);
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, size_t{64} << 20));
  for (int i = 0; i < 3; ++i) EXPECT_OK(infiniopRearrange(op.desc, p, a_, stream_));
  EXPECT_OK(infinirtStreamSynchronize(stream_));
  ASSERT_OK(infinirtFree(p));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRearrange(op.desc, p, a_, stream_));
  expect_it_works(64);
}

// A capture that can never end says so when it is to end. (What is put into it until then CUDA takes in silence; the
// emulator refuses it.)
TEST_F(GpuFaults, ACaptureThatLosesItsOriginIsTold) {
  infinirtStream_t origin = nullptr, joined = nullptr;
  infinirtEvent_t event = nullptr;
  infinirtGraph_t graph = nullptr;
  ASSERT_OK(infinirtStreamCreate(&origin));
  ASSERT_OK(infinirtStreamCreate(&joined));
  ASSERT_OK(infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING));
  ASSERT_OK(infinirtStreamBeginCapture(origin, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(infinirtEventRecord(event, origin));
  ASSERT_OK(infinirtStreamWaitEvent(joined, event));
  EXPECT_OK(infinirtStreamDestroy(origin));
  (void)infinirtMemsetAsync(a_, 1, 64, joined);
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtStreamEndCapture(joined, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_OK(infinirtStreamDestroy(joined));
  EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_OK(infinirtDeviceSynchronize());  // the memset may be under way, outside of any capture
  expect_it_works(64);
}

TEST_F(GpuFaults, MemoryIsFreedOnceInACapture) {
  void* p = nullptr;
  infinirtGraph_t graph = nullptr;
  ASSERT_OK(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(infinirtMallocAsync(&p, 1 << 20, stream_));
  EXPECT_OK(infinirtFreeAsync(p, stream_));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtFreeAsync(p, stream_)) << "again";
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtFreeAsync(reinterpret_cast<void*>(0x1234), stream_));
  infinirtStreamEndCapture(stream_, &graph);  // a vendor may call it invalid by now
  EXPECT_OK(infinirtGraphDestroy(graph));
  expect_it_works(64);
}

TEST_F(GpuFaults, MemoryOfAnotherDeviceIsRefused) {
  if (infinirtSetDevice(kind_, 1) != INFINI_STATUS_SUCCESS) GTEST_SKIP() << "needs two devices";
  void* far = nullptr;
  ASSERT_OK(infinirtMalloc(&far, bytes_));
  ASSERT_OK(infinirtSetDevice(kind_, 0));
  const Handle handle;
  const Tensor dense({64, 64}), turned({64, 64}, {1, 64});
  const RearrangeOp op(handle, dense, turned);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRearrange(op.desc, far, a_, stream_));
  EXPECT_TRUE(last_words_hold("dst")) << infiniGetLastErrorString();
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRearrange(op.desc, b_, far, stream_));
  EXPECT_TRUE(last_words_hold("src")) << infiniGetLastErrorString();
  expect_it_works(64);
  ASSERT_OK(infinirtFree(far));
}

}  // namespace
}  // namespace infini::test
