// Captures on the CPU that go wrong: memory freed twice, streams destroyed, work that must not vanish.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/allocation_counter.h"
#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr auto global_mode = INFINIRT_STREAM_CAPTURE_MODE_GLOBAL;

struct Streams : testing::Test {
  infinirtStream_t origin = nullptr, joined = nullptr;
  infinirtEvent_t event = nullptr;

  void SetUp() override {
    ASSERT_OK(infinirtStreamCreate(&origin));
    ASSERT_OK(infinirtStreamCreate(&joined));
    ASSERT_OK(infinirtEventCreate(&event));
    ASSERT_OK(infinirtStreamBeginCapture(origin, global_mode));
  }
  void TearDown() override {
    infinirtEventDestroy(event);
    infinirtStreamDestroy(joined);
    infinirtStreamDestroy(origin);
  }
  void join() {
    ASSERT_OK(infinirtEventRecord(event, origin));
    ASSERT_OK(infinirtStreamWaitEvent(joined, event));
  }
};
using CapiCapture = Streams;

TEST_F(CapiCapture, MemoryIsFreedOnceAndOnlyIfItIsOurs) {
  void *p, *q;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtMalloc(&p, 1 << 20));
  EXPECT_OK(infinirtFreeAsync(p, origin));
  EXPECT_EQ(bad, infinirtFreeAsync(p, origin));
  EXPECT_EQ(bad, infinirtFree(p));
  int local;
  EXPECT_EQ(bad, infinirtFreeAsync(&local, origin));
  EXPECT_EQ(bad, infinirtFreeAsync(reinterpret_cast<void*>(0x1234), origin));
  ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphDestroy(graph));
  EXPECT_EQ(bad, infinirtFree(p)) << "the graph that can still be launched has it";
  EXPECT_OK(infinirtGraphLaunch(exec, nullptr));
  std::memset(p, 1, 1 << 20);  // it is there as long as the graph is
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  ASSERT_OK(infinirtMalloc(&q, 1 << 20));
  EXPECT_OK(infinirtFree(q));
  if (p != q) {
    EXPECT_EQ(bad, infinirtFree(p));
  }
}

TEST_F(CapiCapture, AGraphDoesNotFreeWhatIsSomebodyElsesByNow) {
  void *p, *blocks[8];
  infinirtGraph_t graph;
  ASSERT_OK(infinirtMalloc(&p, 4096));
  EXPECT_OK(infinirtFreeAsync(p, origin));
  infinirtFreeAsync(p, origin);
  ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
  infinirtFree(p);
  for (void*& block : blocks) ASSERT_OK(infinirtMalloc(&block, 4096));
  EXPECT_OK(infinirtGraphDestroy(graph));
  for (void* block : blocks) EXPECT_OK(infinirtFree(block));
}

TEST_F(CapiCapture, WithoutItsOriginItIsLostAndSaysSo) {
  join();
  char a[4] = {1}, b[4] = {0};
  infinirtGraph_t graph = &a;
  EXPECT_OK(infinirtStreamDestroy(origin));
  EXPECT_EQ(bad, infinirtMemcpyAsync(b, a, 4, INFINIRT_MEMCPY_H2H, joined));
  EXPECT_NE(nullptr, std::strstr(infiniGetLastErrorString(), "lost")) << infiniGetLastErrorString();
  EXPECT_EQ(bad, infinirtMemsetAsync(b, 7, 4, joined));
  EXPECT_EQ(bad, infinirtStreamSynchronize(joined));
  EXPECT_EQ(bad, infinirtStreamBeginCapture(joined, global_mode));
  EXPECT_EQ(bad, infinirtStreamWaitEvent(nullptr, event));
  EXPECT_EQ(bad, infinirtEventSynchronize(event));
  {
    const Handle handle;
    const Tensor tensor({4}, {}, INFINI_DTYPE_U8);
    const RearrangeOp op(handle, tensor, tensor);
    EXPECT_EQ(bad, infiniopRearrange(op.desc, b, a, joined));
  }
  EXPECT_EQ(0, b[0]);
  EXPECT_EQ(bad, infinirtStreamEndCapture(joined, &graph)) << "there is no graph of it";
  EXPECT_EQ(nullptr, graph);
  EXPECT_OK(infinirtStreamSynchronize(joined));
  EXPECT_OK(infinirtMemcpyAsync(b, a, 4, INFINIRT_MEMCPY_H2H, joined));
  EXPECT_EQ(1, b[0]);
  EXPECT_OK(infinirtEventRecord(event, joined)) << "and so is the event";
  EXPECT_OK(infinirtEventSynchronize(event));
  EXPECT_EQ(bad, infinirtStreamEndCapture(joined, &graph));
}

TEST_F(CapiCapture, LosesNoMemory) {
  join();
  void* p;
  ASSERT_OK(infinirtMalloc(&p, 64));
  EXPECT_OK(infinirtFreeAsync(p, joined));
  EXPECT_OK(infinirtStreamDestroy(origin));
  EXPECT_EQ(bad, infinirtFree(p));
  EXPECT_OK(infinirtStreamDestroy(joined));
}

// A graph and the events that were recorded in it may go in any order, and take all they held with them.
TEST_F(CapiCapture, GraphsAndTheirEventsLeaveNothing) {
  const auto once = [&](bool event_first) {
    infinirtEvent_t inside;
    infinirtGraph_t graph;
    void* p;
    ASSERT_OK(infinirtEventCreate(&inside));
    ASSERT_OK(infinirtEventRecord(inside, origin));
    ASSERT_OK(infinirtMallocAsync(&p, 100, origin));
    ASSERT_OK(infinirtFreeAsync(p, origin));
    ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
    const auto destroy_event = [&] { ASSERT_OK(infinirtEventDestroy(inside)); };
    if (event_first) destroy_event();
    ASSERT_OK(infinirtGraphDestroy(graph));
    if (!event_first) destroy_event();
    ASSERT_OK(infinirtStreamBeginCapture(origin, global_mode));
  };
  for (int i = 0; i < 20; ++i) once(i % 2 == 0);
  const int64_t before = allocated_bytes();
  for (int i = 0; i < 1000; ++i) once(i % 2 == 0);
  EXPECT_LT(allocated_bytes() - before, 1000 * 16) << "what is left of 1000 graphs";
}

// Operators run when the graph does, and with the options of then.
TEST_F(CapiCapture, OperatorsAreRecorded) {
  const Handle handle;
  const Tensor row({3}), bytes({3}, {}, INFINI_DTYPE_U8), token({}, {}, INFINI_DTYPE_I32);
  float x[3] = {1, 2, 3}, sum[3] = {};
  uint8_t narrow[3] = {};
  int32_t drawn = -1;
  infiniopAddDescriptor_t add;
  infiniopConvertDescriptor_t convert;
  infiniopRandomSampleDescriptor_t sample;
  ASSERT_OK(infiniopCreateAddDescriptor(handle.handle, &add, row.desc, row.desc, row.desc));
  ASSERT_OK(infiniopCreateConvertDescriptor(handle.handle, &convert, bytes.desc, row.desc, nullptr,
                                            nullptr, nullptr));
  ASSERT_OK(infiniopCreateRandomSampleDescriptor(handle.handle, &sample, token.desc, row.desc));
  size_t size;
  ASSERT_OK(infiniopGetRandomSampleWorkspaceSize(sample, &size));
  void* workspace;
  ASSERT_OK(infinirtMalloc(&workspace, size + 1));
  ASSERT_OK(infiniopAdd(add, nullptr, 0, sum, x, x, origin));
  ASSERT_OK(infiniopConvert(convert, nullptr, 0, narrow, sum, nullptr, nullptr, origin));
  ASSERT_OK(infiniopRandomSample(sample, workspace, size, &drawn, sum, 0, 1, 1, 1, origin));
  EXPECT_EQ(0, sum[0]);
  EXPECT_EQ(-1, drawn);
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  infiniopDestroyAddDescriptor(add);  // the graph keeps what it runs
  infiniopDestroyConvertDescriptor(convert);
  infiniopDestroyRandomSampleDescriptor(sample);
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(infinirtGraphLaunch(exec, origin));
    for (int k = 0; k < 3; ++k) EXPECT_EQ(2 * x[k], static_cast<float>(narrow[k]));
    EXPECT_EQ(i == 0 ? 2 : 0, drawn);
    x[0] = 7;
  }
  EXPECT_OK(infinirtFree(workspace));
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
}

TEST_F(CapiCapture, AJoinedStreamMayGoBeforeTheEnd) {
  join();
  char a[4] = {1}, b[4] = {0};
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  EXPECT_OK(infinirtMemcpyAsync(b, a, 4, INFINIRT_MEMCPY_H2H, joined));
  EXPECT_OK(infinirtStreamDestroy(joined));
  ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphLaunch(exec, origin));
  EXPECT_EQ(1, b[0]) << "what it was given is in the graph";
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
}

TEST_F(CapiCapture, AnEventMayGoBeforeTheGraphRuns) {
  infinirtEvent_t other;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  EXPECT_OK(infinirtEventRecord(event, origin));
  ASSERT_OK(infinirtStreamEndCapture(origin, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtEventDestroy(event));
  float ms;
  for (int i = 0; i < 200; ++i) {  // the cell of the old one becomes a new one's
    ASSERT_OK(infinirtEventCreate(&other));
    EXPECT_OK(infinirtGraphLaunch(exec, nullptr));
    EXPECT_EQ(bad, infinirtEventElapsedTime(&ms, other, other)) << "it was never recorded";
    EXPECT_OK(infinirtEventDestroy(other));
  }
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
}

}  // namespace
}  // namespace infini::test
