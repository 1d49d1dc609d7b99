// What the tests of the gemm schedules share: plans from text, and the law of their tiles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "backends/nvidia/gemm/small/schedule.h"
#include "harness/gemm/gemm_cases.h"

namespace infini::nvidia {

constexpr int processors = 132;

inline GemmPlan plan_of(const char* text) {
  const auto problem = harness::parse_gemm(text);
  return make_gemm_plan(problem.c, problem.a, problem.b);
}

// Law: every element of C lies in exactly one tile. `place_of` says where a block's tile begins.
template <class Launch, class Tile, class PlaceOf>
void expect_law(const GemmPlan& given, const Launch& launch, const Tile& tile, PlaceOf place_of) {
  const auto& s = launch.gemm;
  ASSERT_EQ(launch.swapped ? given.n : given.m, s.m);
  std::vector<int> visits(static_cast<size_t>(given.batch * s.m * s.n));
  for (uint32_t block = 0; block < launch.blocks; ++block) {
    const SmallPlace place = place_of(block);
    ASSERT_LT(place.batch, given.batch);
    for (int row = place.row; row < std::min(s.m, place.row + tile.rows); ++row)
      for (int col = place.col; col < std::min(s.n, place.col + tile.cols); ++col)
        ++visits[static_cast<size_t>((int64_t{place.batch} * s.m + row) * s.n + col)];
  }
  for (const int count : visits) ASSERT_EQ(1, count) << given;
}

}  // namespace infini::nvidia
