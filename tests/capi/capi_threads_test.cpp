// Objects of the C API between threads and through forks: destroyed while they are used, created by many
// at once, inherited by children.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

constexpr auto bad = INFINI_STATUS_BAD_PARAM;

// Runs that take a while, each with the descriptor it is made with.
struct Running {
  const char* name;
  std::function<InfiniopDescriptor*()> create;
  std::function<infiniStatus_t(InfiniopDescriptor*)> run;
  infiniStatus_t (*destroy)(InfiniopDescriptor*);
  std::function<bool()> done;  // the run has written its last element
};

// Law: when a destroy returns, no run is under way: each has ended, or will be refused.
void destroy_while_running(const Running& running) {
  SCOPED_TRACE(running.name);
  int met = 0;
  for (int i = 0; i < 12; ++i) {
    InfiniopDescriptor* desc = running.create();
    ASSERT_NE(nullptr, desc) << infiniGetLastErrorString();
    std::atomic<int> runs{0};
    std::atomic<bool> ended{false};
    std::thread runner([&] {
      infiniStatus_t status;
      do {
        ++runs;
        status = running.run(desc);
      } while (status == INFINI_STATUS_SUCCESS);
      EXPECT_EQ(bad, status) << infiniGetLastErrorString();
      ended = true;
    });
    while (runs < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(200 * i));
    met += !ended;
    EXPECT_OK(running.destroy(desc));
    EXPECT_TRUE(running.done());
    runner.join();
  }
  EXPECT_EQ(12, met);
}

TEST(CapiThreads, DestroyWaitsForRuns) {
  constexpr size_t n = 700;
  const Handle handle;
  const Tensor plain({n, n}), transposed({n, n}, {1, n});
  std::vector<float> x(n * n, 1), y(n * n), z(n * n);
  const auto descriptor = [&](auto create) {
    InfiniopDescriptor* desc = nullptr;
    EXPECT_OK(create(&desc));
    return desc;
  };
  // Each run writes its last element last on one thread; on several, no element may be missing.
  const auto all_ones = [&] {
    const bool whole = y == x;
    std::fill(y.begin(), y.end(), 0.0f);
    return whole;
  };
  destroy_while_running({"rearrange",
                         [&] {
                           return descriptor([&](auto desc) {
                             return infiniopCreateRearrangeDescriptor(handle.handle, desc,
                                                                      transposed.desc, plain.desc);
                           });
                         },
                         [&](InfiniopDescriptor* desc) {
                           return infiniopRearrange(desc, y.data(), x.data(), nullptr);
                         },
                         infiniopDestroyRearrangeDescriptor, all_ones});
  void* to[] = {y.data()};
  const void* from[] = {x.data()};
  destroy_while_running(
      {"batch",
       [&] {
         return descriptor([&](auto desc) {
           return infiniopCreateRearrangeBatchDescriptor(handle.handle, desc, 1, &transposed.desc,
                                                         &plain.desc);
         });
       },
       [&](InfiniopDescriptor* desc) { return infiniopRearrangeBatch(desc, 1, to, from, nullptr); },
       infiniopDestroyRearrangeBatchDescriptor, all_ones});
  std::vector<float> workspace(8 << 20);
  float* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) / 4;
  const Tensor row({1, n}), matrix({n, n});
  destroy_while_running({"gemm",
                         [&] {
                           return descriptor([&](auto desc) {
                             return infiniopCreateGemmDescriptor(handle.handle, desc, matrix.desc,
                                                                 plain.desc, transposed.desc);
                           });
                         },
                         [&](InfiniopDescriptor* desc) {
                           return infiniopGemm(desc, aligned, (workspace.size() - 16) * 4, z.data(),
                                               x.data(), x.data(), 1, 0, nullptr);
                         },
                         infiniopDestroyGemmDescriptor, [&] { return z.back() == float{n}; }});
}

// Threads that use objects which another one destroys and makes anew get an answer or a refusal.
TEST(CapiThreads, AnyObjectMayBeDestroyedWhileItIsUsed) {
  const size_t shape[] = {2, 3};
  std::atomic<infiniopTensorDescriptor_t> tensor{nullptr};
  std::atomic<infiniopHandle_t> handle{nullptr};
  std::atomic<infinirtStream_t> stream{nullptr};
  std::atomic<infinirtEvent_t> event{nullptr};
  std::atomic<infinirtGraphExec_t> exec{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  const auto expected = [](infiniStatus_t status) {
    EXPECT_TRUE(status == INFINI_STATUS_SUCCESS || status == bad) << infiniGetLastErrorString();
  };
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t)
    users.emplace_back([&] {
      float x[6] = {1, 2, 3, 4, 5, 6}, ms;
      for (; !stop; usleep(20)) {
        if (!exec) continue;
        infiniopRearrangeDescriptor_t made = nullptr;
        expected(infiniopCreateRearrangeDescriptor(handle, &made, tensor, tensor));
        if (made) expected(infiniopDestroyRearrangeDescriptor(made));
        expected(infinirtEventRecord(event, stream));
        expected(infinirtStreamWaitEvent(stream, event));
        expected(infinirtMemsetAsync(x, 0, sizeof x, stream));
        expected(infinirtEventElapsedTime(&ms, event, event));
        expected(infinirtGraphLaunch(exec, stream));
        ++rounds;
      }
    });
  int target = 0;
  for (int i = 0; i < 200 || rounds < 200; ++i) {
    infiniopHandle_t h;
    infiniopTensorDescriptor_t t;
    infinirtStream_t s;
    infinirtEvent_t e;
    infinirtGraph_t g;
    infinirtGraphExec_t x;
    ASSERT_OK(infiniopCreateHandle(&h));
    ASSERT_OK(infiniopCreateTensorDescriptor(&t, 2, shape, nullptr, INFINI_DTYPE_F32));
    ASSERT_OK(infinirtStreamCreate(&s));
    ASSERT_OK(infinirtEventCreate(&e));
    ASSERT_OK(infinirtEventRecord(e, s));
    ASSERT_OK(infinirtStreamBeginCapture(s, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
    ASSERT_OK(infinirtMemsetAsync(&target, 0, 4, s));
    ASSERT_OK(infinirtStreamEndCapture(s, &g));
    ASSERT_OK(infinirtGraphInstantiate(&x, g, nullptr, nullptr, 0));
    handle = h, tensor = t, stream = s, event = e, exec = x;
    std::this_thread::yield();
    EXPECT_OK(infiniopDestroyHandle(h));
    EXPECT_OK(infiniopDestroyTensorDescriptor(t));
    EXPECT_OK(infinirtStreamDestroy(s));
    EXPECT_OK(infinirtEventDestroy(e));
    EXPECT_OK(infinirtGraphDestroy(g));
    EXPECT_OK(infinirtGraphExecDestroy(x));
  }
  stop = true;
  for (auto& user : users) user.join();
}

// One of everything that the C API makes on a CPU, used and destroyed.
bool use_everything() {
  const size_t shape[] = {2, 3}, square[] = {3, 3};
  const ptrdiff_t transposed[] = {1, 2};
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {}, a[9] = {}, b[9] = {}, c[9] = {};
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t src, dst, matrix;
  InfiniopDescriptor *rearrange, *gemm;
  infinirtStream_t stream;
  infinirtEvent_t event;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  void* p = nullptr;
  const auto ok = [](infiniStatus_t status) { return status == INFINI_STATUS_SUCCESS; };
  return ok(infiniopCreateHandle(&handle)) && ok(infinirtStreamCreate(&stream)) &&
         ok(infinirtEventCreate(&event)) && ok(infinirtMalloc(&p, 1000)) && ok(infinirtFree(p)) &&
         ok(infiniopCreateTensorDescriptor(&src, 2, shape, nullptr, INFINI_DTYPE_F32)) &&
         ok(infiniopCreateTensorDescriptor(&dst, 2, shape, transposed, INFINI_DTYPE_F32)) &&
         ok(infiniopCreateTensorDescriptor(&matrix, 2, square, nullptr, INFINI_DTYPE_F32)) &&
         ok(infiniopCreateRearrangeDescriptor(handle, &rearrange, dst, src)) &&
         ok(infiniopCreateGemmDescriptor(handle, &gemm, matrix, matrix, matrix)) &&
         ok(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL)) &&
         ok(infiniopRearrange(rearrange, y, x, stream)) && ok(infinirtEventRecord(event, stream)) &&
         ok(infinirtStreamEndCapture(stream, &graph)) &&
         ok(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0)) &&
         ok(infinirtGraphLaunch(exec, stream)) && y[1] == 4 &&
         ok(infiniopGemm(gemm, nullptr, 0, c, a, b, 1, 0, stream)) &&
         ok(infinirtGraphExecDestroy(exec)) && ok(infinirtGraphDestroy(graph)) &&
         ok(infinirtEventDestroy(event)) && ok(infinirtStreamDestroy(stream)) &&
         ok(infiniopDestroyGemmDescriptor(gemm)) &&
         ok(infiniopDestroyRearrangeDescriptor(rearrange)) &&
         ok(infiniopDestroyTensorDescriptor(matrix)) && ok(infiniopDestroyTensorDescriptor(dst)) &&
         ok(infiniopDestroyTensorDescriptor(src)) && ok(infiniopDestroyHandle(handle));
}

TEST(CapiThreads, AChildOfForkCanUseEverythingWhateverTheOthersDid) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) EXPECT_TRUE(use_everything());
    });
  int hung = 0, failed = 0;
  for (int i = 0; i < 150; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(use_everything() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    hung += WIFSIGNALED(status);
    failed += WIFEXITED(status) && WEXITSTATUS(status) != 0;
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(0, hung);
  EXPECT_EQ(0, failed);
}

}  // namespace
}  // namespace infini::test
