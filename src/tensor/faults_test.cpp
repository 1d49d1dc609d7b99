// The C++ layer when there is no memory: whichever allocation fails, an Error says so, nothing is lost,
// and the next try works.
#include <gtest/gtest.h>

#include "tensor/tensor_test_support.h"
#include "tests/allocation_counter.h"

namespace infinicore {
namespace {

const Device cpu = Device::cpu();

// What a client allocates itself (shapes, lists) stands here, so that all that fails is ours.
struct Program {
  const Shape rows{4, 6}, columns{6, 4}, turned{1, 0}, batches{2, 3, 4, 6}, flat{24};
  const Strides strides{1, 4};
  const std::vector<TensorSliceParams> part{{0, 1, 2}};
  float numbers[24] = {};
  const std::vector<float> values = std::vector<float>(24);
  const Tensor x = iota({4, 6}), other = iota({4, 6});

  void tensors() {
    Tensor t = Tensor::zeros(rows, DataType::F32, cpu);
    t = Tensor::ones(rows, DataType::F32, cpu, true);
    t = Tensor::strided_empty(rows, strides, DataType::F32, cpu);
    t = Tensor::from_blob(numbers, rows, DataType::F32, cpu);
    t = t->permute(turned)->narrow(part)->unsqueeze(0)->squeeze(0)->contiguous();
    t = x->view(flat)->as_strided(rows, strides);
    t = Tensor::full(rows, 7, DataType::F32, cpu)->transpose(0, 1)->reshape(rows)->flip(0);
    t = Tensor::from_vector(values, rows)->slice(1, 0, 6, 2);
    t->slice(0, 0, 1)->slice(1, 0, 1)->item();
    t = x->broadcast_to(batches)->to(cpu);
    Tensor(other)->copy_from(x);
    t->desc();
    t->info();
    toString(x);
  }
  void operators() {
    const Tensor y = op::rearrange(x->permute(turned));
    const Tensor z = op::gemm(x, y);
    op::gemm_(z, x, y, 2, 1);
    op::matmul(x->broadcast_to(batches), y);
    op::Gemm(z, x, y, 1, 0).run();
    op::Rearrange(y, x->permute(turned)).plan();
  }
  void graphs() {
    context::GraphRecording recording;
    const Tensor y = op::rearrange(x->permute(turned));
    op::gemm(x, y);
    const auto graph = recording.stop();
    graph->rebind(x, other);
    graph->run();
    graph->describe();
  }
  void contexts() {
    context::setDevice(cpu);
    context::allocateMemory(100);
    context::allocateHostMemory(100);
    context::allocatePinnedHostMemory(100);
    context::getInfiniopHandle();
    context::destroyEvent(context::createEvent());
    context::memoryStats(cpu);
  }
};

void fail_each_allocation(void (Program::*part)()) {
  Program program;
  context::trimMemory();
  const auto in_use = context::memoryStats(cpu).in_use_bytes;
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    context::clearOpCache();
    context::trimMemory();
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    std::string words;
    infini::test::fail_allocation(n);
    try {
      (program.*part)();
    } catch (const Error& error) {
      status = error.status();
      infini::test::fail_allocation(0);
      words = error.what();
    } catch (const std::exception& error) {
      infini::test::fail_allocation(0);
      FAIL() << n << ": not an Error, but " << error.what();
    }
    const bool asked = infini::test::fail_allocation(0);
    ASSERT_FALSE(context::isGraphRecording()) << n;
    ASSERT_EQ(context::memoryStats(cpu).in_use_bytes, in_use) << n;
    if (status == INFINI_STATUS_SUCCESS && !asked) break;
    failures += status != INFINI_STATUS_SUCCESS;
    if (status != INFINI_STATUS_SUCCESS) {
      ASSERT_EQ(INFINI_STATUS_OUT_OF_MEMORY, status) << n << ": " << words;
    }
    ASSERT_NO_THROW((program.*part)()) << "after allocation " << n << " failed";
    ASSERT_LT(n, 5000);
  }
  EXPECT_GT(failures, 3);
}

TEST(TensorFaults, OutOfMemoryIsAnErrorOfTensors) { fail_each_allocation(&Program::tensors); }
TEST(TensorFaults, OutOfMemoryIsAnErrorOfOperators) { fail_each_allocation(&Program::operators); }
TEST(TensorFaults, OutOfMemoryIsAnErrorOfGraphs) { fail_each_allocation(&Program::graphs); }
TEST(TensorFaults, OutOfMemoryIsAnErrorOfTheContext) { fail_each_allocation(&Program::contexts); }

}  // namespace
}  // namespace infinicore
