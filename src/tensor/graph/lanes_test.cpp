// The law of lanes: of two steps of which one writes what the other touches, the later waits.
#include "tensor/graph/lanes.h"

#include <gtest/gtest.h>

#include <random>

#include "tensor/tensor_test_support.h"

namespace infinicore::detail {
namespace {

class Touching : public Step {
 public:
  explicit Touching(const std::vector<Tensor>& operands, bool copies = false)
      : Step(operands[0]->memory()->place(), operands), copies_(copies) {}
  void run(void*) const override {}
  std::string describe() const override { return "touch"; }
  bool is_copy() const override { return copies_; }

 private:
  bool copies_;
};

using Steps = std::vector<std::unique_ptr<Touching>>;

std::vector<LaneStep> plan(const Steps& steps) {
  std::vector<const Step*> pointers;
  for (const auto& step : steps) pointers.push_back(step.get());
  return plan_lanes(pointers);
}

// reached[i][j]: step j is done before step i begins.
std::vector<std::vector<bool>> reached(const std::vector<LaneStep>& lanes) {
  std::vector<std::vector<bool>> before(lanes.size(), std::vector<bool>(lanes.size(), false));
  const auto add = [&](size_t i, size_t j) {
    before[i][j] = true;
    for (size_t k = 0; k < j; ++k)
      if (before[j][k]) before[i][k] = true;
  };
  for (size_t i = 0; i < lanes.size(); ++i) {
    for (const size_t wait : lanes[i].waits) add(i, wait);
    for (size_t j = i; j-- > 0;)
      if (lanes[j].lane == lanes[i].lane) {
        add(i, j);
        break;
      }
  }
  return before;
}

bool meet(const Tensor& a, const Tensor& b) {
  return overlap(span_of(*a.operator->()), span_of(*b.operator->()));
}

TEST(Lanes, KeepEveryDependenceOfRandomSteps) {
  std::mt19937 random(5);
  std::vector<Tensor> pool;
  for (int i = 0; i < 12; ++i) pool.push_back(iota({4}));
  for (int round = 0; round < 50; ++round) {
    Steps steps;
    const auto any = [&] { return pool[random() % pool.size()]; };
    for (int i = 0; i < 40; ++i)
      steps.push_back(std::make_unique<Touching>(std::vector<Tensor>{any(), any(), any()}));
    const auto before = reached(plan(steps));
    for (size_t i = 0; i < steps.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        bool dependent = false;
        for (const Tensor& mine : steps[i]->operands())
          dependent = dependent || meet(mine, steps[j]->operands()[0]);
        for (const Tensor& theirs : steps[j]->operands())
          dependent = dependent || meet(theirs, steps[i]->operands()[0]);
        ASSERT_TRUE(!dependent || before[i][j]) << i << " needs " << j;
      }
  }
}

TEST(Lanes, OfAChainAreOneAndOfIndependentStepsMany) {
  const Tensor a = iota({4}), b = iota({4}), c = iota({4}), d = iota({4}), e = iota({4});
  Steps chain, apart;
  for (int i = 0; i < 5; ++i) {
    chain.push_back(std::make_unique<Touching>(std::vector<Tensor>{b, a}));
    chain.push_back(std::make_unique<Touching>(std::vector<Tensor>{a, b}));
  }
  for (const LaneStep& step : plan(chain)) {
    EXPECT_EQ(step.lane, 0u);
    EXPECT_TRUE(step.waits.empty());
  }
  for (const Tensor& t : {b, c, d, e})
    apart.push_back(std::make_unique<Touching>(std::vector<Tensor>{t, a}));
  const auto lanes = plan(apart);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(lanes[i].lane, i);
}

// A copy of every result must not push the results from their lane.
TEST(Lanes, TheLongestWayStaysInOneLane) {
  const Tensor scratch = iota({4});
  Tensor last = iota({4});
  Steps steps;
  for (int i = 0; i < 5; ++i) {
    const Tensor next = iota({4});
    steps.push_back(std::make_unique<Touching>(std::vector<Tensor>{scratch, last}, true));
    steps.push_back(std::make_unique<Touching>(std::vector<Tensor>{next, last}));
    last = next;
  }
  const auto lanes = plan(steps);
  for (size_t i = 1; i < 10; i += 2) {
    EXPECT_EQ(lanes[i].lane, lanes[1].lane);
    EXPECT_TRUE(lanes[i].waits.empty()) << i;
    EXPECT_NE(lanes[i - 1].lane, lanes[1].lane);
  }
}

TEST(Lanes, WorkspacesThatStepsShareKeepThemApart) {
  const Tensor a = iota({4}), b = iota({4}), c = iota({4});
  Steps steps;
  steps.push_back(std::make_unique<Touching>(std::vector<Tensor>{b, a}));
  steps.push_back(std::make_unique<Touching>(std::vector<Tensor>{c, a}));
  const auto workspace = context::allocateHostMemory(64);
  for (auto& step : steps) step->set_workspace(workspace);
  EXPECT_EQ(plan(steps)[1].lane, 0u);
}

}  // namespace
}  // namespace infinicore::detail
