// The law of skinny schedules, for the tests of all that use them: every (column, k) is met exactly
// once.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/gpu/gemm/skinny/schedule.h"
#include "base/checked.h"

namespace infini::gpu {

inline void expect_skinny_law(const GemmPlan& plan, const SkinnySchedule& s, int64_t columns) {
  ASSERT_TRUE(can_launch(plan, s, columns));
  const SkinnyLaunch launch = make_skinny_launch(plan, s, columns);
  const int64_t groups = ceil_div(plan.n, columns);
  ASSERT_EQ(launch.blocks, plan.batch * groups * s.parts);
  std::vector<int> visits(static_cast<size_t>(launch.blocks));
  std::vector<int64_t> depth(static_cast<size_t>(plan.batch * groups));
  for (uint32_t block = 0; block < launch.blocks; ++block) {
    const SkinnyPlace at = skinny_place(plan, launch, block);
    ASSERT_TRUE(at.batch < plan.batch && at.column < plan.n && at.part < s.parts && at.k < plan.k &&
                at.depth > 0);
    ASSERT_EQ(0, at.column % columns);
    ASSERT_EQ(at.k, at.part * s.part) << "parts follow one another";
    ++visits[static_cast<size_t>((at.batch * groups + at.column / columns) * s.parts + at.part)];
    depth[static_cast<size_t>(at.batch * groups + at.column / columns)] += at.depth;
  }
  for (const int count : visits) ASSERT_EQ(1, count) << plan;
  for (const int64_t k : depth) ASSERT_EQ(plan.k, k) << plan;
  ASSERT_LE(s.chunk, s.part);
  ASSERT_EQ(0, s.chunk % s.vector);
}

}  // namespace infini::gpu
