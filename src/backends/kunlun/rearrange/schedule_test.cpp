// The law of schedules: walking the tiles as a kernel does moves exactly the plan's bytes, each
// once, and no tile leaves its buffers. The walk here is written anew, from tile.h's words alone.
#include "backends/kunlun/rearrange/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "harness/rearrange/cases.h"
#include "harness/rearrange/padded_problems.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/suites.h"

namespace infini::kunlun {
namespace {

using Pairs = std::map<int64_t, int64_t>;  // dst byte -> src byte

void add_atoms(const RearrangePlan& plan, int level, int64_t dst, int64_t src, Pairs& out) {
  if (level == plan.depth) {
    for (int64_t i = 0; i < plan.atom_bytes; ++i) out[dst + i] = src + i;
    return;
  }
  const Loop& loop = plan.loops[level];
  for (int64_t i = 0; i < loop.extent; ++i)
    add_atoms(plan, level + 1, dst + i * loop.dst_step, src + i * loop.src_step, out);
}

// One tile: a buffer that remembers which src byte each of its bytes came from.
class TileWalk {
 public:
  TileWalk(const Schedule& schedule, int64_t dst, int64_t src, Pairs& out)
      : schedule_(schedule), a_(schedule.arguments), dst_(dst), src_(src), out_(out) {}

  void walk(int64_t index) {
    for (int i = a_.depth - 1; i >= 0; --i) {
      const TileLoop& loop = a_.loops[i];
      const int64_t start = index % loop.tiles * loop.tile;
      index /= loop.tiles;
      extent_[i] = std::min<int64_t>(loop.tile, loop.extent - start);
      dst_ += start * loop.dst_step;
      src_ += start * loop.src_step;
    }
    load();
    store();
  }

 private:
  bool in_span(int i) const { return a_.span_mask >> i & 1; }

  void load() {
    int64_t span = a_.unit, bursts = 1;
    for (int i = 0; i < a_.depth; ++i) {
      const TileLoop& loop = a_.loops[i];
      const int64_t reach = (extent_[i] - 1) * loop.src_step;
      if (in_span(i))
        span += std::abs(reach), low_ += std::min<int64_t>(reach, 0);
      else if (loop.src_step != 0)
        bursts *= extent_[i];
    }
    const int64_t room = schedule_.walk == Walk::cluster_tiles ? cluster_buffer_bytes
                         : schedule_.walk == Walk::rows        ? direct_buffer_bytes
                                                               : pick_buffer_bytes;
    buffer_.assign(room, -1);
    for (int64_t n = 0; n < bursts; ++n) {
      int64_t rest = n, src = src_ + low_, local = 0;
      for (int i = a_.depth - 1; i >= 0; --i) {
        if (in_span(i) || a_.loops[i].src_step == 0) continue;
        src += rest % extent_[i] * a_.loops[i].src_step;
        local += rest % extent_[i] * a_.loops[i].local_step;
        rest /= extent_[i];
      }
      ASSERT_LE(local + span, room);
      for (int64_t i = 0; i < span; ++i) {
        ASSERT_EQ(-1, buffer_[local + i]) << "two bursts share a place";
        buffer_[local + i] = src + i;
      }
    }
  }

  void store() {
    const int first = a_.depth - a_.run_loops;
    int64_t outer = 1;
    for (int i = 0; i < first; ++i) outer *= extent_[i];
    for (int64_t n = 0; n < outer; ++n) {
      int64_t rest = n, dst = dst_, local = -low_;
      for (int i = first - 1; i >= 0; --i) {
        dst += rest % extent_[i] * a_.loops[i].dst_step;
        local += rest % extent_[i] * a_.loops[i].local_step;
        rest /= extent_[i];
      }
      for (int64_t point = 0; point < extent_[first]; point += a_.piece)
        piece(dst, local, point, std::min<int64_t>(a_.piece, extent_[first] - point));
    }
  }

  void piece(int64_t dst, int64_t local, int64_t point, int64_t count) {
    const TileLoop& first = a_.loops[a_.depth - a_.run_loops];
    ASSERT_LE(count * a_.point_bytes,
              schedule_.walk == Walk::core_tiles ? pick_buffer_bytes : core_buffer_bytes / 2);
    int64_t words = 1;
    for (int i = 0; i < a_.run_levels; ++i) words *= a_.run_counts[i];
    ASSERT_EQ(a_.point_bytes, words * a_.unit);
    int64_t at = dst + point * first.dst_step;
    if (count > 1) {
      ASSERT_EQ(first.dst_step, a_.point_bytes) << "a run is contiguous in dst";
    }
    for (int64_t k = point; k < point + count; ++k)
      for (int64_t w = 0; w < words; ++w, at += a_.unit) {
        int64_t rest = w, from = local + k * first.local_step;
        for (int i = a_.run_levels - 1; i >= 0; --i) {
          from += rest % a_.run_counts[i] * a_.run_steps[i] * a_.unit;
          rest /= a_.run_counts[i];
        }
        if (a_.direct) {
          ASSERT_EQ(from,
                    local + point * first.local_step + (k - point) * a_.point_bytes + w * a_.unit);
        }
        ASSERT_EQ(0, from % a_.unit) << "words are aligned";
        for (int64_t i = 0; i < a_.unit; ++i)
          ASSERT_TRUE(out_.emplace(at + i, buffer_.at(from + i)).second) << "written twice";
      }
  }

  const Schedule& schedule_;
  const TileArguments& a_;
  int64_t dst_, src_, low_ = 0;
  int64_t extent_[max_tile_loops] = {};
  std::vector<int64_t> buffer_;
  Pairs& out_;
};

void walk_outer(const Schedule& schedule, int level, int64_t dst, int64_t src, Pairs& out) {
  if (level == schedule.outer_depth) {
    for (int64_t i = 0; i < schedule.arguments.tiles; ++i)
      TileWalk(schedule, dst + schedule.arguments.dst_offset, src + schedule.arguments.src_offset,
               out)
          .walk(i);
    return;
  }
  const Loop& loop = schedule.outer[level];
  for (int64_t i = 0; i < loop.extent; ++i)
    walk_outer(schedule, level + 1, dst + i * loop.dst_step, src + i * loop.src_step, out);
}

void expect_law(const RearrangePlan& plan, int clusters) {
  Pairs expected;
  add_atoms(plan, 0, plan.dst_offset, plan.src_offset, expected);
  for (Walk walk : {Walk::rows, Walk::cluster_tiles, Walk::core_tiles}) {
    const Schedule schedule = make_schedule(plan, walk, clusters);
    Pairs moved;
    walk_outer(schedule, 0, 0, 0, moved);
    ASSERT_EQ(expected, moved) << walk_name(walk) << ": " << to_string(schedule) << "\n"
                               << to_string(plan);
    EXPECT_GE(schedule.cores, 1);
    EXPECT_LE(schedule.clusters, clusters);
  }
}

RearrangePlan plan_of(const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  return make_rearrange_plan(problem.dst, problem.src);
}

TEST(Schedule, MovesEveryByteOnceForRandomLayouts) {
  harness::Random random(8);
  int moving = 0;
  for (int n = 0; n < 250 && !HasFatalFailure(); ++n) {
    const auto problem = harness::random_mixed_problem(random, 16, 16 << 10);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    if (plan.atom_bytes == 0) continue;
    ++moving;
    expect_law(plan, static_cast<int>(random.between(1, 12)));
  }
  EXPECT_GT(moving, 150);
}

TEST(Schedule, MovesEveryByteOnceForLayoutsThatKernelsAreMadeFor) {
  for (const std::string& text : harness::layout_cases()) {
    const RearrangePlan plan = plan_of(text);
    if (moved_bytes(plan) > 80000) continue;
    ASSERT_NO_FATAL_FAILURE(expect_law(plan, 12)) << text;
  }
}

// Every layout of the large suite, transposes of all kinds among them, is moved in long bursts on both
// sides, whichever walk is the cheapest.
TEST(Schedule, LongBursts) {
  const harness::Suite* large = harness::find_suite("large");
  ASSERT_NE(nullptr, large);
  for (const auto& one : large->cases) {
    const RearrangePlan plan = plan_of(one.problem);
    Schedule best = make_schedule(plan, Walk::rows, 12);
    for (Walk walk : {Walk::cluster_tiles, Walk::core_tiles}) {
      const Schedule other = make_schedule(plan, walk, 12);
      if (other.cost < best.cost) best = other;
    }
    EXPECT_GE(best.mean_burst, 256) << one.name << ": " << to_string(best);
  }
}

TEST(Schedule, OffsetsBeyond32Bits) {
  const Schedule schedule =
      make_schedule(plan_of("rearrange u8 5000000000x2 perm=1,0"), Walk::cluster_tiles, 12);
  EXPECT_GT(schedule.arguments.loops[0].dst_step, int64_t{1} << 32);
  int64_t points = 1;
  for (int i = 0; i < schedule.arguments.depth; ++i) points *= schedule.arguments.loops[i].extent;
  EXPECT_EQ(10000000000, points * schedule.arguments.unit);
}

}  // namespace
}  // namespace infini::kunlun
