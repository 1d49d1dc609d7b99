// What tests of many copies share: bytes in a device's memory, and a stream on the device named by INFINI_TEST_DEVICE.
#pragma once

#include <algorithm>
#include <memory>
#include <random>

#include "runtime/place.h"
#include "tests/gpu/gpu_fixture.h"

namespace infini::test {

using Bytes = std::vector<unsigned char>;

// Memory of the device with what the host gives it.
class DeviceBytes {
 public:
  explicit DeviceBytes(const void* bytes, size_t count) : count_(count) {
    EXPECT_OK(infinirtMalloc(&p_, std::max<size_t>(1, count)));
    if (count > 0) {
      EXPECT_OK(infinirtMemcpy(p_, bytes, count, INFINIRT_MEMCPY_H2D));
    }
  }
  explicit DeviceBytes(const Bytes& bytes) : DeviceBytes(bytes.data(), bytes.size()) {}
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { EXPECT_OK(infinirtFree(p_)); }
  void* get() const { return p_; }
  Bytes bytes() const {
    Bytes all(count_);
    if (count_ > 0) {
      EXPECT_OK(infinirtMemcpy(all.data(), p_, count_, INFINIRT_MEMCPY_D2H));
    }
    return all;
  }

 private:
  void* p_ = nullptr;
  size_t count_;
};

inline Bytes random_bytes(std::mt19937& random, size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  return bytes;
}

class ManyCopies : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_OK(infinirtStreamCreate(&stream_));
  }
  void TearDown() override {
    if (stream_ != nullptr) place_of(kind_, 0).pinned.trim();
    if (stream_ != nullptr) {
      EXPECT_OK(infinirtStreamDestroy(stream_));
    }
  }
  bool device_ids() const { return kind_ != INFINI_DEVICE_ASCEND && kind_ != INFINI_DEVICE_KUNLUN; }
  bool captures() const { return device_ids(); }

  std::mt19937 random_{1};
  infinirtStream_t stream_ = nullptr;
};

// Work on the stream at once, or as a graph of it.
template <class Work>
void run_or_replay(infinirtStream_t stream, bool captured, const Work& work) {
  if (!captured) return work();
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  ASSERT_OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
  work();
  ASSERT_OK(infinirtStreamEndCapture(stream, &graph));
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphLaunch(exec, stream));
  EXPECT_OK(infinirtStreamSynchronize(stream));
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
}

}  // namespace infini::test
