// Recordings and scopes, exceptions, threads: what leaves a thread recording and what does not.
#include <gtest/gtest.h>

#include <thread>

#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

using context::startGraphRecording;
using context::stopGraphRecording;

TEST(Recording, EndsWithItsScope) {
  const Tensor x = iota({2});
  EXPECT_THROW(
      {
        const context::GraphRecording recording;
        op::rearrange(x);
        throw std::runtime_error("between start and stop");
      },
      std::runtime_error);
  EXPECT_FALSE(context::isGraphRecording());
  EXPECT_EQ(elements(op::rearrange(x)), (std::vector<float>{0, 1}));
  { const context::GraphRecording recording; }
  EXPECT_FALSE(context::isGraphRecording());
  context::GraphRecording recording;
  const Tensor y = op::rearrange(x);
  const auto graph = recording.stop();
  EXPECT_FALSE(context::isGraphRecording());
  graph->run();
  EXPECT_EQ(elements(y), elements(x));
  EXPECT_EQ(status_of([&] { recording.stop(); }), INFINI_STATUS_BAD_PARAM) << "it has ended";
}

TEST(Recording, IsNotEndedByAnothersScope) {
  auto first = std::make_unique<context::GraphRecording>();
  EXPECT_EQ(status_of([] { context::GraphRecording second; }), INFINI_STATUS_BAD_PARAM) << "nested";
  EXPECT_TRUE(context::isGraphRecording());
  std::thread([&] {
    EXPECT_EQ(status_of([&] { first->stop(); }), INFINI_STATUS_BAD_PARAM);
    startGraphRecording();
    first.reset();  // this thread has another recording
    EXPECT_TRUE(context::isGraphRecording());
    EXPECT_EQ(stopGraphRecording()->size(), 0u);
  }).join();
  EXPECT_TRUE(context::isGraphRecording()) << "only its own thread can end it";
  context::cancelGraphRecording();
  first = std::make_unique<context::GraphRecording>();
  context::cancelGraphRecording();
  startGraphRecording();
  first.reset();
  EXPECT_TRUE(context::isGraphRecording()) << "a later one";
  context::cancelGraphRecording();
}

TEST(Recording, IsDroppedWithItsThread) {
  const Tensor x = iota({2});
  const auto in_use = context::memoryStats(Device::cpu()).in_use_bytes;
  std::thread([&] {
    startGraphRecording();
    op::rearrange(x);
  }).join();
  EXPECT_EQ(context::memoryStats(Device::cpu()).in_use_bytes, in_use);
  EXPECT_FALSE(context::isGraphRecording());
}

}  // namespace
}  // namespace infinicore
