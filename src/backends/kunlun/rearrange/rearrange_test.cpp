// Rearrange on the emulated XPU, beside conformance_test: every walk, many interleavings; bursts
// are long, threads may share a descriptor, and no fault is lost.
#include <cstring>
#include <thread>
#include <vector>

#include "backends/kunlun/backend.h"
#include "backends/kunlun/test_support.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/rearrange/reference.h"

namespace infini::kunlun {
namespace {

using harness::RearrangeProblem;

class KunlunRearrange : public Emulated {};

TEST_F(KunlunRearrange, RandomCasesUnderTwentySeeds) {
  harness::Random random(4);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    xpu_emu_seed(seed);
    for (int n = 0; n < 25; ++n) {
      const auto verdict =
          harness::check(harness::random_mixed_problem(random, 16, 16 << 10), seed);
      ASSERT_TRUE(verdict.passed) << "seed " << seed << ": " << verdict.message;
    }
    ASSERT_EQ(0, xpu_emu_violations()) << "seed " << seed << "\n" << all_violations();
  }
}

// Bytes of a layout on the device, with the bytes around its elements.
class Image {
 public:
  Image(infini::Device& device, const Layout& layout, uint64_t seed)
      : device_(device), range_(byte_range(layout)), host_(range_.end - range_.begin) {
    harness::Random random(seed);
    for (auto& byte : host_) byte = static_cast<char>(random.next());
    memory_ = device_.allocate(host_.size());
    device_.copy(memory_, host_.data(), host_.size(), INFINIRT_MEMCPY_H2D);
  }
  ~Image() { device_.free(memory_); }
  char* host() { return host_.data() - range_.begin; }
  void* base() const { return static_cast<char*>(memory_) - range_.begin; }
  bool same_on_device() {
    std::vector<char> now(host_.size());
    device_.copy(now.data(), memory_, now.size(), INFINIRT_MEMCPY_D2H);
    return now == host_;
  }

 private:
  infini::Device& device_;
  ByteRange range_;
  std::vector<char> host_;
  void* memory_ = nullptr;
};

// Also the walks that would not be chosen.
void expect_all_walks(Device& device, const RearrangeProblem& problem) {
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  if (plan.atom_bytes == 0) return;
  Image src(device, problem.src, 1);
  for (Walk walk : {Walk::rows, Walk::cluster_tiles, Walk::core_tiles}) {
    Image dst(device, problem.dst, 2);
    const auto kernel = make_rearrange(make_schedule(plan, walk, device.clusters()));
    kernel->run(dst.base(), src.base(), nullptr);
    harness::naive_rearrange(dst.host(), problem.dst, src.host(), problem.src);
    ASSERT_TRUE(dst.same_on_device()) << walk_name(walk) << " " << to_text(problem);
  }
  ASSERT_TRUE(src.same_on_device());
}

TEST_F(KunlunRearrange, EveryWalkRunsEveryPlan) {
  Device device(0);
  device.make_current();
  harness::Random random(5);
  for (int n = 0; n < 60; ++n)
    ASSERT_NO_FATAL_FAILURE(
        expect_all_walks(device, harness::random_mixed_problem(random, 16, 16 << 10)));
  for (const std::string& text : harness::layout_cases()) {
    const auto problem = harness::parse_rearrange(text);
    if (element_count(problem.dst) > 60000) continue;
    ASSERT_NO_FATAL_FAILURE(expect_all_walks(device, problem));
  }
}

// The large transposes of the bench suite, scaled down so that every cluster still has several
// tiles.
TEST_F(KunlunRearrange, BurstsAreLong) {
  for (const char* text :
       {"rearrange f32 1024x1024 perm=1,0", "rearrange f32 1023x1025 perm=1,0",
        "rearrange f16 1024x1024 perm=1,0", "rearrange u8 1024x2048 perm=1,0",
        "rearrange f64 1024x512 perm=1,0", "rearrange f32 64x16384 perm=1,0",
        "rearrange f32 16384x64 perm=1,0", "rearrange f32 300000x3 perm=1,0",
        "rearrange f32 3x300000 perm=1,0", "rearrange u8 1000000x3 perm=1,0",
        "rearrange f16 4x64x56x56 perm=0,2,3,1", "rearrange f16 4x56x56x64 perm=0,3,1,2",
        "rearrange u8 4x256x256x3 perm=0,3,1,2", "rearrange f16 2x512x8x128 perm=0,2,3,1",
        "rearrange f32 96x96x96 perm=2,0,1", "rearrange f32 96x96x96 perm=2,1,0",
        "rearrange f32 16x16x16x16x16 perm=4,3,2,1,0"}) {
    xpu_emu_clear();
    const auto problem = harness::parse_rearrange(text);
    const auto verdict = harness::check(problem);
    ASSERT_TRUE(verdict.passed) << verdict.message;
    XpuEmuStats stats;
    xpu_emu_stats(&stats);
    EXPECT_GE(stats.dma_bytes / stats.dma_count, 256u) << text;
    ASSERT_EQ(0, xpu_emu_violations()) << all_violations();
  }
}

TEST_F(KunlunRearrange, OffsetsBeyondFourGigabytes) {
  Device device(0);
  device.make_current();
  // 600 rows of 1000 bytes, 9 MiB apart: the last one lies beyond 5 GiB.
  const auto problem = harness::parse_rearrange("rearrange u8 600x1000 src=9437184,1");
  const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
  const int64_t span = byte_range(problem.src).end;
  ASSERT_GT(span, int64_t{5} << 30);
  void* src = device.allocate(static_cast<size_t>(span));
  void* dst = device.allocate(600000);
  for (Walk walk : {Walk::rows, Walk::cluster_tiles, Walk::core_tiles}) {
    for (int64_t row : {0, 455, 599})
      device.set(static_cast<char*>(src) + row * 9437184, static_cast<int>(row % 100 + 1), 1000);
    make_rearrange(make_schedule(plan, walk, device.clusters()))->run(dst, src, nullptr);
    std::vector<char> bytes(600000);
    device.copy(bytes.data(), dst, bytes.size(), INFINIRT_MEMCPY_D2H);
    for (int64_t row : {0, 455, 599}) EXPECT_EQ(row % 100 + 1, bytes[row * 1000 + 999]);
  }
  device.free(src);
  device.free(dst);
}

// One descriptor of the C API and what it needs.
struct Operator {
  explicit Operator(const RearrangeProblem& problem) {
    EXPECT_OK(infiniopCreateHandle(&handle));
    dst = describe(problem.dst);
    src = describe(problem.src);
    EXPECT_OK(infiniopCreateRearrangeDescriptor(handle, &desc, dst, src));
  }
  ~Operator() {
    if (desc) infiniopDestroyRearrangeDescriptor(desc);
    if (dst) infiniopDestroyTensorDescriptor(dst);
    if (src) infiniopDestroyTensorDescriptor(src);
    if (handle) infiniopDestroyHandle(handle);
  }
  static infiniopTensorDescriptor_t describe(const Layout& layout) {
    const std::vector<size_t> shape(layout.shape, layout.shape + layout.rank);
    const std::vector<ptrdiff_t> strides(layout.strides, layout.strides + layout.rank);
    infiniopTensorDescriptor_t made = nullptr;
    EXPECT_OK(infiniopCreateTensorDescriptor(&made, shape.size(), shape.data(), strides.data(),
                                             layout.dtype));
    return made;
  }
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t dst = nullptr, src = nullptr;
  infiniopRearrangeDescriptor_t desc = nullptr;
};

TEST_F(KunlunRearrange, OneDescriptorManyThreadsAndStreams) {
  const auto problem = harness::parse_rearrange("rearrange f32 130x70 perm=1,0");
  const Operator shared(problem);
  auto work = [&](int id) {
    ASSERT_OK(infinirtSetDevice(INFINI_DEVICE_KUNLUN, 0));
    infinirtStream_t stream = nullptr;
    ASSERT_OK(infinirtStreamCreate(&stream));
    std::vector<float> in(9100), expected(9100), out(9100);
    for (int i = 0; i < 9100; ++i) in[i] = static_cast<float>(i * 8 + id);
    harness::naive_rearrange(expected.data(), problem.dst, in.data(), problem.src);
    void *src = nullptr, *dst = nullptr;
    ASSERT_OK(infinirtMalloc(&src, 36400));
    ASSERT_OK(infinirtMalloc(&dst, 36400));
    for (int round = 0; round < 5; ++round) {
      ASSERT_OK(infinirtMemcpyAsync(src, in.data(), 36400, INFINIRT_MEMCPY_H2D, stream));
      ASSERT_OK(infiniopRearrange(shared.desc, dst, src, stream));
      ASSERT_OK(infinirtMemcpyAsync(out.data(), dst, 36400, INFINIRT_MEMCPY_D2H, stream));
      ASSERT_OK(infinirtStreamSynchronize(stream));
      ASSERT_EQ(expected, out);
    }
    EXPECT_OK(infinirtFree(src));
    EXPECT_OK(infinirtFree(dst));
    EXPECT_OK(infinirtStreamDestroy(stream));
  };
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id) threads.emplace_back(work, id);
  for (auto& thread : threads) thread.join();
}

// Law: whichever call of the driver fails, somebody is told, nothing leaks, and the next run is
// right.
TEST_F(KunlunRearrange, EveryCallMayFail) {
  const auto problem = harness::parse_rearrange("rearrange f16 100x90 perm=1,0");
  int64_t n = 1;
  for (int failures = 0;; ++n) {
    xpu_emu_fail_call(n);
    const auto verdict = harness::check(problem);
    const bool reached = xpu_emu_calls() >= n;
    xpu_emu_clear();
    expect_no_leaks();
    if (!reached) {
      EXPECT_TRUE(verdict.passed) << verdict.message;
      EXPECT_GT(failures, 5);
      break;
    }
    failures += !verdict.passed;
    const auto again = harness::check(problem);
    ASSERT_TRUE(again.passed) << "after failure of call " << n << ": " << again.message;
    xpu_emu_clear();
  }
}

TEST_F(KunlunRearrange, AKernelExceptionIsReportedAndStays) {
  const auto problem = harness::parse_rearrange("rearrange f16 100x90 perm=1,0");
  xpu_emu_fail_kernel(1);
  const auto verdict = harness::check(problem);
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(std::string::npos, verdict.message.find("kernel exception")) << verdict.message;
  EXPECT_FALSE(harness::check(problem).passed);
  xpu_emu_reset_device(0);
  const auto again = harness::check(problem);
  EXPECT_TRUE(again.passed) << again.message;
}

}  // namespace
}  // namespace infini::kunlun
