// Reading through copies: when a step may, when it must not, and which copies then need not run.
#include "tensor/graph/read_through.h"

#include <gtest/gtest.h>

#include "tensor/tensor_test_support.h"
#include "tests/fake_device.h"

namespace infinicore::detail {
namespace {

// Steps on a device that captures; their tensors are the host's, since nothing runs.
class Fake : public Step {
 public:
  Fake(infini::Place& place, std::vector<Tensor> operands, bool copies)
      : Step(place, std::move(operands)), copies_(copies) {}
  void run(void*) const override {}
  std::string describe() const override { return "fake"; }
  bool is_copy() const override { return copies_; }
  std::unique_ptr<Step> reading(const std::vector<Tensor>& operands) const override {
    for (size_t i = 1; i < operands.size(); ++i)
      if (overlap(span_of(*operands[0].operator->()), span_of(*operands[i].operator->())))
        return nullptr;
    return std::make_unique<Fake>(place(), operands, copies_);
  }

 private:
  bool copies_;
};

struct FakeOperator : graph::GraphOperator {
  explicit FakeOperator(std::unique_ptr<Step> step) : step_(std::move(step)) {}
  void run() const override {}
  Step* step() const override { return step_.get(); }
  std::unique_ptr<Step> step_;
};

bool same(const Tensor& a, const Tensor& b) {
  return a->data() == b->data() && a->shape() == b->shape() && a->strides() == b->strides();
}

struct ReadThrough : testing::Test {
  void copy(const Tensor& y, const Tensor& x) { add({y, x}, true); }
  // Writes y for what it reads in a, perhaps b, and perhaps y.
  void work(std::vector<Tensor> operands) { add(std::move(operands), false); }
  void add(std::vector<Tensor> operands, bool copies, infini::Place* where = nullptr) {
    recorded.push_back(std::make_shared<FakeOperator>(
        std::make_unique<Fake>(where ? *where : place, std::move(operands), copies)));
  }
  std::vector<PlannedStep> plan() const {
    return read_through_copies(recorded, hidden_memories(recorded));
  }
  // What the last step reads.
  Tensor read(size_t operand = 1) const { return plan().back().step->operands()[operand]; }

  infini::FakeDevice device;
  infini::Place place{device};
  Operators recorded;
  const Tensor x = iota({4, 6}), turned = x->permute({1, 0}), y = iota({6, 4}), z = iota({6, 4}),
               w = iota({4, 6});
};

TEST_F(ReadThrough, ReadsTheSourceOfACopyAndOfACopyOfIt) {
  copy(y, turned);
  work({z, y});
  EXPECT_TRUE(same(read(), turned));
  EXPECT_TRUE(plan().back().step->reads_through);
  copy(w, y->permute({1, 0}));
  EXPECT_TRUE(same(read(), x));
  work({z, w->permute({1, 0})});
  EXPECT_TRUE(same(read(), turned));
}

TEST_F(ReadThrough, ReadsPartsOfCopiesAndSeveralAtOnce) {
  copy(y, turned);
  const Tensor part = y->narrow({{0, 2, 3}}), other = iota({6, 4});
  copy(z, other);
  work({w, part, y, z});
  EXPECT_TRUE(same(read(1), turned->narrow({{0, 2, 3}})));
  EXPECT_TRUE(same(read(2), turned));
  EXPECT_TRUE(same(read(3), other));
}

TEST_F(ReadThrough, EndsWhenTheSourceOrTheCopyIsWritten) {
  for (const Tensor& written :
       {x, Tensor(x->narrow({{0, 3, 1}})), y, Tensor(y->narrow({{1, 2, 1}}))}) {
    recorded.clear();
    copy(y, turned);
    work({written, w});
    work({z, y});
    EXPECT_TRUE(same(read(), y));
  }
}

TEST_F(ReadThrough, EndsWhenTheReaderWouldWriteWhatItReads) {
  copy(y, turned);
  work({x, y});  // in the place of the source
  EXPECT_TRUE(same(read(), y));
  work({z, y});
  EXPECT_TRUE(same(read(), y)) << "the source is gone";
}

TEST_F(ReadThrough, GoesBackToTheNearestCopyThatStillHolds) {
  copy(y, turned);
  copy(z, y);
  work({x->narrow({{0, 0, 1}}), w});
  work({iota({6, 4}), z});
  EXPECT_TRUE(same(read(), y));
}

TEST_F(ReadThrough, DoesNotMistakePartsForTheWhole) {
  copy(y->narrow({{0, 0, 3}}), turned->narrow({{0, 0, 3}}));
  copy(y->narrow({{0, 3, 3}}), turned->narrow({{0, 3, 3}}));
  work({z, y});
  EXPECT_TRUE(same(read(), y));
  work({z, y->narrow({{0, 4, 2}})});
  EXPECT_TRUE(same(read(), turned->narrow({{0, 4, 2}})));
  copy(y->narrow({{0, 1, 1}}), w->narrow({{0, 0, 1}, {1, 0, 4}}));  // one row of the first half
  work({z, y->narrow({{0, 0, 3}})});
  EXPECT_TRUE(same(read(), y->narrow({{0, 0, 3}})));
}

TEST_F(ReadThrough, KnowsThatCopiesOntoThemselvesAreNone) {
  copy(y, y->as_strided({6, 4}, {4, 1}));
  work({z, y});
  EXPECT_TRUE(same(read(), y));
  // All rows one further: the rows they came from are others now.
  const Tensor moved = y->narrow({{0, 1, 5}});
  copy(moved, y->narrow({{0, 0, 5}}));
  work({z->narrow({{0, 0, 5}}), moved});
  EXPECT_TRUE(same(read(), moved));
}

TEST_F(ReadThrough, NeedsTheSameType) {
  copy(y, turned);
  work({z, Tensor::from_blob(Tensor(y)->data(), {6, 4}, DataType::I32, Device::cpu())});
  EXPECT_EQ(read()->data(), y->data());
}

struct Own : graph::GraphOperator {
  void run() const override {}
};

TEST_F(ReadThrough, StopsAtOperatorsOfTheClientsOwn) {
  copy(y, turned);
  recorded.push_back(std::make_shared<Own>());
  work({z, y});
  EXPECT_TRUE(same(read(), y));
  EXPECT_TRUE(hidden_memories(recorded).empty());
}

TEST_F(ReadThrough, OfAListOnlyReplacesHiddenCopies) {
  infini::Place& host = x->memory()->place();
  add({y, turned}, true, &host);
  add({z, y}, false, &host);
  EXPECT_TRUE(same(read(), y)) << "the copy would run all the same";
  recorded.clear();
  add({iota({6, 4}), turned}, true, &host);
  add({z, recorded[0]->step()->operands()[0]}, false, &host);
  EXPECT_TRUE(same(read(), turned));
  EXPECT_TRUE(plan()[0].dropped);
}

struct DroppedCopies : ReadThrough {
  // A copy that the operators alone hold.
  Tensor hide(const Tensor& source) {
    copy(iota(source->shape()), source);
    return recorded.back()->step()->operands()[0];
  }
  std::vector<bool> dropped() const {
    std::vector<bool> result;
    for (const PlannedStep& step : plan()) result.push_back(step.dropped);
    return result;
  }
};
using Flags = std::vector<bool>;

TEST_F(DroppedCopies, AreThoseOfWhichAllReadersReadElsewhere) {
  work({z, hide(turned)});
  EXPECT_EQ(dropped(), (Flags{true, false}));
}

TEST_F(DroppedCopies, ComeInChains) {
  work({z, hide(hide(turned)->permute({1, 0}))->permute({1, 0})});
  EXPECT_EQ(dropped(), (Flags{true, true, false}));
  EXPECT_TRUE(same(read(), turned));
}

TEST_F(DroppedCopies, AreNotThoseThatSomebodyHolds) {
  const Tensor held = hide(turned);
  work({z, held});
  EXPECT_EQ(dropped(), (Flags{false, false}));
}

TEST_F(DroppedCopies, AreNotThoseOfWhichSomebodyHoldsAViewOrTheMemory) {
  const Tensor view = hide(turned)->narrow({{0, 0, 1}});
  work({z, recorded[0]->step()->operands()[0]});
  EXPECT_EQ(dropped(), (Flags{false, false}));
  recorded.clear();
  work({z, hide(turned)});
  const auto memory = recorded[0]->step()->operands()[0]->memory();
  EXPECT_EQ(dropped(), (Flags{false, false}));
}

TEST_F(DroppedCopies, AreNotThoseInForeignMemory) {
  static float blob[24];
  copy(Tensor::from_blob(blob, {6, 4}, DataType::F32, Device::cpu()), turned);
  work({z, recorded.back()->step()->operands()[0]});
  EXPECT_EQ(dropped(), (Flags{false, false}));
}

TEST_F(DroppedCopies, AreNotThoseOfAnOperatorThatCouldBeRunAlone) {
  work({z, hide(turned)});
  const auto held = recorded[1];
  EXPECT_EQ(dropped(), (Flags{false, false}));
}

TEST_F(DroppedCopies, AreNotThoseWithAReaderLeft) {
  const auto copied = [&] { return recorded[0]->step()->operands()[0]; };
  hide(turned);
  work({z, copied()});
  work({turned, copied()});  // must not read what it writes
  EXPECT_EQ(dropped(), (Flags{false, false, false}));
}

TEST_F(DroppedCopies, AreNotThoseThatNobodyEverRead) {
  hide(turned);
  work({z, w});
  EXPECT_EQ(dropped(), (Flags{false, false}));
}

TEST_F(DroppedCopies, AreThoseThatALaterCopyOverwrites) {
  for (int i = 0; i < 3; ++i) {
    copy(y, turned);
    work({iota({6, 4}), y});
  }
  EXPECT_EQ(dropped(), (Flags{true, false, true, false, false, false})) << "the last one is seen";
  copy(y->narrow({{0, 0, 5}}), turned->narrow({{0, 0, 5}}));
  EXPECT_FALSE(dropped()[4]) << "a row of it is left";
  copy(y, z);
  EXPECT_TRUE(dropped()[4]);
  EXPECT_FALSE(dropped()[6]) << "nobody ever read it";
}

TEST_F(DroppedCopies, AreNotThoseThatAreReadBeforeTheyAreOverwritten) {
  copy(y, turned);
  work({z, y});
  work({x, y});
  copy(y, z);
  EXPECT_EQ(dropped(), Flags(4, false));
  recorded.clear();
  copy(y, turned);
  work({z, y});
  recorded.push_back(std::make_shared<Own>());
  copy(y, z);
  EXPECT_EQ(dropped(), Flags(4, false)) << "the client may look";
}

TEST_F(DroppedCopies, AreNotThoseThatAnEarlierStepReads) {
  const auto operand = [&] { return recorded[0]->step()->operands()[1]; };
  work({z, iota({6, 4})});  // reads what the run before left there
  copy(operand(), turned);
  work({w, operand()});
  EXPECT_EQ(dropped(), (Flags{false, false, false}));
}

}  // namespace
}  // namespace infinicore::detail
