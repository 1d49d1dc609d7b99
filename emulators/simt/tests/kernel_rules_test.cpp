// The rules of kernels: each misuse is caught, by its name, and the right way is not.
#include <set>

#include "fixture.h"

namespace {

class KernelRules : public EmulatorTest {
 protected:
  // What waiting for the kernel returns.
  simtError_t run(Misuse which, float* y, const float* x) {
    EXPECT_EQ(simtSuccess, launch_misuse(which, y, x, stream_));
    return simtStreamSynchronize(stream_);
  }
  void expect_fatal(Misuse which, SimtEmuRule rule, simtError_t error) {
    expect_fatal(which, y_, x_, rule, error);
  }
  void expect_fatal(Misuse which, float* y, const float* x, SimtEmuRule rule, simtError_t error) {
    EXPECT_EQ(error, run(which, y, x));
    expect_only(rule);
    EXPECT_EQ(error, simtStreamSynchronize(nullptr));  // the device stays as it is
    void* p = nullptr;
    EXPECT_EQ(error, simtMalloc(&p, 16));
  }
  void expect_recorded(Misuse which, SimtEmuRule rule) {
    EXPECT_EQ(simtSuccess, run(which, y_, x_));
    expect_only(rule);
  }
};

// Loads and stores are seen only where the compiler shows them.
#ifdef SIMT_EMU_NO_HOOKS
#define NEEDS_HOOKS GTEST_SKIP() << "a sanitizer has the compiler's hooks"
#else
#define NEEDS_HOOKS static_cast<void>(0)
#endif

TEST_F(KernelRules, TheRightWayIsRightInEveryOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    simt_emu_seed(seed);
    for (const bool early : {false, true}) {
      EXPECT_EQ(simtSuccess, simtMemset(y_, 0, buffer_bytes));
      EXPECT_EQ(simtSuccess, simtStreamSynchronize(nullptr));
      EXPECT_EQ(simtSuccess, launch_misuse(Misuse::none, y_, x_, stream_, early));
      EXPECT_EQ(simtSuccess, simtStreamSynchronize(stream_));
      EXPECT_EQ(simtSuccess, simtMemcpy(host_, y_, buffer_bytes, simtMemcpyDeviceToHost));
      for (size_t i = 0; i < misuse_floats; ++i) {
        const size_t block = i / misuse_threads * misuse_threads;
        ASSERT_EQ(static_cast<float>(2 * block + misuse_threads - 1 - i), host_[i]) << i;
      }
    }
  }
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
}

TEST_F(KernelRules, SharedMemoryNeedsABarrier) {
  NEEDS_HOOKS;
  expect_recorded(Misuse::no_barrier, SIMT_EMU_SHARED_RACE);
}
TEST_F(KernelRules, ThreadsMayShareAWordButNotAByte) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, run(Misuse::shared_words, y_, x_));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  expect_recorded(Misuse::byte_of_a_word, SIMT_EMU_SHARED_RACE);
}
TEST_F(KernelRules, AtomicAdditionsDoNotRaceButReadingTheirSumDoes) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, run(Misuse::atomic_additions, y_, x_));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  EXPECT_EQ(static_cast<float>(misuse_threads), first_of(y_));
  expect_recorded(Misuse::no_barrier_after_additions, SIMT_EMU_SHARED_RACE);
}
TEST_F(KernelRules, StagedBytesOfAnotherThreadNeedABarrierAfterTheWait) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, run(Misuse::no_barrier_after_wait, y_, x_));
  EXPECT_GT(simt_emu_violations_of(SIMT_EMU_SHARED_RACE), 0);
}
TEST_F(KernelRules, StagedBytesAreNotThereBeforeTheWait) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, run(Misuse::no_stage_wait, y_, x_));
  EXPECT_GT(simt_emu_violations_of(SIMT_EMU_READ_BEFORE_WAIT), 0);
  EXPECT_NE(static_cast<float>(misuse_threads - 1), first_of(y_));  // garbage
}
TEST_F(KernelRules, ACopyMustNotOutliveItsThread) {
  expect_recorded(Misuse::pending_at_exit, SIMT_EMU_PENDING_AT_EXIT);
}
TEST_F(KernelRules, AllThreadsMustReachABarrier) {
  expect_fatal(Misuse::divergent_barrier, SIMT_EMU_DIVERGENT_BARRIER, simtErrorLaunchFailure);
}
TEST_F(KernelRules, AccessesStayInsideAllocations) {
  NEEDS_HOOKS;
  expect_fatal(Misuse::beyond_the_end, SIMT_EMU_BOUNDS, simtErrorIllegalAddress);
}
TEST_F(KernelRules, AccessesStayBehindTheBegin) {
  NEEDS_HOOKS;
  expect_fatal(Misuse::before_the_begin, SIMT_EMU_BOUNDS, simtErrorIllegalAddress);
}
TEST_F(KernelRules, AccessesStayInsideTheBlocksSharedMemory) {
  NEEDS_HOOKS;
  expect_fatal(Misuse::beyond_shared, SIMT_EMU_BOUNDS, simtErrorIllegalAddress);
}
TEST_F(KernelRules, CopiesGoToSharedMemory) {
  expect_fatal(Misuse::stage_to_global, SIMT_EMU_BOUNDS, simtErrorIllegalAddress);
}
TEST_F(KernelRules, VectorsAreAligned) {
  NEEDS_HOOKS;
#ifdef __clang__
  GTEST_SKIP() << "clang does not check assignments of structs: the program ends instead";
#endif
  expect_fatal(Misuse::misaligned_vector, SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress);
}
TEST_F(KernelRules, WordsAreAligned) {
  NEEDS_HOOKS;
  expect_fatal(Misuse::misaligned_word, SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress);
}
TEST_F(KernelRules, StagedVectorsAreAligned) {
  expect_fatal(Misuse::misaligned_stage, SIMT_EMU_MISALIGNED, simtErrorMisalignedAddress);
}
TEST_F(KernelRules, NoByteIsWrittenByTwoThreads) {
  NEEDS_HOOKS;
  expect_recorded(Misuse::written_twice, SIMT_EMU_GLOBAL_RACE);
}
TEST_F(KernelRules, NoByteIsReadByOneAndWrittenByAnother) {
  NEEDS_HOOKS;
  expect_recorded(Misuse::read_and_written, SIMT_EMU_GLOBAL_RACE);
}

TEST_F(KernelRules, SharedMemoryBeginsAsGarbage) {
  std::set<float> seen;
  for (int round = 0; round < 8; ++round) {
    EXPECT_EQ(simtSuccess, run(Misuse::reads_shared_garbage, y_, x_));
    seen.insert(first_of(y_));
  }
  EXPECT_GT(seen.size(), 1u);
}

TEST_F(KernelRules, AnEarlyKernelWaitsBeforeItTouchesMemory) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, launch_misuse(Misuse::none, y_, x_, stream_, true, false));
  EXPECT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  expect_only(SIMT_EMU_EARLY_ACCESS);
}

TEST_F(KernelRules, MemoryOfAnotherDeviceIsOutOfReach) {
  NEEDS_HOOKS;
  float* far = nullptr;
  ASSERT_EQ(simtSuccess, simtSetDevice(1));
  ASSERT_EQ(simtSuccess, simtMalloc(as_void(&far), buffer_bytes));
  ASSERT_EQ(simtSuccess, simtSetDevice(0));
  expect_fatal(Misuse::none, far, x_, SIMT_EMU_WRONG_DEVICE, simtErrorIllegalAddress);
  ASSERT_EQ(simtSuccess, simtSetDevice(1));
  EXPECT_EQ(simtSuccess, simtFree(far));  // the other device is well
}

TEST_F(KernelRules, PageableMemoryIsOutOfReachAndPinnedMemoryIsNot) {
  NEEDS_HOOKS;
  EXPECT_EQ(simtSuccess, run(Misuse::none, y_, host_));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  std::vector<float> pageable(misuse_floats);
  EXPECT_EQ(simtErrorIllegalAddress, run(Misuse::none, pageable.data(), x_));
  expect_only(SIMT_EMU_HOST_ACCESS);
}

TEST_F(KernelRules, FreedMemoryIsOutOfReach) {
  NEEDS_HOOKS;
  float* gone = nullptr;
  ASSERT_EQ(simtSuccess, simtMallocAsync(as_void(&gone), buffer_bytes, stream_));
  EXPECT_EQ(simtSuccess, launch_misuse(Misuse::none, gone, x_, stream_));
  ASSERT_EQ(simtSuccess, simtFreeAsync(gone, stream_));
  EXPECT_EQ(simtSuccess, simtStreamSynchronize(stream_));
  EXPECT_EQ(0, simt_emu_violations()) << simt_emu_violation(0);
  expect_fatal(Misuse::none, gone, x_, SIMT_EMU_BOUNDS, simtErrorIllegalAddress);
}

}  // namespace
