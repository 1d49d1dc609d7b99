// Every misuse of the kernel dialect that the emulator promises to catch, planted and caught; and
// the right programs beside them, which must stay clean under every interleaving.
#include <gtest/gtest.h>

#include <vector>

#include "misuse.h"
#include "xpu_emulator.h"

namespace {
constexpr int32_t count = 16384;

class KernelRules : public testing::Test {
 protected:
  void SetUp() override {
    xpu_emu_clear();
    ASSERT_EQ(0, xpu_malloc(reinterpret_cast<void**>(&x), count * 4));
    ASSERT_EQ(0, xpu_malloc(reinterpret_cast<void**>(&y), count * 4));
    std::vector<float> values(count);
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    ASSERT_EQ(0, xpu_memcpy(x, values.data(), count * 4, XPU_HOST_TO_DEVICE));
    ASSERT_EQ(0, xpu_memcpy(y, values.data(), count * 4, XPU_HOST_TO_DEVICE));
  }
  void TearDown() override {
    xpu_emu_reset_device(0);
    EXPECT_EQ(0, xpu_free(x));
    EXPECT_EQ(0, xpu_free(y));
    xpu_emu_clear();
  }
  int run(Misuse which, int clusters = 1, int cores = 64) {
    EXPECT_EQ(0, launch_misuse(which, clusters, cores, nullptr, y, x, count));
    return xpu_wait();
  }
  std::vector<float> result() {
    std::vector<float> values(count);
    EXPECT_EQ(0, xpu_memcpy(values.data(), y, count * 4, XPU_DEVICE_TO_HOST));
    return values;
  }
  float *x = nullptr, *y = nullptr;
};

TEST_F(KernelRules, RightProgramsAreCleanUnderManySeeds) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    xpu_emu_seed(seed);
    EXPECT_EQ(0, run(Misuse::none, 12, 64));
    const auto doubled = result();
    for (int i = 0; i < count; ++i) ASSERT_EQ(2.0f * static_cast<float>(i), doubled[i]);
    EXPECT_EQ(0, run(Misuse::none_shared));
    const auto reversed = result();
    for (int i = 0; i < 64; ++i) ASSERT_EQ(static_cast<float>(63 - i), reversed[i]);
    EXPECT_EQ(0, run(Misuse::read_other_core_after_barrier));
  }
  EXPECT_EQ(0, xpu_emu_violations()) << xpu_emu_violation(0);
}

TEST_F(KernelRules, CountsDmas) {
  EXPECT_EQ(0, run(Misuse::none, 12, 64));
  XpuEmuStats stats;
  xpu_emu_stats(&stats);
  EXPECT_EQ(1u, stats.launches);
  EXPECT_EQ(2u * count * 4 / 1024, stats.dma_count);
  EXPECT_EQ(2u * count * 4, stats.dma_bytes);
}

struct Planted {
  Misuse which;
  XpuEmuRule rule;
  int code;
  XpuEmuRule also = XPU_EMU_RULES;  // a second rule that the mistake breaks too
};
class Caught : public KernelRules, public testing::WithParamInterface<Planted> {};

TEST_P(Caught, UnderManySeeds) {
  const Planted planted = GetParam();
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    xpu_emu_clear();
    xpu_emu_seed(seed);
    EXPECT_EQ(planted.code, run(planted.which));
    EXPECT_GT(xpu_emu_violations_of(planted.rule), 0);
    const int also = planted.also == XPU_EMU_RULES ? 0 : xpu_emu_violations_of(planted.also);
    EXPECT_EQ(xpu_emu_violations() - also, xpu_emu_violations_of(planted.rule))
        << xpu_emu_violation(0);
    if (planted.code) {
      EXPECT_EQ(-XPUERR_ABNORMAL, xpu_wait());
    }
    xpu_emu_reset_device(0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Misuses, Caught,
    testing::Values(
#ifndef XPU_EMU_NO_HOOKS
        Planted{Misuse::read_before_fence, XPU_EMU_READ_BEFORE_FENCE, 0},
        Planted{Misuse::wrong_fence, XPU_EMU_READ_BEFORE_FENCE, 0},
        Planted{Misuse::shared_no_barrier, XPU_EMU_SHARED_RACE, 0},
        Planted{Misuse::shared_no_fence, XPU_EMU_READ_BEFORE_FENCE, 0, XPU_EMU_SHARED_RACE},
        Planted{Misuse::shared_reuse_no_barrier, XPU_EMU_SHARED_RACE, 0},
        Planted{Misuse::scalar_read, XPU_EMU_SCALAR_GLOBAL, -XPUERR_KEXCEPTION},
        Planted{Misuse::scalar_write, XPU_EMU_SCALAR_GLOBAL, -XPUERR_KEXCEPTION},
        Planted{Misuse::vector_store_no_fence, XPU_EMU_READ_BEFORE_FENCE, 0},
        Planted{Misuse::writes_to_host, XPU_EMU_HOST_ACCESS, 0},
#endif
        Planted{Misuse::write_arriving, XPU_EMU_WRITE_BEFORE_FENCE, 0},
        Planted{Misuse::overwrite_leaving, XPU_EMU_WRITE_BEFORE_FENCE, 0},
        Planted{Misuse::barrier_for_fence, XPU_EMU_WRITE_BEFORE_FENCE, 0},
        Planted{Misuse::written_twice, XPU_EMU_GLOBAL_RACE, 0},
        Planted{Misuse::read_other_core, XPU_EMU_GLOBAL_RACE, 0},
        Planted{Misuse::read_own_write_in_flight, XPU_EMU_READ_BEFORE_FENCE, 0},
        Planted{Misuse::divergent_barrier, XPU_EMU_DIVERGENT_BARRIER, -XPUERR_KEXCEPTION},
        Planted{Misuse::out_of_bounds, XPU_EMU_BOUNDS, -XPUERR_KEXCEPTION},
        Planted{Misuse::size_zero, XPU_EMU_DMA_SIZE, -XPUERR_KEXCEPTION},
        Planted{Misuse::size_too_large, XPU_EMU_DMA_SIZE, -XPUERR_KEXCEPTION},
        Planted{Misuse::host_pointer, XPU_EMU_WRONG_SPACE, -XPUERR_KEXCEPTION},
        Planted{Misuse::local_of_other_core, XPU_EMU_WRONG_SPACE, -XPUERR_KEXCEPTION,
                XPU_EMU_HOST_ACCESS},
        Planted{Misuse::too_much_local, XPU_EMU_LM_BUDGET, 0},
        Planted{Misuse::unaligned_vector, XPU_EMU_UNALIGNED_SIMD, -XPUERR_KEXCEPTION},
        Planted{Misuse::pending_at_exit, XPU_EMU_PENDING_AT_EXIT, 0}));

TEST_F(KernelRules, BarriersOrderOnlyTheirOwnCluster) {
  EXPECT_EQ(0, run(Misuse::none_shared, 2));  // both clusters write the same 64 floats
  EXPECT_GT(xpu_emu_violations_of(XPU_EMU_GLOBAL_RACE), 0);
}

TEST_F(KernelRules, AnInjectedKernelFaultIsSticky) {
  xpu_emu_fail_kernel(2);
  EXPECT_EQ(0, run(Misuse::none));
  EXPECT_EQ(-XPUERR_KEXCEPTION, run(Misuse::none));
  EXPECT_EQ(-XPUERR_ABNORMAL, launch_misuse(Misuse::none, 1, 64, nullptr, y, x, count));
  EXPECT_EQ(-XPUERR_ABNORMAL, xpu_wait());
}

TEST_F(KernelRules, LaunchLimits) {
  for (auto [clusters, cores] : {std::pair{0, 64}, {256, 64}, {1, 0}, {1, 65}})
    EXPECT_EQ(-XPUERR_INVALID_PARAM,
              launch_misuse(Misuse::none, clusters, cores, nullptr, y, x, count));
  EXPECT_EQ(0, run(Misuse::none, 255, 1));
  EXPECT_EQ(0, xpu_emu_violations());
}

TEST(HostAccess, ADeviceAddressCannotBeFollowedByTheHost) {
  void* p = nullptr;
  ASSERT_EQ(0, xpu_malloc(&p, 64));
  EXPECT_DEATH(*static_cast<volatile char*>(p) = 1, "");
  EXPECT_EQ(0, xpu_free(p));
}
}  // namespace
