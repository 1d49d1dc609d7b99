// Rearrange through the C API: bad arguments, overlap, threads, allocation.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/allocation_counter.h"
#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(CapiRearrange, TheDocumentsExample) {
  const Handle handle;
  const Tensor src({2, 3}, {3, 1}), dst({2, 3}, {1, 2});
  const RearrangeOp op(handle, dst, src);
  const auto x = counting(6);
  std::vector<float> y(6);
  EXPECT_OK(infiniopRearrange(op.desc, y.data(), x.data(), nullptr));
  EXPECT_EQ(std::vector<float>({1, 4, 2, 5, 3, 6}), y);
  infiniDevice_t kind;
  int id;
  EXPECT_OK(infiniopGetDescriptorDeviceType(op.desc, &kind));
  EXPECT_OK(infiniopGetDescriptorDeviceId(op.desc, &id));
  EXPECT_EQ(INFINI_DEVICE_CPU, kind);
  EXPECT_EQ(0, id);
  EXPECT_EQ(INFINI_DEVICE_CPU, *reinterpret_cast<infiniDevice_t*>(op.desc));
}

TEST(CapiRearrange, UnequalSidesAreRefusedInWords) {
  const Handle handle;
  const Tensor src({2, 3}), other({3, 2}, {1, 2}), half({2, 3}, {}, INFINI_DTYPE_F16);
  infiniopRearrangeDescriptor_t desc = nullptr;
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateRearrangeDescriptor(handle.handle, &desc, other.desc, src.desc));
  EXPECT_STREQ("dst has shape 3x2 but src has shape 2x3; they must be equal",
               infiniGetLastErrorString());
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniopCreateRearrangeDescriptor(handle.handle, &desc, half.desc, src.desc));
  EXPECT_EQ(nullptr, desc);
}

TEST(CapiRearrange, EveryNullPointerIsAnswered) {
  const Handle handle;
  const Tensor t({2, 3});
  infiniopRearrangeDescriptor_t desc = nullptr;
  const auto null = INFINI_STATUS_NULL_POINTER;
  EXPECT_EQ(null, infiniopCreateHandle(nullptr));
  EXPECT_EQ(null, infiniopCreateHandleForDevice(nullptr, INFINI_DEVICE_CPU, 0));
  EXPECT_OK(infiniopDestroyHandle(nullptr));
  EXPECT_EQ(null, infiniopCreateRearrangeDescriptor(nullptr, &desc, t.desc, t.desc));
  EXPECT_EQ(null, infiniopCreateRearrangeDescriptor(handle.handle, nullptr, t.desc, t.desc));
  EXPECT_EQ(null, infiniopCreateRearrangeDescriptor(handle.handle, &desc, nullptr, t.desc));
  EXPECT_EQ(null, infiniopCreateRearrangeDescriptor(handle.handle, &desc, t.desc, nullptr));
  EXPECT_STREQ("src is NULL", infiniGetLastErrorString());
  EXPECT_EQ(null, infiniopRearrange(nullptr, nullptr, nullptr, nullptr));
  EXPECT_OK(infiniopDestroyRearrangeDescriptor(nullptr));
  EXPECT_OK(infiniopDestroyTensorDescriptor(nullptr));
  const size_t shape[] = {2};
  EXPECT_EQ(null, infiniopCreateTensorDescriptor(nullptr, 1, shape, nullptr, INFINI_DTYPE_F32));
  infiniopTensorDescriptor_t tensor;
  EXPECT_EQ(null, infiniopCreateTensorDescriptor(&tensor, 1, nullptr, nullptr, INFINI_DTYPE_F32));
  EXPECT_EQ(null, infiniopGetDescriptorDeviceType(nullptr, nullptr));
  const RearrangeOp op(handle, t, t);
  EXPECT_EQ(null, infiniopGetDescriptorDeviceId(op.desc, nullptr));
  float x[6], y[6];
  EXPECT_EQ(null, infiniopRearrange(op.desc, nullptr, x, nullptr));
  EXPECT_EQ(null, infiniopRearrange(op.desc, y, nullptr, nullptr));
}

TEST(CapiRearrange, DestroyedObjectsAreRecognised) {
  const auto bad = INFINI_STATUS_BAD_PARAM;
  infiniopHandle_t handle;
  ASSERT_OK(infiniopCreateHandle(&handle));
  const Tensor t({2, 3});
  infiniopRearrangeDescriptor_t desc;
  ASSERT_OK(infiniopCreateRearrangeDescriptor(handle, &desc, t.desc, t.desc));
  EXPECT_OK(infiniopDestroyHandle(handle));
  EXPECT_EQ(bad, infiniopDestroyHandle(handle));
  infiniopRearrangeDescriptor_t another;
  EXPECT_EQ(bad, infiniopCreateRearrangeDescriptor(handle, &another, t.desc, t.desc));
  EXPECT_OK(infiniopDestroyRearrangeDescriptor(desc));
  EXPECT_EQ(bad, infiniopDestroyRearrangeDescriptor(desc));
  float x[6] = {}, y[6];
  EXPECT_EQ(bad, infiniopRearrange(desc, y, x, nullptr));
  infiniDevice_t kind;
  EXPECT_EQ(bad, infiniopGetDescriptorDeviceType(desc, &kind));
  EXPECT_EQ(bad, infiniopDestroyRearrangeDescriptor(
                     reinterpret_cast<infiniopRearrangeDescriptor_t>(t.desc)));
}

TEST(CapiRearrange, EmptyTensorsAreNoOps) {
  const Handle handle;
  const Tensor t({0, 4});
  const RearrangeOp op(handle, t, t);
  EXPECT_OK(infiniopRearrange(op.desc, nullptr, nullptr, nullptr));
}

TEST(CapiRearrange, OverlappingDestinationIsRefused) {
  const Handle handle;
  const Tensor src({2, 2}), dst({2, 2}, {1, 1}), zero({2, 2}, {2, 0});
  infiniopRearrangeDescriptor_t desc;
  for (const Tensor* bad : {&dst, &zero})
    EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES,
              infiniopCreateRearrangeDescriptor(handle.handle, &desc, bad->desc, src.desc));
}

// As if src had been read completely before dst was written.
TEST(CapiRearrange, OverlapOfTheTwoSidesIsSafe) {
  const Handle handle;
  const Tensor row({4, 5}), column({4, 5}, {1, 4}), flat({19}), every({10}, {2});
  auto x = counting(20);
  const RearrangeOp same(handle, row, row);
  EXPECT_OK(infiniopRearrange(same.desc, x.data(), x.data(), nullptr));
  EXPECT_EQ(counting(20), x);

  const RearrangeOp transpose(handle, column, row);  // in place
  EXPECT_OK(infiniopRearrange(transpose.desc, x.data(), x.data(), nullptr));
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 5; ++j) EXPECT_EQ(counting(20)[i * 5 + j], x[j * 4 + i]);

  x = counting(20);
  const RearrangeOp shift(handle, flat, flat);  // by one element, both ways
  EXPECT_OK(infiniopRearrange(shift.desc, x.data() + 1, x.data(), nullptr));
  EXPECT_EQ(19.0f, x[19]);
  EXPECT_EQ(1.0f, x[1]);
  EXPECT_OK(infiniopRearrange(shift.desc, x.data(), x.data() + 1, nullptr));
  EXPECT_EQ(2.0f, x[1]);

  x = counting(20);
  const RearrangeOp interleaved(handle, every, every);  // x[::2] = x[1::2]
  EXPECT_OK(infiniopRearrange(interleaved.desc, x.data(), x.data() + 1, nullptr));
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(x[2 * i + 1], x[2 * i]);
}

TEST(CapiRearrange, RunningAllocatesNothing) {
  const Handle handle;
  const Tensor small({2, 3}), small_t({2, 3}, {1, 2}), large({600, 700}),
      large_t({600, 700}, {1, 600});
  const RearrangeOp tiny(handle, small_t, small), big(handle, large_t, large);
  std::vector<float> x(420000), y(420000);
  EXPECT_OK(infiniopRearrange(big.desc, y.data(), x.data(), nullptr));  // starts the threads
  const auto before = allocation_count();
  const auto heap_before = mallinfo2().uordblks;
  for (int i = 0; i < 100; ++i) {
    infiniopRearrange(tiny.desc, y.data(), x.data(), nullptr);
    infiniopRearrange(big.desc, y.data(), x.data(), nullptr);
  }
  EXPECT_EQ(before, allocation_count());
  EXPECT_EQ(heap_before, mallinfo2().uordblks);
}

TEST(CapiRearrange, ADescriptorTakesAtMostOneKilobyte) {
  const Handle handle;
  const Tensor dst({8, 4, 6, 5, 7}, {1, 8, 32, 192, 960}), src({8, 4, 6, 5, 7});
  constexpr size_t count = 1000;
  std::vector<infiniopRearrangeDescriptor_t> descs(count);
  const auto before = allocated_bytes();
  for (auto& desc : descs)
    ASSERT_OK(infiniopCreateRearrangeDescriptor(handle.handle, &desc, dst.desc, src.desc));
  const auto taken = static_cast<size_t>(allocated_bytes() - before);
  EXPECT_GT(taken, count);  // the measure measures
  EXPECT_LE(taken / count, 1024u);
  for (auto& desc : descs) EXPECT_OK(infiniopDestroyRearrangeDescriptor(desc));
}

TEST(CapiRearrange, OneDescriptorManyThreads) {
  const Handle handle;
  const Tensor src({300, 200}), dst({300, 200}, {1, 300});
  const RearrangeOp op(handle, dst, src);
  const auto x = counting(60000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      std::vector<float> y(60000);
      for (int i = 0; i < 20; ++i) {
        EXPECT_OK(infiniopRearrange(op.desc, y.data(), x.data(), nullptr));
        EXPECT_EQ(x[5 * 200 + 7], y[7 * 300 + 5]);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(CapiRearrange, ManyThreadsCreateAtOnce) {
  const Handle handle;
  std::vector<std::thread> threads;
  for (int t = 0; t < 100; ++t)
    threads.emplace_back([&, t] {
      const Tensor src({2, static_cast<size_t>(t) + 1});
      const RearrangeOp op(handle, src, src);
      std::vector<float> x(300, static_cast<float>(t)), y(300);
      EXPECT_OK(infiniopRearrange(op.desc, y.data(), x.data(), nullptr));
      EXPECT_EQ(static_cast<float>(t), y[0]);
    });
  for (auto& thread : threads) thread.join();
}

TEST(CapiRearrange, SameBitsForAnyThreadCount) {
  const Handle handle;
  const Tensor src({700, 900}), dst({700, 900}, {1, 700});
  const RearrangeOp op(handle, dst, src);
  const auto x = counting(630000);
  std::vector<float> one(630000), many(630000);
  EXPECT_OK(infiniSetNumThreads(1));
  EXPECT_OK(infiniopRearrange(op.desc, one.data(), x.data(), nullptr));
  for (const int threads : {2, 3, 7}) {
    EXPECT_OK(infiniSetNumThreads(threads));
    std::fill(many.begin(), many.end(), 0.0f);
    EXPECT_OK(infiniopRearrange(op.desc, many.data(), x.data(), nullptr));
    EXPECT_EQ(0, std::memcmp(one.data(), many.data(), one.size() * sizeof(float)));
  }
  EXPECT_OK(infiniSetNumThreads(0));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniSetNumThreads(-3));
}

TEST(CapiRearrange, RunsOnTheClientsThreads) {
  const Handle handle;
  const Tensor src({700, 900}), dst({700, 900}, {1, 700});
  EXPECT_OK(infiniSetNumThreads(3));
  const RearrangeOp op(handle, dst, src);
  const auto x = counting(630000);
  std::vector<float> ours(630000), theirs(630000);
  EXPECT_OK(infiniopRearrange(op.desc, ours.data(), x.data(), nullptr));
  std::atomic<int> tasks{0};
  infiniExecutor_t executor{
      sizeof executor, &tasks,
      [](void* user, int count, void (*task)(void* context, int index), void* context) {
        *static_cast<std::atomic<int>*>(user) += count;
        std::vector<std::thread> threads;
        for (int i = 0; i < count; ++i) threads.emplace_back(task, context, i);
        for (std::thread& thread : threads) thread.join();
      }};
  EXPECT_OK(infiniSetExecutor(&executor));
  EXPECT_OK(infiniopRearrange(op.desc, theirs.data(), x.data(), nullptr));
  EXPECT_GT(tasks, 1);
  EXPECT_EQ(ours, theirs);
  executor.size = 8;
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniSetExecutor(&executor));
  executor = {sizeof executor, nullptr, nullptr};
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniSetExecutor(&executor));
  EXPECT_OK(infiniSetExecutor(nullptr));
  const int before = tasks;
  EXPECT_OK(infiniopRearrange(op.desc, theirs.data(), x.data(), nullptr));
  EXPECT_EQ(before, tasks) << "it was taken back";
  EXPECT_OK(infiniSetNumThreads(0));
}

#if !defined(__SANITIZE_THREAD__)
TEST(CapiRearrange, WorksInAForkedChild) {
  const Handle handle;
  const Tensor src({700, 900}), dst({700, 900}, {1, 700});
  const RearrangeOp op(handle, dst, src);
  const auto x = counting(630000);
  std::vector<float> y(630000);
  EXPECT_OK(infiniopRearrange(op.desc, y.data(), x.data(), nullptr));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::fill(y.begin(), y.end(), 0.0f);
    const bool right = infiniopRearrange(op.desc, y.data(), x.data(), nullptr) == 0 &&
                       y[7 * 700 + 5] == x[5 * 900 + 7];
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}
#endif

}  // namespace
}  // namespace infini::test
