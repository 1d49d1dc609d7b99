// Every CPU candidate at every level of instructions against the naive reference, byte for byte.
#include <gtest/gtest.h>

#include "backends/cpu/rearrange/trial_test.h"
#include "base/threads/thread_count.h"
#include "harness/rearrange/cases.h"

namespace infini::cpu {
namespace {

const NamedPolicy cached{"cached, one thread", {1, 1 << 30, INT64_MAX}};
const NamedPolicy streamed{"streamed, one thread", {1, 1 << 30, 0}};
const NamedPolicy paired{"streamed in pairs, one thread", {1, 1 << 30, 0, 1024, 1024, 0, true}};
const NamedPolicy shared_paired{"streamed in pairs, three threads", {3, 1, 0, 1024, 1024, 0, true}};
const NamedPolicy shared{"streamed, three threads", {3, 1, 0}};
const NamedPolicy shared_cached{"cached, three threads", {3, 1, INT64_MAX}};

// Threads are slow to start: by default every problem is run by one thread at every level.
void expect_same_everywhere(const harness::RearrangeProblem& problem, bool with_threads = false) {
  Trial trial(problem);
  for (const auto& make : makes) {
    for (const Isa level : offered_levels()) {
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, cached, level));
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, streamed, level));
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, paired, level));
    }
    if (with_threads) {
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, shared, isa()));
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, shared_paired, isa()));
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, shared_cached, isa()));
    }
  }
}

class CpuRearrange : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(3); }
  void TearDown() override { set_thread_count(0); }
};

TEST_F(CpuRearrange, CuratedCases) {
  for (const auto& text : harness::curated_rearrange_cases()) {
    const auto problem = harness::parse_rearrange(text);
    if (element_count(problem.dst) > 1 << 20) continue;  // those belong to the conformance test
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(problem));
  }
}

TEST_F(CpuRearrange, KernelsSayWhatTheyDo) {
  for (const auto& text : harness::curated_rearrange_cases()) {
    const auto problem = harness::parse_rearrange(text);
    if (element_count(problem.dst) > 1 << 20) continue;
    Trial trial(problem);
    for (const auto& make : makes)
      ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, cached, isa(), [&](const Kernel& kernel) {
        EXPECT_NE("", kernel.schedule()) << text;
        EXPECT_NE("", kernel.way(trial.dst())) << text;
      }));
  }
}

TEST_F(CpuRearrange, RandomCases) {
  harness::Random random(20240611);
  for (int i = 0; i < 3000; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::random_problem(random), i % 16 == 0));
}

// Transposes around the sizes of panels, strips and lines, at every misalignment of both sides.
TEST_F(CpuRearrange, TransposesOfAllSizesAndMisalignments) {
  harness::Random random(3);
  const char* dtypes[] = {"u8", "f16", "f32", "f64", "c128"};
  for (int i = 0; i < 1500; ++i) {
    static constexpr int64_t sizes[] = {2,  3,  4,  5,  7,   8,   15,  16,  17,  31,  32,   33,
                                        48, 63, 64, 65, 100, 127, 128, 129, 200, 511, 1025, 2050};
    const int64_t rows = sizes[random.between(0, 17)], columns = sizes[random.between(0, 23)];
    const bool wide = random.one_in(2);
    char text[160];
    std::snprintf(text, sizeof text, "rearrange %s %lldx%lld perm=1,0 dst_at=%lld src_at=%lld",
                  dtypes[i % 5], static_cast<long long>(wide ? rows : columns),
                  static_cast<long long>(wide ? columns : rows),
                  static_cast<long long>(random.between(0, 64)),
                  static_cast<long long>(random.between(0, 64)));
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text)));
  }
}

// Dst misaligned by whole elements: the skewed kernels.
TEST_F(CpuRearrange, SkewedStreams) {
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const char* shape :
         {" 333x37", " 333x192"})  // 192: rows of whole lines, and so pairs of lines, too
      for (int at = 0; at <= 64; at += 1 + at % 3) {
        const std::string text =
            std::string("rearrange ") + dtype + shape + " perm=1,0 dst_at=" + std::to_string(at);
        ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text)));
      }
}

std::string text_of(const std::string& head, int64_t dst_at, int64_t src_at) {
  return head + " dst_at=" + std::to_string(dst_at) + " src_at=" + std::to_string(src_at);
}

// Every kind of run, every number of ways, lengths around whole vectors.
TEST_F(CpuRearrange, RunsOfEveryKind) {
  harness::Random random(11);
  for (const std::string dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (int64_t ways = 2; ways <= 9; ++ways)
      for (const int64_t length : {4, 20, 63, 64, 65, 129, 400}) {
        const std::string n = std::to_string(length), k = std::to_string(ways);
        const std::string apart = std::to_string(length * ways);
        const std::string head = "rearrange " + dtype + " ";
        for (const std::string& text :
             {head + n + "x" + k + " perm=1,0", head + k + "x" + n + " perm=1,0",
              head + "3x" + n + " src=" + apart + "," + k,
              head + "3x" + n + " dst=" + apart + "," + k, head + "3x" + n + " src=" + n + ",-1",
              head + "3x" + n + " src=1,0", head + "3x" + n + " src=0,1",
              head + "3x" + n + " src=0,-" + k})
          ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(
              text_of(text, random.between(0, 63), random.between(0, 63)))));
      }
}

// Runs so long that they are streamed in parts.
TEST_F(CpuRearrange, LongRunsOfEveryKind) {
  for (const auto& text : harness::long_run_cases())
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text)));
}

// Copies longer than one page group, cut and misaligned in all ways.
TEST_F(CpuRearrange, LongCopies) {
  harness::Random random(5);
  for (const char* text :
       {"rearrange u8 16384", "rearrange u8 70001", "rearrange u8 3x100003 src=100100,1",
        "rearrange f32 5x20000 src=0,1", "rearrange u8 600000"})
    for (int i = 0; i < 12; ++i)
      ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(
          harness::parse_rearrange(text_of(text, random.between(0, 63), random.between(0, 63))),
          true));
}

// One loop by one loop and small: no tables of offsets.
TEST_F(CpuRearrange, SmallTransposes) {
  for (const std::string dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const int rows : {1, 5, 16, 63, 64, 65, 100, 200})
      for (const int columns : {64, 65, 100, 255, 256})
        for (const char* batch : {"", "3x"}) {
          const std::string perm = *batch == 0 ? " perm=1,0" : " perm=0,2,1";
          ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(
              harness::parse_rearrange("rearrange " + dtype + " " + batch + std::to_string(rows) +
                                       "x" + std::to_string(columns) + perm + " dst_at=3")));
        }
  for (const char* text :
       {"rearrange f32 16x16x16 perm=2,1,0", "rearrange f32 2x3x20x17 perm=1,0,3,2",
        "rearrange f64 3x2x4x9x8 perm=2,0,1,4,3", "rearrange f16 2x33x2x34 perm=2,0,3,1"})
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text), true));
}

// So many that threads share them whole: one loop of them and several, of one loop by one loop and not.
TEST_F(CpuRearrange, BatchesOfSmallTransposes) {
  for (const char* text :
       {"rearrange f64 40x8x80 perm=0,2,1", "rearrange f32 29x16x16 perm=0,2,1 dst_at=4",
        "rearrange u8 7x5x66x70 perm=0,1,3,2", "rearrange f16 5x6x33x40 perm=1,0,3,2",
        "rearrange f32 9x3x4x20x17 perm=1,0,2,4,3", "rearrange f16 4x7x3x33x2x34 perm=1,0,2,5,3,4",
        "rearrange c128 50x5x7 perm=0,2,1", "rearrange u8 64x3x160x2 perm=0,3,1,2"})
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text), true));
}

TEST_F(CpuRearrange, LayoutsThatKernelsAreMadeFor) {
  for (const auto& text : harness::layout_cases())
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text), true));
}

}  // namespace
}  // namespace infini::cpu
