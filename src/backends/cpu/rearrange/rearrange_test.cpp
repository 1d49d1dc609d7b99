// Every CPU candidate at every level of instructions against the naive reference, byte for byte.
#include <gtest/gtest.h>

#include "backends/cpu/rearrange/trial_test.h"
#include "base/thread_count.h"
#include "harness/cases.h"

namespace infini::cpu {
namespace {

const NamedPolicy cached{"cached, one thread", {1, 1 << 30, INT64_MAX}};
const NamedPolicy streamed{"streamed, one thread", {1, 1 << 30, 0}};
const NamedPolicy paired{"streamed in pairs, one thread", {1, 1 << 30, 0, 1024, 1024, 0, true}};
const NamedPolicy shared_paired{"streamed in pairs, three threads", {3, 1, 0, 1024, 1024, 0, true}};
const NamedPolicy shared{"streamed, three threads", {3, 1, 0}};

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
  for (const std::string dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const char* shape :
         {"2x40001 src=40001,-1", "2x20001 src=40003,2", "2x9001 dst=27010,3", "20001x3 perm=1,0",
          "20032x3 perm=1,0", "9024x2 perm=1,0", "5x9024x4 perm=2,0,1", "3x20001 perm=1,0",
          "9001x7 perm=1,0", "2x20001 src=1,0"})
      for (const int64_t at : {0, 16, 48})
        ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(
            harness::parse_rearrange(text_of("rearrange " + dtype + " " + shape, at, 7))));
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

TEST_F(CpuRearrange, MediumPermutations) {
  for (
      const char* text :
      {"rearrange f32 40x50x60 perm=2,1,0", "rearrange f32 40x50x60 perm=2,0,1",
       "rearrange f16 4x100x8x64 perm=0,2,3,1", "rearrange f16 4x100x8x64 perm=0,2,1,3",
       "rearrange f32 8x8x8x8x8x8 perm=5,4,3,2,1,0", "rearrange u8 4x3x100x100 perm=0,2,3,1",
       "rearrange u8 4x100x100x3 perm=0,3,1,2", "rearrange f32 300x24 perm=1,0",
       "rearrange u8 24x3000 perm=1,0", "rearrange f32 5x3001 perm=1,0",
       "rearrange f32 200x300 dst=1,200 src=-300,-1", "rearrange f64 77x1301 dst=1,80 src=1310,1",
       "rearrange f32 2000x513 perm=1,0", "rearrange f16 1500x1030 perm=1,0",
       "rearrange u8 2112x1152 perm=1,0", "rearrange u8 1201x2051 perm=1,0",
       "rearrange f16 1088x2304 perm=1,0", "rearrange u8 2112x300 dst=1,2112 src=-320,1",
       // One tile of small words to a panel, of two lines and of four.
       "rearrange u8 1024x128 perm=1,0", "rearrange f16 1000x64 perm=1,0",
       "rearrange u8 640x256 perm=1,0", "rearrange f16 2x640x4x128 perm=0,2,3,1",
       "rearrange u8 641x257 perm=1,0",
       // Pairs of lines: all panels whole, the last one a line, a part of one, or a line and a part.
       "rearrange u8 1024x1152 perm=1,0", "rearrange u8 1088x640 perm=1,0",
       "rearrange f16 1056x1024 perm=1,0", "rearrange f32 1024x1072 perm=1,0",
       "rearrange f32 2x528x64 perm=0,2,1", "rearrange f64 504x520 perm=1,0",
       "rearrange c128 260x288 perm=1,0", "rearrange f32 296x500 dst=1,304",
       "rearrange f32 312x500 dst=1,320", "rearrange u8 700x300 dst=1,704",
       "rearrange f32 3001x320 perm=1,0", "rearrange f16 2501x320 perm=1,0",
       "rearrange u8 2601x320 perm=1,0",
       // Rows that join in dst within its lines: a few at a time, all, of one row of src, and longer than a buffer.
       "rearrange f32 32x20x25 perm=1,0,2", "rearrange f16 48x7x353 perm=1,0,2",
       "rearrange u8 33x64x70 perm=1,0,2", "rearrange f16 2000x35 src=40,1",
       "rearrange u8 97x100 src=0,1", "rearrange f32 17x5x300 perm=1,0,2",
       "rearrange f32 32x300x5x25 dst=37500,125,25,1 src=25,4000,800,1",
       // Blocks: short rows, dimensions that dst's and src's runs share, reversed ones, gaps, and runs that go on in the next.
       "rearrange f32 9x22x133 perm=0,2,1", "rearrange f64 10x892x6 perm=1,2,0",
       "rearrange f16 4x48x12x96 perm=0,2,3,1", "rearrange u8 14x4x311x4x10 perm=4,2,1,3,0",
       "rearrange u8 12x2x93x16x16 src=1,192,6144,12,384",
       "rearrange f64 4x3x114x4x9 src=-4,24696,24,1,2744",
       "rearrange f16 5x2x18x289x10 perm=4,3,1,0,2", "rearrange u8 4x36x64x53 perm=0,2,3,1",
       "rearrange f32 4x9897 perm=1,0", "rearrange c128 3x5x501 perm=2,0,1",
       "rearrange u8 7x11x1301 dst=16920,1,13 src=14311,1301,-1",
       "rearrange f16 9x2x2001 dst=2,1,20 src=4002,2001,1",
       // Rows of fewer than 16 bytes, and of fewer than a tile has, that follow each other in src.
       "rearrange u8 3001x12 perm=1,0", "rearrange u8 2001x87 perm=1,0",
       "rearrange f16 3001x11 perm=1,0", "rearrange f16 2001x49 perm=1,0",
       "rearrange u8 3001x12 src=13,1 dst=1,3001", "rearrange f32 2001x3 src=-3,1 dst=1,2001",
       // Blocks that lie far apart: rows side by side, more than a strip of them, at all skews, with a rest.
       "rearrange f32 70x60x11 perm=1,0,2", "rearrange u8 150x600x7 perm=1,0,2 dst_at=5",
       "rearrange f16 40x600x3x2 perm=1,0,3,2",
       "rearrange f16 33x70x20 dst=20,701,1 src=1400,20,1 dst_at=6",
       "rearrange f64 65x90x5 perm=1,0,2", "rearrange f32 17x100x25 perm=1,0,2",
       "rearrange f32 40x3x50x13 dst=13,26000,520,1 src=1950,650,13,1",
       "rearrange u8 64x530x12 perm=1,0,2",
       // Rows that compete for the same sets of the cache.
       "rearrange f32 96x100 dst=1,1024 src=16384,1", "rearrange f32 80x64 dst=1,1024 src=16384,1",
       "rearrange f16 340x200 dst=1,352", "rearrange f64 75x96 dst=1,80",
       // A small src and its ends; rows of fills, flips and slices that join within lines.
       "rearrange f64 3000x3 src=0,1", "rearrange u8 2x3000x2 src=1,0,-2",
       "rearrange f64 300x51 src=0,1 src_at=24", "rearrange u8 9000x3 src=0,1",
       "rearrange f16 3000x3 src=-3,1", "rearrange f32 20x12x132 src=1,20,0",
       "rearrange u8 4x59x411 src=0,1,0", "rearrange f32 76x163 src=-167,-1 dst_at=8",
       "rearrange u8 90x2x1392 src=2784,-1,2", "rearrange f32 90x301 src=301,-1",
       "rearrange f64 90x75 src=150,2 dst_at=16", "rearrange u8 80x271 src=271,-1 dst_at=3",
       "rearrange f16 90x301x3 src=903,1,301",
       // Runs that join from task to task, a line for two of them.
       "rearrange u8 90x2x375 src=750,1,2 dst_at=5", "rearrange f32 60x3x175 src=525,1,3",
       "rearrange f16 70x4x301 src=1204,1,4 dst_at=2", "rearrange f64 20x7x223 src=1561,1,7",
       "rearrange f32 3x20x2x100 src=9000,200,1,2",
       // Short rows written again and again: all windows reach over the ends of src.
       "rearrange f32 2x900x37 src=40000,0,1", "rearrange u8 3x700x75 src=-40000,0,-1",
       // Blocks that are written again and again, the first from src.
       "rearrange f64 9x1301 src=0,3", "rearrange f16 4x30x8x101 src=1,0,408,4 dst_at=6",
       "rearrange u8 40x9x230 src=0,-1,9", "rearrange f32 7x9x400 src=1,0,7 src_at=4",
       // Rows that share lines of src, a piece of each in turns; pieces that end with lines; short rows that lie apart.
       "rearrange u8 2x50001x3 src=3,6,1", "rearrange f32 4x10001x3 src=-3,12,1 dst_at=4",
       "rearrange f16 10x3001x16 src=16,160,1", "rearrange u8 12x3001x44 src=44,528,1",
       "rearrange u8 8x30030 src=1,8 dst_at=5", "rearrange f16 7x20011 src=1,7",
       "rearrange u8 5x20011 src=-1,-6", "rearrange f64 22x301x16 src=80,-1792,1",
       // Atoms of all sizes that are put together in blocks, reversed, too, and words with gaps between them.
       "rearrange u8 200x130x3 perm=1,0,2", "rearrange u8 130x200x3 src=-3,390,1 dst_at=7",
       "rearrange u8 90x80x5 perm=1,0,2", "rearrange f16 70x90x3 perm=1,0,2 dst_at=2",
       "rearrange u8 90x70x7 src=7,630,1", "rearrange f32 60x70x3 perm=1,0,2",
       "rearrange u8 50x60x35 perm=1,0,2", "rearrange f32 20x50x9 perm=1,0,2 dst_at=20",
       "rearrange u8 30x40x17 perm=1,0,2", "rearrange f32 7x40x9x43 perm=1,2,0,3",
       "rearrange u8 12x301x44 src=44,528,1", "rearrange u8 20x30x200 perm=1,0,2",
       "rearrange f16 8x6x3001 src=14,1,112", "rearrange u8 11x2x5001 src=4,1,44",
       "rearrange f32 54x3x701 src=5003,1,7", "rearrange u8 7x9001 src=-1,23"})
    ASSERT_NO_FATAL_FAILURE(expect_same_everywhere(harness::parse_rearrange(text), true));
}

}  // namespace
}  // namespace infini::cpu
