// infinirt on the emulated XPU: what the runtime lacks, we build; what it orders badly, we order.
#include <cstring>
#include <thread>
#include <vector>

#include "backends/kunlun/test_support.h"

namespace infini::kunlun {
namespace {

class KunlunDevice : public Emulated {};

std::vector<uint8_t> read_back(const void* p, size_t bytes) {
  std::vector<uint8_t> host(bytes);
  EXPECT_OK(infinirtMemcpy(host.data(), p, bytes, INFINIRT_MEMCPY_D2H));
  return host;
}

TEST_F(KunlunDevice, SaysThatItIsEmulated) {
  char text[128];
  ASSERT_OK(infinirtDescribeDevice(INFINI_DEVICE_KUNLUN, 0, text, sizeof text));
  EXPECT_NE(nullptr, std::strstr(text, "emulated")) << text;
}

TEST_F(KunlunDevice, MemsetOfAnySizeAndPlace) {
  constexpr size_t size = 9000000;
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, size));
  auto* bytes = static_cast<uint8_t*>(p);
  ASSERT_OK(infinirtMemset(p, 7, size));
  ASSERT_OK(infinirtMemset(bytes + 1, 0x1ff, 1));
  ASSERT_OK(infinirtMemset(bytes + 4095, -2, 5000001));
  const auto now = read_back(p, size);
  for (size_t i = 0; i < size; ++i) {
    const int expected = i == 1 ? 0xff : i >= 4095 && i < 4095 + 5000001 ? 0xfe : 7;
    ASSERT_EQ(expected, now[i]) << i;
  }
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, CopiesOfEveryKind) {
  std::vector<uint8_t> in(1000), out(1000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 7);
  void *x = nullptr, *y = nullptr;
  infinirtStream_t stream = nullptr;
  ASSERT_OK(infinirtMalloc(&x, 1000));
  ASSERT_OK(infinirtMalloc(&y, 1000));
  ASSERT_OK(infinirtStreamCreate(&stream));
  for (infinirtStream_t where : {infinirtStream_t{nullptr}, stream}) {
    ASSERT_OK(infinirtMemcpyAsync(x, in.data(), 1000, INFINIRT_MEMCPY_H2D, where));
    ASSERT_OK(infinirtMemcpyAsync(y, x, 1000, INFINIRT_MEMCPY_D2D, where));
    ASSERT_OK(infinirtMemsetAsync(x, 0, 1000, where));
    ASSERT_OK(infinirtMemcpyAsync(out.data(), y, 1000, INFINIRT_MEMCPY_D2H, where));
    std::vector<uint8_t> third(1000);
    ASSERT_OK(infinirtMemcpyAsync(third.data(), out.data(), 1000, INFINIRT_MEMCPY_H2H, where));
    ASSERT_OK(infinirtStreamSynchronize(where));
    EXPECT_EQ(in, out);
    EXPECT_EQ(in, third);
  }
  ASSERT_OK(infinirtMemcpy(x, y, 1000, INFINIRT_MEMCPY_D2D));
  EXPECT_EQ(in, read_back(x, 1000));
  EXPECT_OK(infinirtFree(x));
  EXPECT_OK(infinirtFree(y));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST_F(KunlunDevice, ASynchronousCopyComesAfterTheDefaultStream) {
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 64));
  ASSERT_OK(infinirtMemsetAsync(p, 1, 64, nullptr));
  const std::vector<uint8_t> twos(64, 2);
  ASSERT_OK(infinirtMemcpy(p, twos.data(), 64, INFINIRT_MEMCPY_H2D));
  EXPECT_EQ(twos, read_back(p, 64));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, SynchronizingTheDeviceWaitsForEveryStream) {
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 300));
  infinirtStream_t streams[3] = {};
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(infinirtStreamCreate(&streams[i]));
    ASSERT_OK(infinirtMemsetAsync(static_cast<char*>(p) + i * 100, i + 1, 100, streams[i]));
  }
  ASSERT_OK(infinirtDeviceSynchronize());
  const auto now = read_back(p, 300);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(i / 100 + 1, now[i]);
  for (auto stream : streams) EXPECT_OK(infinirtStreamDestroy(stream));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, EventsOrderStreamsUnderTwentySeeds) {
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 100));
  infinirtStream_t first = nullptr, second = nullptr;
  infinirtEvent_t event = nullptr;
  ASSERT_OK(infinirtStreamCreate(&first));
  ASSERT_OK(infinirtStreamCreate(&second));
  ASSERT_OK(infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING));
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    xpu_emu_seed(seed);
    ASSERT_OK(infinirtMemsetAsync(p, 1, 100, first));
    ASSERT_OK(infinirtEventRecord(event, first));
    ASSERT_OK(infinirtStreamWaitEvent(second, event));
    ASSERT_OK(infinirtMemsetAsync(p, 2, 50, second));
    ASSERT_OK(infinirtStreamSynchronize(second));
    EXPECT_EQ(2, read_back(p, 100)[0]);
    infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
    ASSERT_OK(infinirtEventQuery(event, &status));
    EXPECT_EQ(INFINIRT_EVENT_COMPLETE, status);
  }
  EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_OK(infinirtStreamDestroy(first));
  EXPECT_OK(infinirtStreamDestroy(second));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, AnEventThatIsAskedOftenCompletes) {
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 100));
  infinirtStream_t stream = nullptr;
  infinirtEvent_t event = nullptr;
  ASSERT_OK(infinirtStreamCreate(&stream));
  ASSERT_OK(infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING));
  ASSERT_OK(infinirtMemsetAsync(p, 1, 100, stream));
  ASSERT_OK(infinirtEventRecord(event, stream));
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  for (int asked = 0; status == INFINIRT_EVENT_NOT_READY && asked < 1000; ++asked)
    ASSERT_OK(infinirtEventQuery(event, &status));
  EXPECT_EQ(INFINIRT_EVENT_COMPLETE, status);
  EXPECT_EQ(1, read_back(p, 1)[0]);
  EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_OK(infinirtStreamDestroy(stream));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, TimedEventsMeasureTheWorkBetweenThem) {
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 1 << 20));
  infinirtEvent_t start = nullptr, end = nullptr, untimed = nullptr;
  ASSERT_OK(infinirtEventCreate(&start));
  ASSERT_OK(infinirtEventCreate(&end));
  ASSERT_OK(infinirtEventCreateWithFlags(&untimed, INFINIRT_EVENT_DISABLE_TIMING));
  float ms = -1;
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtEventElapsedTime(&ms, start, end));  // not recorded
  ASSERT_OK(infinirtEventRecord(start, nullptr));
  ASSERT_OK(infinirtMemsetAsync(p, 1, 1 << 20, nullptr));
  ASSERT_OK(infinirtEventRecord(end, nullptr));
  ASSERT_OK(infinirtEventSynchronize(end));
  ASSERT_OK(infinirtEventElapsedTime(&ms, start, end));
  EXPECT_GT(ms, 0);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtEventElapsedTime(&ms, start, untimed));
  for (auto event : {start, end, untimed}) EXPECT_OK(infinirtEventDestroy(event));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtEventDestroy(start));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, MemoryInfoCountsOurBlocks) {
  size_t free_before = 0, free_now = 0, total = 0;
  ASSERT_OK(infinirtGetMemInfo(INFINI_DEVICE_KUNLUN, 0, &free_before, &total));
  EXPECT_LE(free_before, total);
  void* p = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 5 << 20));
  ASSERT_OK(infinirtGetMemInfo(INFINI_DEVICE_KUNLUN, 0, &free_now, &total));
  EXPECT_EQ(free_before, free_now + (5 << 20));
  EXPECT_OK(infinirtFree(p));
  ASSERT_OK(infinirtGetMemInfo(INFINI_DEVICE_KUNLUN, 0, &free_now, &total));
  EXPECT_EQ(free_before, free_now);
}

TEST_F(KunlunDevice, FreeingWaitsForTheWork) {
  infinirtStream_t stream = nullptr;
  ASSERT_OK(infinirtStreamCreate(&stream));
  void *x = nullptr, *y = nullptr;
  ASSERT_OK(infinirtMalloc(&x, 4096));
  ASSERT_OK(infinirtMallocAsync(&y, 4096, stream));
  ASSERT_OK(infinirtMemsetAsync(x, 1, 4096, stream));
  ASSERT_OK(infinirtMemsetAsync(y, 1, 4096, stream));
  EXPECT_OK(infinirtFreeAsync(y, stream));
  ASSERT_OK(infinirtMemsetAsync(x, 2, 4096, stream));
  EXPECT_OK(infinirtFree(x));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST_F(KunlunDevice, MistakesAreAnswered) {
  void* p = nullptr;
  infinirtStream_t stream = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 64));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtFree(static_cast<char*>(p) + 8));
  EXPECT_OK(infinirtFree(p));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtFree(p));
  ASSERT_OK(infinirtStreamCreate(&stream));
  EXPECT_OK(infinirtStreamDestroy(stream));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtStreamDestroy(stream));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtStreamSynchronize(stream));
  EXPECT_EQ(INFINI_STATUS_DEVICE_NOT_FOUND, infinirtSetDevice(INFINI_DEVICE_KUNLUN, 99));
  EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, infinirtMalloc(&p, size_t{1} << 50));
  EXPECT_NE(nullptr, std::strstr(infiniGetLastErrorString(), "out of device memory"));
}

// What the host has is refused by the call that was given it, not by the next wait.
TEST_F(KunlunDevice, MemoryOfTheHostIsRefusedAtOnce) {
  constexpr auto bad = INFINI_STATUS_BAD_PARAM;
  std::vector<float> heap(64);
  float stack[64] = {};
  void *p = nullptr, *pinned = nullptr;
  ASSERT_OK(infinirtMalloc(&p, 256));
  ASSERT_OK(infinirtMallocHost(&pinned, 256));
  const size_t shape[] = {4, 4};
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t tensor;
  InfiniopDescriptor *rearrange, *gemm;
  ASSERT_OK(infiniopCreateHandle(&handle));
  ASSERT_OK(infiniopCreateTensorDescriptor(&tensor, 2, shape, nullptr, INFINI_DTYPE_F32));
  ASSERT_OK(infiniopCreateRearrangeDescriptor(handle, &rearrange, tensor, tensor));
  ASSERT_OK(infiniopCreateGemmDescriptor(handle, &gemm, tensor, tensor, tensor));
  auto* far = static_cast<char*>(p) + 128;
  for (void* host : {static_cast<void*>(heap.data()), static_cast<void*>(stack), pinned}) {
    EXPECT_EQ(bad, infiniopRearrange(rearrange, host, p, nullptr));
    EXPECT_EQ(bad, infiniopRearrange(rearrange, p, host, nullptr));
    EXPECT_NE(nullptr, std::strstr(infiniGetLastErrorString(), "src (0x"));
    EXPECT_EQ(bad, infiniopGemm(gemm, nullptr, 0, host, p, p, 1, 0, nullptr));
    EXPECT_EQ(bad, infiniopGemm(gemm, nullptr, 0, far, host, p, 1, 0, nullptr));
    EXPECT_EQ(bad, infiniopGemm(gemm, nullptr, 0, far, p, host, 1, 0, nullptr));
    EXPECT_EQ(bad, infinirtMemset(host, 0, 16));
    EXPECT_EQ(bad, infinirtMemsetAsync(host, 0, 16, nullptr));
    EXPECT_EQ(bad, infinirtMemcpy(p, host, 16, INFINIRT_MEMCPY_D2D));
    EXPECT_EQ(bad, infinirtMemcpyAsync(host, p, 16, INFINIRT_MEMCPY_H2D, nullptr));
    EXPECT_EQ(bad, infinirtMemcpyAsync(host, host, 16, INFINIRT_MEMCPY_D2H, nullptr));
    EXPECT_OK(infinirtDeviceSynchronize());
  }
  EXPECT_OK(infinirtMemset(p, 0, 256));
  EXPECT_OK(infiniopRearrange(rearrange, far, p, nullptr)) << "and what is right still runs";
  EXPECT_OK(infinirtDeviceSynchronize());
  EXPECT_OK(infiniopDestroyGemmDescriptor(gemm));
  EXPECT_OK(infiniopDestroyRearrangeDescriptor(rearrange));
  EXPECT_OK(infiniopDestroyTensorDescriptor(tensor));
  EXPECT_OK(infiniopDestroyHandle(handle));
  EXPECT_OK(infinirtFreeHost(pinned));
  EXPECT_OK(infinirtFree(p));
}

TEST_F(KunlunDevice, PinnedMemoryAndTheSecondDevice) {
  void *pinned = nullptr, *far = nullptr;
  ASSERT_OK(infinirtMallocHost(&pinned, 1000));
  std::memset(pinned, 9, 1000);
  ASSERT_OK(infinirtSetDevice(INFINI_DEVICE_KUNLUN, 1));
  ASSERT_OK(infinirtMalloc(&far, 1000));
  ASSERT_OK(infinirtMemcpy(far, pinned, 1000, INFINIRT_MEMCPY_H2D));
  EXPECT_EQ(9, read_back(far, 1000)[999]);
  std::thread([&] {  // a thread that starts elsewhere
    EXPECT_OK(infinirtSetDevice(INFINI_DEVICE_KUNLUN, 1));
    EXPECT_OK(infinirtFree(far));
  })
      .join();
  EXPECT_OK(infinirtFreeHost(pinned));
}

// Everything a client might do in a row; the first status that is not success, or success.
infiniStatus_t scenario(bool& right) {
  void *x = nullptr, *y = nullptr, *pinned = nullptr;
  infinirtStream_t stream = nullptr;
  infinirtEvent_t event = nullptr;
  infiniStatus_t status = INFINI_STATUS_SUCCESS;
  auto run = [&](infiniStatus_t next) {
    if (status == INFINI_STATUS_SUCCESS) status = next;
    return status == INFINI_STATUS_SUCCESS;
  };
  std::vector<uint8_t> out(5000, 0);
  (void)(run(infinirtStreamCreate(&stream)) && run(infinirtEventCreate(&event)) &&
         run(infinirtMalloc(&x, 5000)) && run(infinirtMallocAsync(&y, 5000, stream)) &&
         run(infinirtMallocHost(&pinned, 5000)) && run(infinirtMemset(x, 3, 5000)) &&
         run(infinirtMemsetAsync(y, 4, 2500, stream)) && run(infinirtEventRecord(event, stream)) &&
         run(infinirtStreamWaitEvent(nullptr, event)) &&
         run(infinirtMemcpyAsync(y, x, 2500, INFINIRT_MEMCPY_D2D, nullptr)) &&
         run(infinirtEventSynchronize(event)) && run(infinirtDeviceSynchronize()) &&
         run(infinirtMemcpy(out.data(), y, 2500, INFINIRT_MEMCPY_D2H)));
  right = out[0] == 3 && out[2499] == 3;
  auto release = [&](infiniStatus_t next) { run(next); };
  if (pinned) release(infinirtFreeHost(pinned));
  if (y) release(infinirtFree(y));  // other streams have used it
  if (x) release(infinirtFree(x));
  if (event) release(infinirtEventDestroy(event));
  if (stream) release(infinirtStreamDestroy(stream));
  return status;
}

// Law: a run in which a call of the driver failed says so, or was right all the same; nothing
// leaks.
TEST_F(KunlunDevice, EveryCallMayFail) {
  for (int64_t n = 1;; ++n) {
    ASSERT_LT(n, 200);
    xpu_emu_clear();
    xpu_emu_fail_call(n);
    bool right = false;
    const infiniStatus_t status = scenario(right);
    const bool reached = xpu_emu_calls() >= n;
    xpu_emu_fail_call(0);
    EXPECT_EQ(0, xpu_emu_violations()) << "call " << n << "\n" << all_violations();
    expect_no_leaks();
    if (status == INFINI_STATUS_SUCCESS) {
      EXPECT_TRUE(right) << "call " << n;
    } else {
      EXPECT_STRNE("", infiniGetLastErrorString());
    }
    if (!reached) {
      EXPECT_EQ(INFINI_STATUS_SUCCESS, status);
      EXPECT_GT(n, 15);
      break;
    }
  }
}

}  // namespace
}  // namespace infini::kunlun
