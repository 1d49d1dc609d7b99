// The runtime on a GPU: streams, events, memory, recorded work, and what bad arguments answer. Runs
// on the device named by INFINI_TEST_DEVICE; skips with the reason when there is none.
#include <cstring>
#include <numeric>
#include <string>

#include "tests/gpu/gpu_fixture.h"

namespace infini::test {
namespace {

void expect_ok(infiniStatus_t status) { EXPECT_OK(status); }

class GpuRuntime : public GpuTestWithBuffers {
 protected:
  GpuRuntime() : GpuTestWithBuffers(bytes) {}

  void SetUp() override {
    GpuTestWithBuffers::SetUp();
    if (IsSkipped()) return;
    values_.resize(rows * cols);
    std::iota(values_.begin(), values_.end(), 0.0f);
    expect_ok(infinirtMemcpy(a_, values_.data(), bytes, INFINIRT_MEMCPY_H2D));
    make_transpose();
  }
  void TearDown() override {
    if (transpose_ != nullptr) expect_ok(infiniopDestroyRearrangeDescriptor(transpose_));
    GpuTestWithBuffers::TearDown();
  }

  void make_transpose() {
    const size_t shape[] = {cols, rows};
    const ptrdiff_t strides[] = {1, cols};
    infiniopHandle_t handle = nullptr;
    infiniopTensorDescriptor_t dst = nullptr, src = nullptr;
    expect_ok(infiniopCreateHandle(&handle));
    expect_ok(infiniopCreateTensorDescriptor(&dst, 2, shape, nullptr, INFINI_DTYPE_F32));
    expect_ok(infiniopCreateTensorDescriptor(&src, 2, shape, strides, INFINI_DTYPE_F32));
    expect_ok(infiniopCreateRearrangeDescriptor(handle, &transpose_, dst, src));
    expect_ok(infiniopDestroyTensorDescriptor(dst));
    expect_ok(infiniopDestroyTensorDescriptor(src));
    expect_ok(infiniopDestroyHandle(handle));
  }
  void expect_transposed(const float* device) {
    std::vector<float> got(rows * cols);
    expect_ok(infinirtMemcpy(got.data(), device, bytes, INFINIRT_MEMCPY_D2H));
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(values_[i % rows * cols + i / rows], got[i]) << "element " << i;
  }

  static constexpr size_t rows = 300, cols = 500, bytes = rows * cols * sizeof(float);
  std::vector<float> values_;
  infiniopRearrangeDescriptor_t transpose_ = nullptr;
};

TEST_F(GpuRuntime, SynchronousCallsAreDoneWhenTheyReturn) {
  // Our streams do not wait for the default stream: only completed calls come before their work.
  for (int i = 0; i < 50; ++i) {
    expect_ok(infinirtMemset(b_, 0x55, bytes));
    expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));
    expect_ok(infinirtStreamSynchronize(stream_));
    expect_transposed(b_);
  }
}

// A vendor's copy from paged memory may return while the last part is still on its way from the
// driver's own buffer; kernels on our streams would not wait for it. Here they read that last part.
TEST_F(GpuRuntime, ACopyFromPagedMemoryHasArrivedWhenItReturns) {
  const size_t large = (emulated_ ? size_t{1} : size_t{32}) << 20;
  constexpr size_t tail = rows * cols;
  float* device = nullptr;
  expect_ok(infinirtMalloc(reinterpret_cast<void**>(&device), large * sizeof(float)));
  std::vector<float> host(large);
  for (int round = 0; round < 8; ++round) {
    std::iota(values_.begin(), values_.end(), static_cast<float>(round * 1000));
    std::copy(values_.begin(), values_.end(), host.end() - tail);
    expect_ok(infinirtMemcpy(device, host.data(), large * sizeof(float), INFINIRT_MEMCPY_H2D));
    expect_ok(infiniopRearrange(transpose_, b_, device + large - tail, stream_));
    expect_ok(infinirtStreamSynchronize(stream_));
    expect_transposed(b_);
  }
  expect_ok(infinirtFree(device));
}

// Kernels may begin while the one before them ends: what they read must be what it wrote, also
// where the next one writes what an earlier one still reads.
TEST_F(GpuRuntime, ChainsOfKernelsSeeEachOthersWrites) {
  const size_t n = emulated_ ? 256 : 4096;
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, static_cast<ptrdiff_t>(n)});
  const RearrangeOp turn(handle, dense, turned);
  std::vector<float> numbers(n * n), got(n * n);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  float* buffer[3] = {};
  for (float*& p : buffer) expect_ok(infinirtMalloc(reinterpret_cast<void**>(&p), n * n * 4));
  expect_ok(infinirtMemcpy(buffer[0], numbers.data(), n * n * 4, INFINIRT_MEMCPY_H2D));
  for (int i = 0; i < 64; ++i)  // an even number of times around
    expect_ok(infiniopRearrange(turn.desc, buffer[(i + 1) % 3], buffer[i % 3], stream_));
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_ok(infinirtMemcpy(got.data(), buffer[64 % 3], n * n * 4, INFINIRT_MEMCPY_D2H));
  EXPECT_TRUE(got == numbers);
  for (float* p : buffer) expect_ok(infinirtFree(p));
}

TEST_F(GpuRuntime, EventsOrderAndTime) {
  infinirtEvent_t start = nullptr, end = nullptr;
  infinirtStream_t other = nullptr;
  expect_ok(infinirtStreamCreate(&other));
  expect_ok(infinirtEventCreate(&start));
  expect_ok(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC));
  expect_ok(infinirtEventRecord(start, stream_));
  expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));
  expect_ok(infinirtEventRecord(end, stream_));
  expect_ok(infinirtStreamWaitEvent(other, end));
  expect_ok(infinirtMemcpyAsync(a_, b_, bytes, INFINIRT_MEMCPY_D2D, other));
  expect_ok(infinirtStreamSynchronize(other));
  expect_transposed(a_);
  expect_ok(infinirtEventSynchronize(end));
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  expect_ok(infinirtEventQuery(end, &status));
  EXPECT_EQ(INFINIRT_EVENT_COMPLETE, status);
  float milliseconds = -1;
  expect_ok(infinirtEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  expect_ok(infinirtEventDestroy(start));
  expect_ok(infinirtEventDestroy(end));
  expect_ok(infinirtStreamDestroy(other));
}

TEST_F(GpuRuntime, PooledAndPinnedMemory) {
  float *pooled = nullptr, *pinned = nullptr;
  expect_ok(infinirtMallocHost(reinterpret_cast<void**>(&pinned), bytes));
  std::memcpy(pinned, values_.data(), bytes);
  expect_ok(infinirtMallocAsync(reinterpret_cast<void**>(&pooled), bytes, stream_));
  expect_ok(infinirtMemsetAsync(pooled, 0, bytes, stream_));
  expect_ok(infinirtMemcpyAsync(pooled, pinned, bytes, INFINIRT_MEMCPY_H2D, stream_));
  expect_ok(infiniopRearrange(transpose_, b_, pooled, stream_));
  expect_ok(infinirtFreeAsync(pooled, stream_));
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_transposed(b_);
  expect_ok(infiniopRearrange(transpose_, b_, pinned, stream_));  // kernels reach pinned memory
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_ok(infinirtFreeHost(pinned));
}

TEST_F(GpuRuntime, RecordedWorkReplays) {
  expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));  // loads the kernel
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_ok(infinirtMemset(b_, 0, bytes));
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  expect_ok(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));
  expect_ok(infinirtStreamEndCapture(stream_, &graph));
  expect_ok(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) expect_ok(infinirtGraphLaunch(exec, stream_));
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_transposed(b_);
  expect_ok(infinirtGraphExecDestroy(exec));
  expect_ok(infinirtGraphDestroy(graph));
}

TEST_F(GpuRuntime, PointersThatKernelsCannotReachAreRefused) {
  std::vector<float> host(rows * cols);
  EXPECT_NE(INFINI_STATUS_SUCCESS, infiniopRearrange(transpose_, host.data(), a_, stream_));
  EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("dst"));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infiniopRearrange(transpose_, b_, host.data(), stream_));
  expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_transposed(b_);
}

TEST_F(GpuRuntime, FailuresCarryTheVendorsWordsAndPass) {
  void* p = nullptr;
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtMalloc(&p, size_t{1} << 50));
  EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("memory"))
      << infiniGetLastErrorString();
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtMemcpy(a_, b_, size_t{1} << 50, INFINIRT_MEMCPY_D2D));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtSetDevice(kind_, 1 << 20));
  size_t free_bytes = 0, total_bytes = 0;
  expect_ok(infinirtGetMemInfo(kind_, 0, &free_bytes, &total_bytes));
  EXPECT_LE(free_bytes, total_bytes);
  expect_ok(infiniopRearrange(transpose_, b_, a_, stream_));
  expect_ok(infinirtStreamSynchronize(stream_));
  expect_transposed(b_);
}

}  // namespace
}  // namespace infini::test
