// The backend on the emulated chip: every case right, no rule of CANN broken, nothing leaked, the
// AI CPU not used, faults survived, threads at ease.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "cann_emulator.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/rearrange/reference.h"
#include "infinirt.h"
#include "runtime/registry.h"

namespace infini {
namespace {

namespace emulator = cann_emulator;
using harness::parse_rearrange;
using harness::RearrangeProblem;

const Backend& backend() {
  std::string why;
  const Backend* found = find_backend(INFINI_DEVICE_ASCEND, &why);
  if (found == nullptr) throw std::runtime_error(why);
  return *found;
}

class Ascend : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(infinirtSetDevice(INFINI_DEVICE_ASCEND, 0), INFINI_STATUS_SUCCESS)
        << infiniGetLastErrorString();
    emulator::clear_violations();
    emulator::reset_counters();
  }
  void TearDown() override {
    emulator::fail_call(0);
    emulator::refuse_repeatable(false);
    emulator::refuse_gapped_sources(false);
    for (const auto& v : emulator::violations())
      ADD_FAILURE() << v.call << " broke " << emulator::name(v.rule) << ": " << v.detail;
  }
};

void expect_passes(const RearrangeProblem& problem, void* stream = nullptr) {
  const harness::Verdict verdict = harness::check(problem, 1, stream);
  EXPECT_TRUE(verdict.passed) << verdict.message;
}

void expect_all_pass(int random_cases, void* stream = nullptr) {
  for (const std::string& text : harness::curated_rearrange_cases())
    expect_passes(parse_rearrange(text), stream);
  harness::Random random(3);
  for (int i = 0; i < random_cases; ++i)
    expect_passes(harness::random_mixed_problem(random, 16, 16 << 10), stream);
}

TEST_F(Ascend, ConformsWithoutTheAiCpu) {
  expect_all_pass(800);
  const emulator::Counters c = emulator::counters();
  EXPECT_EQ(c.ai_cpu, 0u);
  EXPECT_EQ(c.source_ai_cpu, 0u);
  EXPECT_GT(c.copies_2d, 0u);  // and every fast path has been seen
  EXPECT_GT(c.transpose, 0u);
  EXPECT_GT(c.ai_core, 0u);
  EXPECT_GT(c.flips, 0u);
}

TEST_F(Ascend, ConformsOnAStream) {
  infinirtStream_t stream = nullptr;
  ASSERT_EQ(infinirtStreamCreate(&stream), INFINI_STATUS_SUCCESS);
  expect_all_pass(100, stream);
  EXPECT_EQ(infinirtStreamDestroy(stream), INFINI_STATUS_SUCCESS);
}

TEST_F(Ascend, ConformsWhenSourcesWithGapsAreRefused) {
  emulator::refuse_gapped_sources(true);
  expect_all_pass(200);
}

TEST_F(Ascend, ConformsWhenNoExecutorIsRepeatable) {
  emulator::refuse_repeatable(true);
  expect_all_pass(100);
  EXPECT_EQ(emulator::counters().repeatable_granted, 0u);
}

TEST_F(Ascend, SaysThatItIsEmulated) {
  char text[200];
  ASSERT_EQ(infinirtDescribeDevice(INFINI_DEVICE_ASCEND, 0, text, sizeof text),
            INFINI_STATUS_SUCCESS);
  EXPECT_NE(std::strstr(text, "emulated"), nullptr) << text;
}

// --- below the C interface: a device of our own, so that what it leaves behind can be counted
// ---------

// Two buffers with a problem in them.
class Workload {
 public:
  Workload(Device& device, const char* text) : device_(device), problem_(parse_rearrange(text)) {
    const ByteRange to = byte_range(problem_.dst), from = byte_range(problem_.src);
    dst_bytes_ = static_cast<size_t>(to.end - to.begin);
    src_.resize(static_cast<size_t>(from.end - from.begin));
    for (size_t i = 0; i < src_.size(); ++i) src_[i] = static_cast<char>(i * 7 + i / 256);
    to_ = to.begin;
    from_ = from.begin;
  }
  ~Workload() {
    release(dst_memory_);
    release(src_memory_);
  }
  Workload(const Workload&) = delete;

  void upload() {
    dst_memory_ = device_.allocate(dst_bytes_);
    src_memory_ = device_.allocate(src_.size());
    device_.set(dst_memory_, 0, dst_bytes_);
    device_.copy(src_memory_, src_.data(), src_.size(), INFINIRT_MEMCPY_H2D);
  }
  std::unique_ptr<RearrangeKernel> kernel() {
    return backend().kernels.rearrange(device_, make_rearrange_plan(problem_.dst, problem_.src),
                                       {});
  }
  void* dst() const { return static_cast<char*>(dst_memory_) - to_; }
  const void* src() const { return static_cast<char*>(src_memory_) - from_; }
  bool right() {
    std::vector<char> actual(dst_bytes_), expected(dst_bytes_, 0);
    device_.copy(actual.data(), dst_memory_, dst_bytes_, INFINIRT_MEMCPY_D2H);
    harness::naive_rearrange(expected.data() - to_, problem_.dst, src_.data() - from_,
                             problem_.src);
    return actual == expected;
  }
  void wipe() { device_.set(dst_memory_, 0, dst_bytes_); }

 private:
  void release(void* p) {
    if (p == nullptr) return;
    try {
      device_.free(p);
    } catch (const Error&) {  // the wait failed; the memory is free all the same
    }
  }

  Device& device_;
  RearrangeProblem problem_;
  std::vector<char> src_;
  size_t dst_bytes_;
  int64_t to_, from_;
  void *dst_memory_ = nullptr, *src_memory_ = nullptr;
};

constexpr const char* workloads[] = {
    "rearrange f32 40x30",                                        // copy
    "rearrange f32 20x100 dst=100,1 src=128,1",                   // 2-D copy
    "rearrange f16 12x10x8 perm=2,0,1",                           // transpose
    "rearrange f32 30x20 dst=20,1 src=1,50",                      // view copy with a workspace
    "rearrange f64 30x20 dst=20,1 src=-20,-1",                    // flip
    "rearrange f32 7x50 dst=200,2 src=1,9",                       // staged
    "rearrange f32 7x50 dst=200,2 src=0,-1",                      // staged, flipped, broadcast
    "rearrange u8 2x2x2x2x2x2x2x2x2x2 perm=9,0,8,1,7,2,6,3,5,4",  // rank above 8
};

TEST_F(Ascend, LeavesNothingBehind) {
  emulator::Live before = emulator::live();
  {
    auto device = backend().open(0);
    for (const char* text : workloads) {
      Workload work(*device, text);
      work.upload();
      auto kernel = work.kernel();
      for (int i = 0; i < 3; ++i) kernel->run(work.dst(), work.src(), nullptr);
      kernel.reset();  // destroyed while its work is queued
      EXPECT_TRUE(work.right()) << text;
    }
  }
  const emulator::Live after = emulator::live();
  EXPECT_EQ(after.device_blocks, before.device_blocks);
  EXPECT_EQ(after.tensors, 0u);
  EXPECT_EQ(after.arrays, 0u);
  EXPECT_EQ(after.executors, 0u);
  EXPECT_EQ(after.streams, 0u);
  EXPECT_EQ(after.queued_tasks, 0u);
}

TEST_F(Ascend, RepeatsExecutorsForTheSameAddresses) {
  auto device = backend().open(0);
  Workload work(*device, "rearrange f32 30x20 dst=20,1 src=1,50");
  work.upload();
  auto kernel = work.kernel();
  for (int i = 0; i < 5; ++i) kernel->run(work.dst(), work.src(), nullptr);
  EXPECT_TRUE(work.right());
  EXPECT_EQ(emulator::counters().executors, 1u);
  EXPECT_EQ(emulator::counters().repeatable_runs, 4u);
}

TEST_F(Ascend, SurvivesEveryFault) {
  const size_t blocks_before = emulator::live().device_blocks;
  for (const char* text : workloads) {
    uint64_t nth = 0;
    for (bool fired = true; fired;) {
      emulator::fail_call(++nth);
      try {
        auto device = backend().open(0);
        Workload work(*device, text);
        work.upload();
        auto kernel = work.kernel();
        kernel->run(work.dst(), work.src(), nullptr);
        kernel->run(work.dst(), work.src(), nullptr);
        EXPECT_TRUE(work.right()) << text;
      } catch (const Error& error) {
        EXPECT_TRUE(emulator::fault_fired()) << error.what();
        EXPECT_NE(error.status(), INFINI_STATUS_SUCCESS);
        EXPECT_GT(std::strlen(error.what()), 10u);
      }
      fired = emulator::fault_fired();
      EXPECT_EQ(emulator::live().device_blocks, blocks_before) << text << ", call " << nth;
      EXPECT_EQ(emulator::live().tensors + emulator::live().executors + emulator::live().arrays, 0u)
          << text << ", call " << nth;
      ASSERT_LT(nth, 500u);
    }
    EXPECT_GT(nth, 5u) << text;
  }
}

TEST_F(Ascend, TheNextRunWorksAfterAFailedOne) {
  auto device = backend().open(0);
  for (const char* text : workloads) {
    Workload work(*device, text);
    work.upload();
    auto kernel = work.kernel();
    emulator::fail_call(1);
    EXPECT_THROW(kernel->run(work.dst(), work.src(), nullptr), Error) << text;
    kernel->run(work.dst(), work.src(), nullptr);
    EXPECT_TRUE(work.right()) << text;
  }
}

TEST_F(Ascend, OneDescriptorFromManyThreadsAndStreams) {
  auto device = backend().open(0);
  void* shared_stream = device->create_stream();
  for (const char* text : workloads) {
    Workload first(*device, text);
    auto kernel = first.kernel();
    auto work_on = [&](bool own_stream) {
      device->make_current();
      Workload work(*device, text);
      work.upload();
      void* stream = own_stream ? device->create_stream() : shared_stream;
      for (int i = 0; i < 10; ++i) kernel->run(work.dst(), work.src(), stream);
      device->synchronize_stream(stream);
      EXPECT_TRUE(work.right()) << text;
      if (own_stream) device->destroy_stream(stream);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(work_on, i % 2 == 0);
    for (std::thread& thread : threads) thread.join();
  }
  device->destroy_stream(shared_stream);
}

TEST_F(Ascend, StreamOrderedMemory) {
  auto device = backend().open(0);
  void* stream = device->create_stream();
  char* p = static_cast<char*>(device->allocate_async(1000, stream));
  device->set_async(p, 5, 1000, stream);
  device->free_async(p, stream);  // no wait: the block is idle only for later work of this stream
  EXPECT_EQ(device->allocate_async(1000, stream), p);
  EXPECT_NE(device->allocate_async(1000, nullptr), p);
  device->free_async(p, stream);
  EXPECT_THROW(device->free_async(p, stream), Error);
  EXPECT_THROW(device->free(p), Error);
  void* q = device->allocate(64);
  device->set_async(q, 1, 64, stream);
  device->free_async(q, stream);  // a plain block: waits
  device->destroy_stream(stream);
}

TEST_F(Ascend, TheRuntimeTimesWaitsAndCopies) {
  auto device = backend().open(0);
  void *start = device->create_event(0), *end = device->create_event(0),
       *untimed = device->create_event(INFINIRT_EVENT_DISABLE_TIMING);
  EXPECT_TRUE(device->event_complete(start));
  void *one = device->create_stream(), *two = device->create_stream();
  void* p = device->allocate(256);
  char* pinned = static_cast<char*>(device->allocate_host(256));
  std::memset(pinned, 9, 256);
  device->record_event(start, one);
  device->copy_async(p, pinned, 256, INFINIRT_MEMCPY_H2D, one);
  device->record_event(end, one);
  device->record_event(untimed, one);
  EXPECT_FALSE(device->event_complete(untimed));
  device->stream_wait_event(two, untimed);
  std::vector<char> host(256), again(256);
  device->copy_async(host.data(), p, 256, INFINIRT_MEMCPY_D2H, two);
  EXPECT_EQ(host, std::vector<char>(256, 9));
  device->copy_async(again.data(), host.data(), 256, INFINIRT_MEMCPY_H2H, two);
  EXPECT_EQ(again, host);
  device->synchronize_event(end);
  EXPECT_GE(device->elapsed_milliseconds(start, end), 0.0f);
  const size_t free_before = device->memory_info().free_bytes;
  void* more = device->allocate(1 << 20);
  EXPECT_LT(device->memory_info().free_bytes, free_before);
  for (void* block : {p, more}) device->free(block);
  device->free_host(pinned);
  for (void* event : {start, end, untimed}) device->destroy_event(event);
  for (void* stream : {one, two}) device->destroy_stream(stream);
  EXPECT_THROW(device->begin_capture(nullptr, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL), Error);
}

TEST_F(Ascend, TwoDevicesSideBySide) {
  auto first = backend().open(0), second = backend().open(1);
  for (Device* device : {first.get(), second.get(), first.get()}) {
    device->make_current();
    Workload work(*device, "rearrange f32 30x20 dst=20,1 src=1,50");
    work.upload();
    work.kernel()->run(work.dst(), work.src(), nullptr);
    EXPECT_TRUE(work.right());
  }
}

TEST_F(Ascend, OutOfMemoryIsAMessage) {
  auto device = backend().open(0);
  try {
    device->allocate(size_t{1} << 45);
    ADD_FAILURE() << "no device has that much memory";
  } catch (const Error& error) {
    EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, error.status());
    EXPECT_NE(std::strstr(error.what(), "207018"), nullptr) << error.what();
  }
}

}  // namespace
}  // namespace infini
