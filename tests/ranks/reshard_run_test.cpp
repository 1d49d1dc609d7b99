// Reshardings that really move: ranks are threads, and each rank's shard is compared with what it should hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"
#include "tests/ranks/check_run.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::check_run;

TEST(ReshardRun, RandomPairsArrive) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 400;
  constexpr size_t pieces[] = {4, 12, 64, 1 << 20}, stagings[] = {1, 256, 1 << 24};
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 104729 + 5));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    if (plan.ranks() > 16) continue;
    check_run(plan, pieces[i % 4], stagings[i % 3], i % 2 == 0);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ReshardRun, LargeOnesGoInPieces) {
  check_run(parse_reshard("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)"),
            64 << 10, 256 << 10, false);
  check_run(parse_reshard("i32 1000x1003 (2x2: cyclic:7,cyclic:5) -> (4: replicate,block)"),
            100 << 10, 1, false);
}

TEST(ReshardRun, RandomPairsArriveThroughSharedMemory) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 200;
  constexpr size_t sizes[] = {100, 80 << 10,
                              1 << 20};  // too little for anything, just enough, ample
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 15485863 + 11));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    if (plan.ranks() > 16) continue;
    const auto here = static_cast<unsigned>(random()) | 1;
    check_run(plan, 64, 1 << 24, i % 2 == 0, {sizes[i % 3], i % 4 == 0 ? ~0u : here});
    if (HasFatalFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ReshardRun, LargeOnesGoThroughLittleSharedMemory) {
  check_run(parse_reshard("i32 1000x1003 (4: block,replicate) -> perm=1,0 (4: block,replicate)"),
            64 << 10, 256 << 10, false, {32 << 10});
  check_run(parse_reshard("i32 1000x1003 (2x2: cyclic:7,cyclic:5) -> (4: replicate,block)"),
            100 << 10, 1, false, {128 << 10, 0b1011});
}

// What joint pieces are made of, and what just is not: one and several numbers of pieces, more runs than one go with another.
TEST(ReshardRun, ColumnsOfManyBecomeRows) {
  for (const char* text :
       {"i32 4000x32 (4: replicate,block) -> (4: block,replicate)",
        "i32 401x32 (4: replicate,block) -> (4: block,replicate)",
        "i32 400x30 (4: replicate,block) -> (4: block,replicate)",
        "i32 400x4 (4 ranks 3,2,1,0: replicate,block) -> (4: block,replicate)",
        "i32 400x64 (8: replicate,cyclic:2) -> (8: block,replicate)",
        "i32 6x40x48 (2x4: block,replicate,block) -> (2x4: block,block,replicate)",
        "i32 64x400 (4: block,replicate) -> perm=1,0 (4: block,replicate)",
        "i32 400x24 (2x3: replicate,block@1) -> (2x3: block@0+1,replicate)"})
    for (const size_t bytes : {16 << 10, 256 << 10}) {
      check_run(parse_reshard(text), 4096, 1 << 24, false, {bytes});
      check_run(parse_reshard(text), 4096, 1 << 24, true, {bytes});
      if (HasFatalFailure()) FAIL() << text << ", " << bytes << " bytes";
    }
}

// "f16 4096x11008 (...) -> (...)" with i32 and every extent by so much less.
std::string smaller(const std::string& text, int by) {
  std::istringstream words(text);
  std::string dtype, extents, rest, made = "i32 ";
  words >> dtype >> extents;
  std::getline(words, rest);
  std::istringstream each(extents);
  for (std::string extent; std::getline(each, extent, 'x');)
    made += std::to_string(std::stoi(extent) / by) + "x";
  made.pop_back();
  return made + rest;
}

TEST(ReshardRun, TheExamplesOfThePageMove) {
  std::ifstream page(RESHARD_PAGE);
  int examples = 0;
  bool here = false;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("## ", 0) == 0) here = line == "## Three examples";
    const size_t begin = line.find('`'), end = line.find('`', begin + 1);
    if (!here || end == std::string::npos || line.find("->") > end) continue;
    const std::string text = line.substr(begin + 1, end - begin - 1);
    (void)parse_reshard(text);  // as it stands there
    const ReshardPlan plan = parse_reshard(smaller(text, 8));
    ++examples;
    for (const size_t bytes : {0, 1 << 20}) check_run(plan, 4096, 1 << 24, false, {bytes});
    ASSERT_FALSE(HasFatalFailure()) << text;
  }
  EXPECT_EQ(3, examples);
}

}  // namespace
}  // namespace infini
