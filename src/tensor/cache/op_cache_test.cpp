// The operator cache: whole keys, least recently used goes first, counters, capacities 0 and 1.
#include "tensor/cache/op_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "tensor/tensor_test_support.h"
#include "tests/allocation_counter.h"

namespace infinicore {
namespace {

using context::opCacheStats;
const Device cpu = Device::cpu();

struct OpCache : testing::Test {
  OpCache() { context::clearOpCache(); }
  ~OpCache() override {
    context::setOpCacheCapacity(100);
    context::clearOpCache();
  }
};

void use(Size n) { op::rearrange(iota({n, 2})->permute({1, 0})); }

TEST_F(OpCache, CountsHitsAndMisses) {
  use(3);
  use(3);
  use(4);
  EXPECT_EQ(opCacheStats().hits, 1u);
  EXPECT_EQ(opCacheStats().misses, 2u);
  EXPECT_EQ(opCacheStats().entries, 2u);
  EXPECT_EQ(opCacheStats().evictions, 0u);
}

TEST_F(OpCache, ForgetsTheLeastRecentlyUsed) {
  context::setOpCacheCapacity(2);
  EXPECT_EQ(context::opCacheCapacity(), 2u);
  use(3);
  use(4);
  use(3);
  use(5);  // 4 goes
  use(3);
  EXPECT_EQ(opCacheStats().hits, 2u);
  EXPECT_EQ(opCacheStats().evictions, 1u);
  use(4);
  EXPECT_EQ(opCacheStats().misses, 4u);
  EXPECT_EQ(opCacheStats().entries, 2u);
}

TEST_F(OpCache, OfCapacityZeroKeepsNothing) {
  use(3);
  context::setOpCacheCapacity(0);
  use(3);
  use(3);
  EXPECT_EQ(opCacheStats().hits, 0u);
  EXPECT_EQ(opCacheStats().entries, 0u);
}

// Layouts, the pattern and its sizes, and the kind of ids are what a paged copy is prepared for.
TEST_F(OpCache, KeepsPagedCopies) {
  const Tensor src = iota({5, 4, 6}), dst = iota({5, 4, 6}), turned = iota({5, 6, 4});
  const Tensor ids = Tensor::from_vector<int32_t>({3, 1});
  const auto copy = [&](const Tensor& to, std::string_view pattern, AxisSizes sizes = {}) {
    op::copy_pages_(to, {}, src, ids, pattern, sizes);
  };
  copy(dst, "");
  copy(dst, "");
  EXPECT_EQ(opCacheStats().hits, 1u);
  copy(turned, "a b -> b a");
  copy(turned, "a b -> b a");
  EXPECT_EQ(opCacheStats().hits, 2u);
  EXPECT_EQ(opCacheStats().misses, 2u);
  copy(dst, "(a b) c -> (b a) c", {{"a", 2}});
  copy(dst, "(a b) c -> (b a) c", {{"a", 1}});
  EXPECT_EQ(opCacheStats().misses, 4u);
  op::copy_pages_(dst, ids, src, {});
  EXPECT_EQ(opCacheStats().hits, 3u);  // which side has ids is no part of it
}

TEST_F(OpCache, OfCapacityOneKeepsTheLast) {
  context::setOpCacheCapacity(1);
  use(3);
  use(3);
  use(4);
  use(3);
  EXPECT_EQ(opCacheStats().hits, 1u);
  EXPECT_EQ(opCacheStats().misses, 3u);
  EXPECT_EQ(opCacheStats().entries, 1u);
}

TEST_F(OpCache, ComparesEveryPartOfTheProblemNotOnlyItsHash) {
  const Tensor t = iota({2, 3});
  infini::Place& place = t->memory()->place();
  detail::Problem problem(place, 0, {t.operator->()});
  const detail::ProblemKey key(problem);
  EXPECT_TRUE(key.matches(problem));
  const Tensor others[] = {iota({3, 2}),
                           t->permute({1, 0}),
                           iota({2, 3, 1}),
                           iota({6}),
                           t->as_strided({2, 3}, {0, 1}),
                           Tensor::zeros({2, 3}, DataType::I32, cpu)};
  for (const Tensor& other : others) {
    detail::Problem forged(place, 0, {other.operator->()});
    forged.hash = problem.hash;  // as if the hashes collided
    EXPECT_FALSE(key.matches(forged)) << other->info();
  }
  problem.options = 1;
  EXPECT_FALSE(key.matches(problem));
}

TEST_F(OpCache, IsEachThreadsOwn) {
  use(3);
  std::thread([] {
    EXPECT_EQ(opCacheStats().misses, 0u);
    use(3);
    EXPECT_EQ(opCacheStats().misses, 1u);
  }).join();
  EXPECT_EQ(opCacheStats().misses, 1u);
}

TEST_F(OpCache, AProblemThatIsRefusedIsNotKept) {
  const Tensor y = Tensor::empty({2}, DataType::F32, cpu), x = iota({3});
  EXPECT_THROW(op::rearrange_(y, x), Error);
  EXPECT_THROW(op::rearrange_(y, x), Error);
  EXPECT_EQ(opCacheStats().entries, 0u);
  EXPECT_EQ(opCacheStats().misses, 2u);
}

// Measured on an operator of a common rank; the rest of the process does not allocate meanwhile.
TEST_F(OpCache, HoldsAnOperatorInTwoKilobytes) {
  const Tensor base = iota({4096});
  const auto visit = [&](Size n) {
    const Tensor x = base->as_strided({2, 3, n, 4}, {4, 8 * Stride(n), 24, 1});
    op::rearrange_(base->as_strided({2, 3, n, 4}, {12 * Stride(n), 4 * Stride(n), 4, 1}, 2048), x);
  };
  visit(3);
  const int64_t before = infini::test::allocated_bytes();
  for (Size n = 4; n < 14; ++n) visit(n);
  EXPECT_EQ(opCacheStats().entries, 11u);
  EXPECT_LE((infini::test::allocated_bytes() - before) / 10, 2048);
}

// 10,000 problems through 100 places: bounded, and right, as the uncached run says.
TEST_F(OpCache, SurvivesTenThousandDistinctProblems) {
  const Tensor base = iota({16384});
  std::vector<float> cached, uncached;
  const auto visit = [&](int i, std::vector<float>& results) {
    const Size rows = 1 + static_cast<Size>(i % 100), cols = 1 + static_cast<Size>(i / 100);
    const Tensor x = base->as_strided({rows % 40 + 1, cols % 40 + 1, 2},
                                      {static_cast<Stride>(rows), static_cast<Stride>(cols), 1});
    const std::vector<float> values = elements(op::rearrange(x));
    float sum = 0;
    for (size_t k = 0; k < values.size(); ++k) sum += values[k] * static_cast<float>(k % 17 + 1);
    results.push_back(sum);
  };
  for (int i = 0; i < 10000; ++i) visit(i, cached);
  EXPECT_LE(opCacheStats().entries, 100u);
  EXPECT_GE(opCacheStats().evictions, 9000u);
  context::setOpCacheCapacity(0);
  for (int i = 0; i < 10000; ++i) visit(i, uncached);
  EXPECT_EQ(cached, uncached);
}

}  // namespace
}  // namespace infinicore
