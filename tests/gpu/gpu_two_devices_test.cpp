// Two GPUs in one process: each thread's current device, copies between devices, recorded work of
// each, and what belongs to the other device. Runs on the kind named by INFINI_TEST_DEVICE; skips
// with the reason when there are not two of it.
#include <numeric>
#include <string>
#include <thread>

#include "infinicore/context/context.hpp"
#include "infinicore/tensor.hpp"
#include "tests/gpu/gpu_fixture.h"

namespace infini::test {
namespace {

constexpr size_t rows = 96, cols = 160, count = rows * cols, bytes = count * sizeof(float);

std::vector<float> numbers_from(float first) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// A transposition of cols x rows numbers on one device, with all that it needs.
class Transposition {
 public:
  Transposition(infiniDevice_t kind, int id, float first) : kind_(kind), id_(id), first_(first) {
    enter();
    EXPECT_OK(infinirtMalloc(reinterpret_cast<void**>(&src), bytes));
    EXPECT_OK(infinirtMalloc(reinterpret_cast<void**>(&dst), bytes));
    EXPECT_OK(infinirtStreamCreate(&stream));
    const Handle handle;
    const Tensor dense({cols, rows}), turned({cols, rows}, {1, cols});
    EXPECT_OK(infiniopCreateRearrangeDescriptor(handle.handle, &op, dense.desc, turned.desc));
    const std::vector<float> numbers = numbers_from(first);
    EXPECT_OK(infinirtMemcpy(src, numbers.data(), bytes, INFINIRT_MEMCPY_H2D));
  }
  ~Transposition() {
    enter();
    EXPECT_OK(infiniopDestroyRearrangeDescriptor(op));
    EXPECT_OK(infinirtStreamDestroy(stream));
    EXPECT_OK(infinirtFree(src));
    EXPECT_OK(infinirtFree(dst));
  }
  Transposition(const Transposition&) = delete;
  Transposition& operator=(const Transposition&) = delete;

  void enter() const { EXPECT_OK(infinirtSetDevice(kind_, id_)); }
  void run() const { EXPECT_OK(infiniopRearrange(op, dst, src, stream)); }
  void expect_done() const {
    enter();
    EXPECT_OK(infinirtStreamSynchronize(stream));
    std::vector<float> got(count);
    EXPECT_OK(infinirtMemcpy(got.data(), dst, bytes, INFINIRT_MEMCPY_D2H));
    for (size_t i = 0; i < count; ++i)
      ASSERT_EQ(first_ + static_cast<float>(i % rows * cols + i / rows), got[i])
          << "element " << i << " on device " << id_;
  }

  float *src = nullptr, *dst = nullptr;
  infinirtStream_t stream = nullptr;
  infiniopRearrangeDescriptor_t op = nullptr;

 private:
  infiniDevice_t kind_;
  int id_;
  float first_;
};

class TwoDevices : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    int devices = 0;
    ASSERT_OK(infinirtGetDeviceCount(kind_, &devices));
    if (devices < 2) GTEST_SKIP() << "needs two devices, there are " << devices;
  }
  infinicore::Device device(size_t index) const {
    return {static_cast<infinicore::Device::Type>(kind_), index};
  }
};

bool last_words_hold(const char* text) {
  return std::string(infiniGetLastErrorString()).find(text) != std::string::npos;
}

TEST_F(TwoDevices, BothWorkInTurn) {
  const Transposition first(kind_, 0, 0), second(kind_, 1, 5000);
  for (int round = 0; round < 3; ++round) {
    second.run();
    first.run();
  }
  first.expect_done();
  second.expect_done();
}

TEST_F(TwoDevices, EachThreadHasItsOwnCurrentDevice) {
  const auto work = [this](int id) {
    for (int round = 0; round < 10; ++round) {
      const Transposition mine(kind_, id, static_cast<float>(1000 * id + round));
      mine.run();
      std::this_thread::yield();
      infiniDevice_t kind = INFINI_DEVICE_CPU;
      int current = -1;
      EXPECT_OK(infinirtGetDevice(&kind, &current));
      EXPECT_EQ(id, current);
      mine.expect_done();
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  int current = -1;
  EXPECT_OK(infinirtGetDevice(nullptr, &current));
  EXPECT_EQ(0, current);
}

TEST_F(TwoDevices, AnOperatorRunsOnItsOwnDeviceWhateverIsCurrent) {
  const Transposition first(kind_, 0, 0), second(kind_, 1, 100);
  first.enter();
  second.run();
  first.run();
  second.expect_done();
  first.expect_done();
}

TEST_F(TwoDevices, AStreamOfTheOtherDeviceIsRefused) {
  const Transposition first(kind_, 0, 0), second(kind_, 1, 100);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrange(first.op, first.dst, first.src, second.stream));
  EXPECT_TRUE(last_words_hold("cannot launch rearrange")) << infiniGetLastErrorString();
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrange(second.op, second.dst, second.src, first.stream));
  first.run();
  second.run();
  first.expect_done();
  second.expect_done();
}

TEST_F(TwoDevices, MemoryOfTheOtherDeviceIsRefused) {
  const Transposition first(kind_, 0, 0), second(kind_, 1, 100);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrange(first.op, second.dst, first.src, first.stream));
  EXPECT_TRUE(last_words_hold("dst")) << infiniGetLastErrorString();
  EXPECT_TRUE(last_words_hold("device 1")) << infiniGetLastErrorString();
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrange(second.op, second.dst, first.src, second.stream));
  EXPECT_TRUE(last_words_hold("src")) << infiniGetLastErrorString();
  first.run();
  first.expect_done();
}

// An event orders streams of two devices, but belongs to one.
TEST_F(TwoDevices, EventsOrderAcrossDevicesAndBelongToOne) {
  const Transposition first(kind_, 0, 0), second(kind_, 1, 100);
  infinirtEvent_t event = nullptr;
  first.enter();
  EXPECT_OK(infinirtEventCreate(&event));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infinirtEventRecord(event, second.stream));
  first.run();
  EXPECT_OK(infinirtEventRecord(event, first.stream));
  second.enter();
  EXPECT_OK(infinirtStreamWaitEvent(second.stream, event));
  second.run();
  EXPECT_OK(infinirtStreamSynchronize(second.stream));
  infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
  EXPECT_OK(infinirtEventQuery(event, &status));
  EXPECT_EQ(INFINIRT_EVENT_COMPLETE, status);
  first.expect_done();
  second.expect_done();
  EXPECT_OK(infinirtEventDestroy(event));
}

TEST_F(TwoDevices, EachReplaysItsOwnGraph) {
  const Transposition parts[] = {{kind_, 0, 0}, {kind_, 1, 100}};
  infinirtGraph_t graphs[2] = {};
  infinirtGraphExec_t execs[2] = {};
  for (int i = 0; i < 2; ++i) {
    parts[i].enter();
    parts[i].run();  // loads the kernel
    EXPECT_OK(infinirtStreamSynchronize(parts[i].stream));
    EXPECT_OK(infinirtMemset(parts[i].dst, 0, bytes));
    EXPECT_OK(
        infinirtStreamBeginCapture(parts[i].stream, INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    parts[i].run();
    EXPECT_OK(infinirtStreamEndCapture(parts[i].stream, &graphs[i]));
    EXPECT_OK(infinirtGraphInstantiate(&execs[i], graphs[i], nullptr, nullptr, 0));
  }
  for (int i = 0; i < 2; ++i) {
    parts[i].enter();
    EXPECT_OK(infinirtGraphLaunch(execs[i], parts[i].stream));
  }
  for (int i = 0; i < 2; ++i) {
    parts[i].expect_done();
    EXPECT_OK(infinirtGraphExecDestroy(execs[i]));
    EXPECT_OK(infinirtGraphDestroy(graphs[i]));
  }
}

TEST_F(TwoDevices, TensorsTravelFromOneToTheOther) {
  using infinicore::DataType;
  const std::vector<float> numbers = numbers_from(7);
  auto host = infinicore::Tensor::empty({rows, cols}, DataType::F32, infinicore::Device::cpu());
  std::memcpy(host->data(), numbers.data(), bytes);
  {
    const auto there = host->to(device(0));
    const auto turned = there->permute({1, 0})->to(device(1));  // not dense: packed, then copied
    const auto back = turned->permute({1, 0})->to(device(0))->to(infinicore::Device::cpu());
    EXPECT_EQ(device(1), turned->device());
    EXPECT_EQ(0, std::memcmp(back->data(), numbers.data(), bytes));
    // Into a part of a tensor on the other device, and out of it.
    auto wide = infinicore::Tensor::zeros({rows, 2 * cols}, DataType::F32, device(1));
    auto part = wide->narrow({{1, cols / 2, cols}});
    part->copy_from(there);
    const auto again = part->to(infinicore::Device::cpu());
    EXPECT_EQ(0, std::memcmp(again->data(), numbers.data(), bytes));
  }
  infinicore::context::trimMemory();
}

}  // namespace
}  // namespace infini::test
