// Reshardings that really move: ranks are threads, and each rank's shard is compared with what it should hold.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "infinirt.h"
#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"
#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"
#include "tests/ranks/reshard_calls.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::InProcessNetwork;
using test::on_ranks;
using test::options_of;
using test::plan_of_text;

// The shards in memory with gaps: every element at twice its place, so that nothing lies together.
std::vector<int32_t> spread(const std::vector<int32_t>& dense) {
  std::vector<int32_t> out(2 * dense.size() + 1, -7);
  for (size_t i = 0; i < dense.size(); ++i) out[2 * i] = dense[i];
  return out;
}
std::vector<ptrdiff_t> spread_strides(const std::vector<int64_t>& shape) {
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t stride = 2;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<ptrdiff_t>(shape[i], 1);
  }
  return strides;
}

// Some ranks of a machine share memory, and some do not: by the bits of `here`.
struct Sharing {
  size_t bytes = 0;  // 0: nobody shares any
  unsigned here = ~0u;
};

void check_run(const ReshardPlan& plan, size_t piece, size_t staging, bool strided,
               const Sharing& sharing = {}) {
  const Side source(plan.source().distribution()), destination(plan.destination().distribution());
  const Ranks all = shards_of(plan, source, destination);
  const infiniReshardPlan_t handle = plan_of_text(to_text(plan));
  InProcessNetwork network(plan.ranks());
  if (sharing.bytes > 0) {
    std::vector<bool> here;
    for (int rank = 0; rank < plan.ranks(); ++rank) here.push_back(sharing.here >> rank % 32 & 1);
    network.share(sharing.bytes, here);
  }
  const auto options = options_of(piece, staging, 100);
  std::vector<std::vector<int32_t>> got(all.dst.size());
  const auto outcomes = on_ranks(plan.ranks(), [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    const auto src = strided ? spread(all.src[r]) : all.src[r];
    got[r] = std::vector<int32_t>(strided ? 2 * all.dst[r].size() + 1 : all.dst[r].size(), -7);
    const auto dst_strides = spread_strides(plan.dst_shape(rank));
    const auto src_strides = spread_strides(plan.src_shape(rank));
    const infiniTransport_t transport = network.transport_of(rank);
    const auto move = [&] {
      return infiniReshard(handle, got[r].data(), strided ? dst_strides.data() : nullptr,
                           src.data(), strided ? src_strides.data() : nullptr, &transport,
                           &options);
    };
    // Shared memory goes on from run to run.
    if (sharing.bytes > 0 && move() != INFINI_STATUS_SUCCESS) return INFINI_STATUS_INTERNAL_ERROR;
    return move();
  });
  for (size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(INFINI_STATUS_SUCCESS, outcomes[r].status) << outcomes[r].words;
    ASSERT_EQ(got[r], strided ? spread(all.dst[r]) : all.dst[r]) << "rank " << r;
  }
  infiniReshardDestroyPlan(handle);
}

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
