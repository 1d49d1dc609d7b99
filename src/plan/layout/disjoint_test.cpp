// The overlap test against brute force, and its answer beyond the work limit.
#include "plan/layout/disjoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/rearrange/random_problems.h"

namespace infini {
namespace {

bool brute_force(const std::vector<Dim>& dims) {
  std::vector<int64_t> places{0};
  for (const Dim& dim : dims) {
    std::vector<int64_t> next;
    for (int64_t i = 0; i < dim.extent; ++i)
      for (const int64_t place : places) next.push_back(place + i * dim.step);
    places = std::move(next);
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

TEST(Disjoint, AgreesWithBruteForce) {
  harness::Random random(3);
  int disjoint = 0, undecided = 0;
  constexpr int rounds = 60000;
  for (int n = 0; n < rounds; ++n) {
    std::vector<Dim> dims(static_cast<size_t>(random.between(0, 5)));
    for (Dim& dim : dims) dim = {random.between(1, 6), 4 * random.between(0, 40)};
    const Disjoint answer = are_disjoint(dims.data(), static_cast<int>(dims.size()), 4);
    undecided += answer == Disjoint::undecided;
    if (answer == Disjoint::undecided) continue;
    const bool expected = brute_force(dims);
    ASSERT_EQ(expected, answer == Disjoint::yes);
    disjoint += expected;
  }
  EXPECT_GT(disjoint, rounds / 20);
  EXPECT_LT(disjoint, rounds - rounds / 20);
  EXPECT_EQ(0, undecided);
}

TEST(Disjoint, NestedLayoutsOfAnySizeAreDecided) {
  std::vector<Dim> dims;
  for (int i = 0; i < 60; ++i) dims.push_back({2, int64_t{1} << i});
  EXPECT_EQ(Disjoint::yes, are_disjoint(dims.data(), 60, 1));
  dims[10].extent = 3;
  EXPECT_EQ(Disjoint::no, are_disjoint(dims.data(), 60, 1));
}

TEST(Disjoint, LargeInterleavedPairIsDecided) {
  // Steps p, q of two dims are disjoint exactly when extents stay below q and p (coprime).
  const Dim apart[] = {{1000002, 1000003}, {1000003, 1000033}};
  const Dim meet[] = {{1000034, 1000003}, {1000004, 1000033}};
  EXPECT_NE(Disjoint::no, are_disjoint(apart, 2, 1));
  EXPECT_NE(Disjoint::yes, are_disjoint(meet, 2, 1));
}

}  // namespace
}  // namespace infini
