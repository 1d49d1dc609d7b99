// The C++ layer in children of fork(), whatever the parent's other threads were doing.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

// Memory, views, operators, the cache, the C side's objects and graphs.
bool works() {
  const Tensor x = iota({4, 6});
  const Tensor y = op::rearrange(x->permute({1, 0}));
  const Tensor z = op::gemm(x, y);
  context::GraphRecording recording;
  op::gemm_(z, x, y, 1.0f, 1.0f);
  const auto graph = recording.stop();
  graph->run();
  context::clearOpCache();
  context::trimMemory(Device::cpu());  // those of accelerators do not survive a fork
  return elements(z)[0] == 110.0f && z->desc() != nullptr &&
         context::getInfiniopHandle() != nullptr;
}

TEST(TensorFork, AChildCanUseEverything) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!stop) EXPECT_TRUE(works());
    });
  int hung = 0, failed = 0;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      _exit(works() ? 0 : 1);
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
}  // namespace infinicore
