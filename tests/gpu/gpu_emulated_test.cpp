// What only an emulated GPU can tell: that no asynchronous call makes the host wait, that every
// call of the vendor's runtime may fail and what is said then, and that nothing is left behind.
#include <algorithm>
#include <sstream>
#include <string>

#include "tests/gpu/gpu_emulated_fixture.h"

namespace infini::test {
namespace {

const struct {
  const char* name;
  size_t rows, cols;
  bool turned;
} shapes[] = {{"tiny", 8, 8, true}, {"copy", n, n, false}, {"large", n, n, true}};

TEST_F(EmulatedGpu, AChipWithoutCodeInTheModuleIsToldSo) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, static_cast<ptrdiff_t>(n)});
  const RearrangeOp op(handle, dense, turned);
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  for (int64_t call = 1; call < 9 && status == INFINI_STATUS_SUCCESS; ++call) {
    simt_emu_fail_call(call, simtErrorNoKernelImageForDevice);
    status = infiniopRearrange(op.desc, b_, a_, stream_);
  }
  simt_emu_fail_call(0, simtSuccess);
  EXPECT_EQ(INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED, status);
  EXPECT_NE(std::string(infiniGetLastErrorString()).find("built without code for this chip"),
            std::string::npos)
      << infiniGetLastErrorString();
}

TEST_F(EmulatedGpu, NoAsynchronousCallMakesTheHostWait) {
  const Handle handle;
  void* pinned = nullptr;
  infinirtEvent_t event = nullptr;
  ASSERT_OK(infinirtMallocHost(&pinned, bytes));
  ASSERT_OK(infinirtEventCreate(&event));
  for (const auto& shape : shapes) {
    const auto step = static_cast<ptrdiff_t>(shape.rows);
    const Tensor dense({shape.cols, shape.rows});
    const Tensor src({shape.cols, shape.rows}, shape.turned ? std::vector<ptrdiff_t>{1, step}
                                                            : std::vector<ptrdiff_t>{step, 1});
    const RearrangeOp op(handle, dense, src);
    const uint64_t before = waits();
    void* pooled = nullptr;
    EXPECT_OK(infinirtMallocAsync(&pooled, bytes, stream_));
    EXPECT_OK(infinirtMemcpyAsync(a_, pinned, bytes, INFINIRT_MEMCPY_H2D, stream_));
    EXPECT_OK(infiniopRearrange(op.desc, pooled, a_, stream_));
    EXPECT_OK(infiniopRearrange(op.desc, b_, b_, stream_));  // through memory of its own
    EXPECT_OK(infinirtMemsetAsync(b_, 0, bytes, stream_));
    EXPECT_OK(infinirtMemcpyAsync(b_, pooled, bytes, INFINIRT_MEMCPY_D2D, stream_));
    EXPECT_OK(infinirtMemcpyAsync(pinned, b_, bytes, INFINIRT_MEMCPY_D2H, stream_));
    EXPECT_OK(infinirtFreeAsync(pooled, stream_));
    EXPECT_OK(infinirtEventRecord(event, stream_));
    EXPECT_OK(infinirtStreamWaitEvent(stream_, event));
    infinirtEventStatus_t status = INFINIRT_EVENT_COMPLETE;
    EXPECT_OK(infinirtEventQuery(event, &status));
    EXPECT_EQ(before, waits()) << shape.name;
    EXPECT_OK(infinirtStreamSynchronize(stream_));
    EXPECT_EQ(before + 1, waits());
  }
  EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_OK(infinirtFreeHost(pinned));
}

TEST_F(EmulatedGpu, RecordingAndReplayingMakeTheHostWaitForNothing) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, n});
  const RearrangeOp op(handle, dense, turned);
  const uint64_t before = waits();
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  EXPECT_OK(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(infiniopRearrange(op.desc, b_, a_, stream_));
  EXPECT_OK(infiniopRearrange(op.desc, b_, b_, stream_));  // memory of the graph's own
  EXPECT_OK(infinirtStreamEndCapture(stream_, &graph));
  EXPECT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) EXPECT_OK(infinirtGraphLaunch(exec, stream_));
  EXPECT_EQ(before, waits());
  EXPECT_OK(infinirtStreamSynchronize(stream_));
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
}

TEST_F(EmulatedGpu, MemoryCallsMayFail) {
  expect_survives_every_failure([&] {
    FirstFailure first;
    void *p = nullptr, *pinned = nullptr, *pooled = nullptr;
    if (first(infinirtMalloc(&p, bytes))) {
      first(infinirtMemset(p, 1, bytes));
      first(infinirtMemcpy(p, a_, bytes, INFINIRT_MEMCPY_D2D));
      surely([&] { return infinirtFree(p); });
    }
    if (first(infinirtMallocHost(&pinned, bytes))) surely([&] { return infinirtFreeHost(pinned); });
    if (first(infinirtMallocAsync(&pooled, bytes, stream_))) {
      first(infinirtMemsetAsync(pooled, 0, bytes, stream_));
      first(infinirtMemcpyAsync(pooled, a_, bytes, INFINIRT_MEMCPY_D2D, stream_));
      surely([&] { return infinirtFreeAsync(pooled, stream_); });
    }
    first(infinirtStreamSynchronize(stream_));
    return first.status();
  });
}

TEST_F(EmulatedGpu, StreamsAndEventsMayFail) {
  expect_survives_every_failure([&] {
    FirstFailure first;
    infinirtStream_t stream = nullptr;
    infinirtEvent_t start = nullptr, end = nullptr;
    float milliseconds = 0;
    if (first(infinirtStreamCreate(&stream))) {
      if (first(infinirtEventCreate(&start))) {
        if (first(infinirtEventCreate(&end))) {
          first(infinirtEventRecord(start, stream));
          first(infinirtEventRecord(end, stream));
          first(infinirtStreamWaitEvent(stream_, end));
          first(infinirtEventSynchronize(end));
          if (first.status() == INFINI_STATUS_SUCCESS)
            first(infinirtEventElapsedTime(&milliseconds, start, end));
          surely([&] { return infinirtEventDestroy(end); });
        }
        surely([&] { return infinirtEventDestroy(start); });
      }
      surely([&] { return infinirtStreamDestroy(stream); });
    }
    first(infinirtDeviceSynchronize());
    return first.status();
  });
}

// Also where it needs memory of its own: that is given back.
TEST_F(EmulatedGpu, RearrangementsMayFail) {
  const Handle handle;
  for (const auto& shape : shapes) {
    const auto step = static_cast<ptrdiff_t>(shape.rows);
    const Tensor dense({shape.cols, shape.rows});
    const Tensor src({shape.cols, shape.rows}, shape.turned ? std::vector<ptrdiff_t>{1, step}
                                                            : std::vector<ptrdiff_t>{step, 1});
    expect_survives_every_failure([&] {
      FirstFailure first;
      infiniopRearrangeDescriptor_t op = nullptr;
      if (first(infiniopCreateRearrangeDescriptor(handle.handle, &op, dense.desc, src.desc))) {
        first(infiniopRearrange(op, b_, a_, stream_));
        first(infiniopRearrange(op, b_, reinterpret_cast<char*>(b_), stream_));
        surely([&] { return infiniopDestroyRearrangeDescriptor(op); });
      }
      first(infinirtStreamSynchronize(stream_));
      return first.status();
    });
  }
}

TEST_F(EmulatedGpu, CapturesAndGraphsMayFail) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, n});
  const RearrangeOp op(handle, dense, turned);
  expect_survives_every_failure([&] {
    FirstFailure first;
    infinirtGraph_t graph = nullptr;
    infinirtGraphExec_t exec = nullptr;
    if (!first(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL)))
      return first.status();
    first(infiniopRearrange(op.desc, b_, a_, stream_));
    if (!first(infinirtStreamEndCapture(stream_, &graph)) && graph == nullptr)
      surely([&] { return infinirtStreamEndCapture(stream_, &graph); });
    if (graph != nullptr && first(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0))) {
      first(infinirtGraphLaunch(exec, stream_));
      surely([&] { return infinirtGraphExecDestroy(exec); });
    }
    if (graph != nullptr) surely([&] { return infinirtGraphDestroy(graph); });
    first(infinirtStreamSynchronize(stream_));
    return first.status();
  });
}

// Tensors that fill their allocations to the last byte, and begin at every misalignment: whatever
// is read or written beyond them leaves the allocation. Run once more for every candidate.
TEST_F(EmulatedGpu, NothingBeyondTheTensorsIsTouched) {
  const Handle handle;
  using Strides = std::vector<ptrdiff_t>;
  const struct {
    size_t rows, cols;
    Strides dst, src;
  } layouts[] = {
      {300, 1001, {1001, 1}, {1003, 1}}, {300, 1001, {1001, 1}, {1001, 1}},
      {1001, 300, {300, 1}, {1, 1001}},  {61, 127, {127, 1}, {1, 61}},
      {3, 8209, {8209, 1}, {1, 3}},      {8209, 3, {3, 1}, {1, 8209}},
      {300, 517, {517, 1}, {1100, 2}},   {200, 3001, {3001, 1}, {0, 1}},
      {3, 8209, {16420, 2}, {8209, 1}},  {500, 21, {61, 3}, {21, 1}},
      {5, 8203, {24700, 3}, {16500, 2}}, {300, 517, {519, 1}, {1, 0}},
      {611, 23, {23, 1}, {3, 0}},        {3, 40001, {40003, 1}, {1, 0}},
  };
  const auto span = [](const auto& layout, const Strides& strides) {
    return (layout.rows - 1) * static_cast<size_t>(strides[0]) +
           (layout.cols - 1) * static_cast<size_t>(strides[1]) + 1;
  };
  for (const auto& layout : layouts)
    for (const size_t shift : {size_t{0}, size_t{1}, size_t{7}}) {
      const Tensor dst({layout.rows, layout.cols}, layout.dst, INFINI_DTYPE_U8);
      const Tensor src({layout.rows, layout.cols}, layout.src, INFINI_DTYPE_U8);
      const RearrangeOp op(handle, dst, src);
      char *to = nullptr, *from = nullptr;
      ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&to), span(layout, layout.dst) + shift));
      ASSERT_OK(infinirtMalloc(reinterpret_cast<void**>(&from), span(layout, layout.src) + shift));
      EXPECT_OK(infiniopRearrange(op.desc, to + shift, from + shift, stream_));
      EXPECT_OK(infinirtStreamSynchronize(stream_));
      EXPECT_OK(infinirtFree(to));
      EXPECT_OK(infinirtFree(from));
    }
}

// A fault while a kernel runs: the next waiting call tells, and so does every later one.
TEST_F(EmulatedGpu, AFaultInAKernelIsTold) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, n});
  const RearrangeOp op(handle, dense, turned);
  simt_emu_fail_kernel(1);
  EXPECT_OK(infiniopRearrange(op.desc, b_, a_, stream_));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infinirtStreamSynchronize(stream_));
  EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("launch failure"));
  EXPECT_NE(INFINI_STATUS_SUCCESS, infiniopRearrange(op.desc, b_, a_, stream_));
  EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("launch failure"))
      << infiniGetLastErrorString();
  ASSERT_OK(infinirtSetDevice(kind_, 1));  // the other one works
  void* p = nullptr;
  EXPECT_OK(infinirtMalloc(&p, 64));
  EXPECT_OK(infinirtFree(p));
  ASSERT_OK(infinirtSetDevice(kind_, 0));
  simt_emu_reset_device(0);
  EXPECT_OK(infiniopRearrange(op.desc, b_, a_, stream_));
  EXPECT_OK(infinirtStreamSynchronize(stream_));
}

// Parked streams: whatever number is destroyed, handles stay refused for a while and few stay
// alive.
TEST_F(EmulatedGpu, DestroyedStreamsAreFewAndRefused) {
  std::vector<infinirtStream_t> streams(100);
  for (auto& stream : streams) ASSERT_OK(infinirtStreamCreate(&stream));
  for (const auto stream : streams) ASSERT_OK(infinirtStreamDestroy(stream));
  for (size_t i = streams.size() - 8; i < streams.size(); ++i)
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtStreamSynchronize(streams[i]));
  SimtEmuStats stats;
  simt_emu_stats(&stats);
  EXPECT_LE(stats.live_streams, before_.live_streams + 16);
}

// Whoever destroys a stream hears of that stream alone, not of one that leaves the park for it.
TEST_F(EmulatedGpu, AnothersStreamThatCannotBeDestroyedIsNotTheCallersFailure) {
  std::vector<infinirtStream_t> streams(20);
  for (auto& stream : streams) ASSERT_OK(infinirtStreamCreate(&stream));
  for (size_t i = 0; i < 16; ++i) ASSERT_OK(infinirtStreamDestroy(streams[i]));
  for (size_t i = 16; i < streams.size(); ++i) {
    simt_emu_fail_call(static_cast<int64_t>(i) - 15, simtErrorLaunchFailure);
    const infiniStatus_t status = infinirtStreamDestroy(streams[i]);
    simt_emu_fail_call(0, simtSuccess);
    EXPECT_EQ(simtSuccess, simtPeekAtLastError());
    if (status == INFINI_STATUS_SUCCESS) continue;
    std::ostringstream name;
    name << streams[i];
    EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find(name.str()));
    EXPECT_OK(infinirtStreamDestroy(streams[i]));
  }
}

}  // namespace
}  // namespace infini::test
