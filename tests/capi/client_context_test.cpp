// The context's functions as C++ clients call them: streams, memory, events and copies of the current device.
#include <gtest/gtest.h>
#include <infinicore.hpp>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <type_traits>

namespace infinicore {
namespace {

// Devices and types have the C API's numbers, and a client's operators derive from this.
static_assert(static_cast<int>(Device::Type::CPU) == INFINI_DEVICE_CPU &&
              static_cast<int>(Device::Type::NVIDIA) == INFINI_DEVICE_NVIDIA &&
              static_cast<int>(Device::Type::ALI) == INFINI_DEVICE_ALI &&
              static_cast<int>(Device::Type::COUNT) == INFINI_DEVICE_TYPE_COUNT);
static_assert(static_cast<int>(DataType::F32) == INFINI_DTYPE_F32 &&
              static_cast<int>(DataType::BF16) == INFINI_DTYPE_BF16);
static_assert(std::is_base_of_v<graph::GraphOperator, graph::DispatchableGraphOperator>);
static_assert(std::is_default_constructible_v<graph::Graph>);

TEST(ClientContext, NamesItsDevice) {
  const Device device(Device::Type::CPU, 0);
  EXPECT_EQ(Device::Type::CPU, device.getType());
  EXPECT_EQ(0u, device.getIndex());
  EXPECT_EQ("cpu", Device::toString(device.getType()));
  context::setDevice(device);
  EXPECT_EQ(device, context::getDevice());
  EXPECT_EQ(1u, context::getDeviceCount(Device::Type::CPU));
  EXPECT_EQ(context::getInfiniopHandle(), context::getInfiniopHandle(device));
}

TEST(ClientContext, CopiesAndFillsMemory) {
  const auto memory = context::allocateMemory(64), host = context::allocateHostMemory(64),
             pinned = context::allocatePinnedHostMemory(64);
  context::setDeviceMemory(memory->data(), 1, 64);
  context::setDeviceMemoryAsync(memory->data(), 2, 32, context::getStream());
  context::memcpyD2D(memory->data() + 32, memory->data(), 16);
  context::syncStream();
  context::memcpyD2H(host->data(), memory->data(), 64);
  context::memcpyH2H(pinned->data(), host->data(), 64);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(i < 48 ? 2 : 1, static_cast<int>(pinned->data()[i])) << i;
  std::memset(pinned->data(), 3, 64);
  context::memcpyH2D(memory->data(), pinned->data(), 64, false);
  EXPECT_EQ(3, static_cast<int>(memory->data()[63]));
}

TEST(ClientContext, EventsBetweenStreams) {
  const infinirtEvent_t start = context::createEvent(),
                        end = context::createEventWithFlags(INFINIRT_EVENT_DEFAULT);
  context::recordEvent(start);
  context::recordEvent(end, context::getStream());
  context::streamWaitEvent(context::getStream(), start);
  context::synchronizeEvent(end);
  EXPECT_TRUE(context::queryEvent(end));
  EXPECT_GE(context::elapsedTime(start, end), 0);
  context::destroyEvent(start);
  context::destroyEvent(end);
  context::syncDevice();
}

TEST(ClientContext, TensorsPrintThemselvesIntoFiles) {
  const Tensor t = Tensor::ones({2, 2}, DataType::F32, Device::cpu());
  const std::string path = testing::TempDir() + "client_context_debug.txt";
  t->debug(path);
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(std::string::npos, text.str().find(t->info()));
  EXPECT_NE(std::string::npos, text.str().find("[1, 1]"));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace infinicore
