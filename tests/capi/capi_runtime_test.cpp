// infinirt on the CPU through the C API: devices, streams, events, memory, captured work.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr auto null = INFINI_STATUS_NULL_POINTER;

TEST(CapiDevices, CountsOfKnownAndUnknownKinds) {
  int counts[INFINI_DEVICE_TYPE_COUNT];
  EXPECT_OK(infinirtInit());
  EXPECT_OK(infinirtGetAllDeviceCount(counts));
  EXPECT_EQ(1, counts[INFINI_DEVICE_CPU]);
  EXPECT_EQ(0, counts[INFINI_DEVICE_CAMBRICON]);
  int count = -1;
  EXPECT_OK(infinirtGetDeviceCount(INFINI_DEVICE_QY, &count));
  EXPECT_EQ(0, count);
  EXPECT_EQ(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
            infinirtGetDeviceCount(static_cast<infiniDevice_t>(99), &count));
  EXPECT_EQ(null, infinirtGetDeviceCount(INFINI_DEVICE_CPU, nullptr));
  EXPECT_EQ(null, infinirtGetAllDeviceCount(nullptr));
}

TEST(CapiDevices, AFailedSetDeviceChangesNothing) {
  EXPECT_EQ(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, infinirtSetDevice(INFINI_DEVICE_CAMBRICON, 0));
  EXPECT_EQ(INFINI_STATUS_DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, 1));
  EXPECT_EQ(INFINI_STATUS_DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_CPU, -1));
  EXPECT_STREQ("device_id is -1; the number of cpu devices is 1", infiniGetLastErrorString());
  infiniDevice_t kind = INFINI_DEVICE_QY;
  int id = -1;
  EXPECT_OK(infinirtGetDevice(&kind, &id));
  EXPECT_EQ(INFINI_DEVICE_CPU, kind);
  EXPECT_EQ(0, id);
  EXPECT_OK(infinirtGetDevice(nullptr, &id));
  EXPECT_OK(infinirtGetDevice(&kind, nullptr));
  EXPECT_EQ(null, infinirtGetDevice(nullptr, nullptr));
}

TEST(CapiDevices, MemoryAndDescription) {
  size_t free_bytes = 0, total = 0;
  EXPECT_OK(infinirtGetMemInfo(INFINI_DEVICE_CPU, 0, &free_bytes, &total));
  EXPECT_GT(total, free_bytes);
  EXPECT_GT(free_bytes, 0u);
  EXPECT_EQ(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
            infinirtGetMemInfo(INFINI_DEVICE_ALI, 0, &free_bytes, &total));
  infinirtDeviceResourceSnapshot_t snapshot;
  EXPECT_OK(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &snapshot));
  EXPECT_EQ(static_cast<uint64_t>(INFINIRT_DEVICE_RESOURCE_FIELD_CAPACITY), snapshot.valid_fields);
  EXPECT_EQ(snapshot.total_bytes - snapshot.free_bytes, snapshot.used_bytes);
  char text[16];
  EXPECT_OK(infinirtDescribeDevice(INFINI_DEVICE_CPU, 0, text, sizeof text));
  EXPECT_GT(std::strlen(text), 2u);
  EXPECT_EQ(bad, infinirtDescribeDevice(INFINI_DEVICE_CPU, 0, text, 0));
  EXPECT_OK(infinirtDeviceSynchronize());
}

TEST(CapiMemory, AllocatesAlignedAndChecksWhatIsFreed) {
  void* p = nullptr;
  for (const size_t size : {size_t{1}, size_t{1000}, size_t{5} << 20}) {
    ASSERT_OK(infinirtMalloc(&p, size));
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(p) % 64);
    EXPECT_OK(infinirtMemset(p, 0xab, size));
    EXPECT_EQ(0xab, static_cast<unsigned char*>(p)[size - 1]);
    EXPECT_OK(infinirtFree(p));
    EXPECT_EQ(bad, infinirtFree(p));
  }
  EXPECT_OK(infinirtMalloc(&p, 0));
  EXPECT_OK(infinirtFree(nullptr));
  EXPECT_EQ(null, infinirtMalloc(nullptr, 8));
  p = &p;
  EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, infinirtMalloc(&p, SIZE_MAX / 2));
  EXPECT_NE(nullptr, std::strstr(infiniGetLastErrorString(), "9223372036854775807 bytes"));
  EXPECT_EQ(nullptr, p) << "what was not made is not there";
  int local;
  EXPECT_EQ(bad, infinirtFree(&local));
  ASSERT_OK(infinirtMallocHost(&p, 64));
  EXPECT_OK(infinirtFreeHost(p));
}

TEST(CapiMemory, CopiesAreChecked) {
  int a[4] = {1, 2, 3, 4}, b[4] = {};
  EXPECT_OK(infinirtMemcpy(b, a, sizeof a, INFINIRT_MEMCPY_H2D));
  EXPECT_EQ(0, std::memcmp(a, b, sizeof a));
  EXPECT_OK(infinirtMemcpy(nullptr, nullptr, 0, INFINIRT_MEMCPY_D2D));
  EXPECT_EQ(null, infinirtMemcpy(nullptr, a, 4, INFINIRT_MEMCPY_D2D));
  EXPECT_EQ(null, infinirtMemcpy(b, nullptr, 4, INFINIRT_MEMCPY_D2D));
  EXPECT_EQ(bad, infinirtMemcpy(b, a, 4, static_cast<infinirtMemcpyKind_t>(4)));
  EXPECT_EQ(null, infinirtMemset(nullptr, 0, 1));
  EXPECT_OK(infinirtMemsetAsync(b, 0, sizeof b, nullptr));
  EXPECT_EQ(0, b[3]);
}

TEST(CapiStreams, LifeAndDeath) {
  infinirtStream_t stream = nullptr;
  ASSERT_OK(infinirtStreamCreate(&stream));
  EXPECT_OK(infinirtStreamSynchronize(stream));
  EXPECT_OK(infinirtStreamSynchronize(nullptr));
  EXPECT_OK(infinirtStreamDestroy(stream));
  EXPECT_EQ(bad, infinirtStreamDestroy(stream));
  EXPECT_EQ(bad, infinirtStreamSynchronize(stream));
  EXPECT_OK(infinirtStreamDestroy(nullptr));
  EXPECT_EQ(null, infinirtStreamCreate(nullptr));
  int value = 0;
  EXPECT_EQ(bad, infinirtMemsetAsync(&value, 1, 4, stream));
  EXPECT_EQ(0, value);
}

TEST(CapiEvents, TimeAndErrors) {
  infinirtEvent_t start, end, untimed;
  ASSERT_OK(infinirtEventCreate(&start));
  ASSERT_OK(infinirtEventCreateWithFlags(&end, INFINIRT_EVENT_BLOCKING_SYNC));
  ASSERT_OK(infinirtEventCreateWithFlags(&untimed, INFINIRT_EVENT_DISABLE_TIMING));
  infinirtEvent_t none = nullptr;
  EXPECT_EQ(bad, infinirtEventCreateWithFlags(&none, 77));
  float ms = -1;
  EXPECT_EQ(bad, infinirtEventElapsedTime(&ms, start, end)) << "not recorded yet";
  EXPECT_OK(infinirtEventRecord(start, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_OK(infinirtEventRecord(end, nullptr));
  EXPECT_OK(infinirtEventSynchronize(end));
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  EXPECT_OK(infinirtEventQuery(end, &status));
  EXPECT_EQ(INFINIRT_EVENT_COMPLETE, status);
  EXPECT_OK(infinirtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 4.9f);
  EXPECT_OK(infinirtEventRecord(untimed, nullptr));
  EXPECT_EQ(bad, infinirtEventElapsedTime(&ms, start, untimed));
  EXPECT_EQ(null, infinirtEventElapsedTime(nullptr, start, end));
  EXPECT_EQ(null, infinirtEventQuery(start, nullptr));
  EXPECT_OK(infinirtStreamWaitEvent(nullptr, start));
  for (infinirtEvent_t event : {start, end, untimed}) EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_EQ(bad, infinirtEventRecord(start, nullptr));
}

TEST(CapiGraphs, CapturedWorkRunsWhenLaunched) {
  infinirtStream_t stream;
  ASSERT_OK(infinirtStreamCreate(&stream));
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6), z(6);
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(bad, infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(bad, infinirtStreamSynchronize(stream));
  {
    const Handle handle;  // nothing of this block needs to outlive the capture
    const Tensor src({2, 3}), dst({2, 3}, {1, 2});
    const RearrangeOp op(handle, dst, src);
    EXPECT_OK(infiniopRearrange(op.desc, y.data(), x.data(), stream));
  }
  EXPECT_OK(infinirtMemcpyAsync(z.data(), y.data(), 24, INFINIRT_MEMCPY_D2D, stream));
  ASSERT_OK(infinirtStreamEndCapture(stream, &graph));
  EXPECT_EQ(0.0f, y[1]) << "nothing runs during capture";
  char log[64] = "x";
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, log, sizeof log));
  EXPECT_STREQ("", log);
  EXPECT_OK(infinirtGraphDestroy(graph));
  for (int round = 0; round < 3; ++round) {
    x[1] = static_cast<float>(10 + round);
    EXPECT_OK(infinirtGraphLuanch(exec, stream));
    EXPECT_EQ(std::vector<float>({1, 4, x[1], 5, 3, 6}), z);
  }
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_EQ(bad, infinirtGraphLaunch(exec, stream));
  EXPECT_EQ(bad, infinirtGraphInstantiate(&exec, graph, nullptr, log, sizeof log));
  EXPECT_NE(nullptr, std::strstr(log, "graph"));
  EXPECT_EQ(bad, infinirtStreamEndCapture(stream, &graph));
  EXPECT_EQ(bad, infinirtStreamBeginCapture(nullptr, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST(CapiGraphs, AWaitingStreamJoinsTheCapture) {
  infinirtStream_t first, second;
  infinirtEvent_t fork, join;
  ASSERT_OK(infinirtStreamCreate(&first));
  ASSERT_OK(infinirtStreamCreate(&second));
  ASSERT_OK(infinirtEventCreate(&fork));
  ASSERT_OK(infinirtEventCreate(&join));
  int a = 1, b = 0, c = 0;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtStreamBeginCapture(first, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(infinirtMemcpyAsync(&b, &a, 4, INFINIRT_MEMCPY_D2D, first));
  EXPECT_OK(infinirtEventRecord(fork, first));
  EXPECT_OK(infinirtStreamWaitEvent(second, fork));
  EXPECT_OK(infinirtMemcpyAsync(&c, &b, 4, INFINIRT_MEMCPY_D2D, second));
  EXPECT_OK(infinirtEventRecord(join, second));
  EXPECT_OK(infinirtStreamWaitEvent(first, join));
  EXPECT_EQ(bad, infinirtStreamEndCapture(second, &graph)) << "it was begun on the other";
  ASSERT_OK(infinirtStreamEndCapture(first, &graph));
  EXPECT_EQ(0, c);
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphLaunch(exec, first));
  EXPECT_EQ(1, c);
  EXPECT_OK(infinirtMemcpyAsync(&c, &exec, 4, INFINIRT_MEMCPY_D2D, second)) << "it has left again";
  EXPECT_NE(1, c);
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
  for (infinirtEvent_t event : {fork, join}) EXPECT_OK(infinirtEventDestroy(event));
  for (infinirtStream_t stream : {first, second}) EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST(CapiGraphs, MemoryFreedInACaptureLivesAsLongAsTheGraph) {
  infinirtStream_t stream;
  ASSERT_OK(infinirtStreamCreate(&stream));
  int x = 5, y = 0;
  void* scratch;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(infinirtMallocAsync(&scratch, 4, stream));
  EXPECT_OK(infinirtMemcpyAsync(scratch, &x, 4, INFINIRT_MEMCPY_D2D, stream));
  EXPECT_OK(infinirtMemcpyAsync(&y, scratch, 4, INFINIRT_MEMCPY_D2D, stream));
  EXPECT_OK(infinirtFreeAsync(scratch, stream));
  ASSERT_OK(infinirtStreamEndCapture(stream, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphLaunch(exec, stream));
  EXPECT_EQ(5, y);
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
  EXPECT_EQ(bad, infinirtFree(scratch));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST(CapiErrors, AreKeptPerThread) {
  EXPECT_EQ(null, infinirtMalloc(nullptr, 1));
  const std::string mine = infiniGetLastErrorString();
  std::thread([] {
    EXPECT_STREQ("", infiniGetLastErrorString());
    EXPECT_EQ(bad, infinirtMemcpy(nullptr, nullptr, 1, static_cast<infinirtMemcpyKind_t>(9)));
  }).join();
  EXPECT_EQ(mine, infiniGetLastErrorString());
  EXPECT_STREQ("INFINI_STATUS_BAD_TENSOR_STRIDES",
               infiniStatusString(INFINI_STATUS_BAD_TENSOR_STRIDES));
  EXPECT_STREQ("INFINI_STATUS_OUT_OF_MEMORY", infiniStatusString(INFINI_STATUS_OUT_OF_MEMORY));
  EXPECT_STREQ("unknown status", infiniStatusString(static_cast<infiniStatus_t>(9)));
}

}  // namespace
}  // namespace infini::test
