// The law of reshard plans by brute force: every destination element exactly once, from the right place; nothing travels that
// need not; replicas share alike.
//   INFINI_TEST_RANDOM=10000000 reshard_test --gtest_filter=ReshardLaw.Random     the long run
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "base/error.h"
#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_plan.h"
#include "plan/reshard/reshard_text.h"

namespace infini {
namespace {

using namespace reshard_test;

// dst[...] = src[...] over a box; counts what is written.
void walk(const RankPlan& plan, const Box& box, size_t loop, int64_t dst, int64_t src,
          std::vector<int32_t>& to, const std::vector<int32_t>& from, std::vector<int>* written) {
  if (loop == box.loops) {
    to.at(static_cast<size_t>(dst)) = from.at(static_cast<size_t>(src));
    if (written != nullptr) ++written->at(static_cast<size_t>(dst));
    return;
  }
  const BoxLoop& nest = plan.loops[box.first_loop + loop];
  for (int64_t i = 0; i < nest.extent; ++i)
    walk(plan, box, loop + 1, dst + i * nest.dst_stride, src + i * nest.src_stride, to, from,
         written);
}

// The same by the rearrange plan, to which it must be equal.
void walk_bytes(const RearrangePlan& plan, int loop, int64_t dst, int64_t src, char* to,
                const char* from) {
  if (loop == plan.depth) {
    std::memcpy(to + dst, from + src, static_cast<size_t>(plan.atom_bytes));
    return;
  }
  for (int64_t i = 0; i < plan.loops[loop].extent; ++i)
    walk_bytes(plan, loop + 1, dst + i * plan.loops[loop].dst_step,
               src + i * plan.loops[loop].src_step, to, from);
}

void run(const RankPlan& plan, const Message& message, std::vector<int32_t>& to,
         const std::vector<int32_t>& from, std::vector<int>* written, bool as_bytes) {
  for (size_t i = message.first_box; i < message.first_box + message.boxes; ++i) {
    const Box& box = plan.boxes[i];
    walk(plan, box, 0, box.dst_start, box.src_start, to, from, written);
    if (!as_bytes) continue;
    std::vector<int32_t> again(to);
    const RearrangePlan bytes = plan_of(box, plan.loops.data(), INFINI_DTYPE_I32);
    walk_bytes(bytes, 0, bytes.dst_offset, bytes.src_offset, reinterpret_cast<char*>(again.data()),
               reinterpret_cast<const char*>(from.data()));
    ASSERT_EQ(again, to);
    ASSERT_EQ(moved_bytes(bytes), box.elements * 4);
  }
}

// Replicas: those with the same parts send the same, but for a sixteenth and one.
void check_shares(const Side& source, const std::vector<RankPlan>& plans) {
  std::map<std::vector<int>, std::vector<int64_t>> classes;
  for (int p = 0; p < source.places; ++p) {
    std::vector<int> parts;
    for (size_t dim = 0; dim < source.d.shape.size(); ++dim) parts.push_back(source.part(p, dim));
    int64_t sent = 0;
    for (const Message& message : plans[static_cast<size_t>(source.rank(p))].sends)
      sent += message.elements;
    classes[parts].push_back(sent);
  }
  for (const auto& [parts, sent] : classes) {
    const int64_t total = std::accumulate(sent.begin(), sent.end(), int64_t{0});
    const int64_t share = total / static_cast<int64_t>(sent.size());
    for (const int64_t one : sent) ASSERT_LE(one, share + 1 + std::max<int64_t>(share / 16, 1));
  }
}

void check_law(const ReshardPlan& plan, bool as_bytes) {
  const Side source(plan.source().distribution()), destination(plan.destination().distribution());
  const Ranks all = shards_of(plan, source, destination);
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < plan.ranks(); ++rank) plans.push_back(plan.plan_of(rank));
  std::map<std::pair<int, int>, std::vector<int32_t>> wire;
  int64_t on_wire = 0, foreign = 0;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    int last = -1;
    const RankPlan& own = plans[static_cast<size_t>(rank)];
    for (const Message& message : own.sends) {
      ASSERT_GT(message.peer, last);
      ASSERT_NE(message.peer, rank);
      ASSERT_GT(message.elements, 0);
      last = message.peer;
      auto& bytes = wire[{rank, message.peer}];
      bytes.assign(static_cast<size_t>(message.elements), -1);
      run(own, message, bytes, all.src[static_cast<size_t>(rank)], nullptr, as_bytes);
      on_wire += message.elements;
    }
  }
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const RankPlan& own = plans[static_cast<size_t>(rank)];
    const auto& expected = all.dst[static_cast<size_t>(rank)];
    std::vector<int32_t> to(expected.size(), -1);
    std::vector<int> written(expected.size(), 0);
    for (const Message& message : own.receives) {
      const auto found = wire.find({message.peer, rank});
      ASSERT_NE(found, wire.end());
      ASSERT_EQ(found->second.size(), static_cast<size_t>(message.elements));
      run(own, message, to, found->second, &written, as_bytes);
      wire.erase(found);
    }
    run(own, own.local, to, all.src[static_cast<size_t>(rank)], &written, as_bytes);
    ASSERT_EQ(to, expected) << "rank " << rank;
    ASSERT_EQ(written, std::vector<int>(expected.size(), 1)) << "rank " << rank;
    std::vector<bool> held;
    for (const int32_t value : all.src[static_cast<size_t>(rank)]) {
      if (held.size() <= static_cast<size_t>(value)) held.resize(static_cast<size_t>(value) + 1);
      held[static_cast<size_t>(value)] = true;
    }
    for (const int32_t value : expected)
      foreign += static_cast<size_t>(value) >= held.size() || !held[static_cast<size_t>(value)];
  }
  ASSERT_TRUE(wire.empty()) << "somebody sends what nobody awaits";
  ASSERT_EQ(on_wire, foreign);
  check_shares(source, plans);
}

TEST(ReshardLaw, Random) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int64_t count = wished != nullptr ? std::atoll(wished) : 200000;
  for (int64_t i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 7919 + 1));
    random.discard(3);
    const ReshardPlan plan = random_plan(random);
    EXPECT_NO_THROW(check_law(plan, i % 16 == 0));
    if (HasFailure()) {
      ADD_FAILURE() << "pair " << i << ": " << to_text(plan);
      return;
    }
    ASSERT_EQ(to_text(parse_reshard(to_text(plan))), to_text(plan));
  }
}

}  // namespace
}  // namespace infini
