// Graphs: what is recorded, what is kept, what a replay does and what it leaves alone.
#include "infinicore/graph/graph.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "infiniop.h"
#include "tensor/tensor_test_support.h"
#include "tests/allocation_counter.h"

namespace infinicore {
namespace {

using context::startGraphRecording;
using context::stopGraphRecording;

struct Graph : testing::TestWithParam<Device> {
  const Device device = GetParam();
  ~Graph() override {
    if (context::isGraphRecording()) context::cancelGraphRecording();
  }
};

void overwrite(const Tensor& t, float first) {
  Tensor(t)->copy_from(iota(t->shape(), Device::cpu(), first));
}

TEST_P(Graph, RunsNothingUntilItIsRun) {
  const Tensor x = iota({2, 3}, device);
  startGraphRecording();
  EXPECT_TRUE(context::isGraphRecording());
  const Tensor y = Tensor::zeros({3, 2}, DataType::F32, device);
  op::rearrange_(y, x->permute({1, 0}));
  const auto graph = stopGraphRecording();
  EXPECT_FALSE(context::isGraphRecording());
  EXPECT_EQ(graph->size(), 2u);
  overwrite(y, 50);
  EXPECT_EQ(elements(y)[0], 50);
  graph->run();
  EXPECT_EQ(elements(y), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_P(Graph, ReadsItsInputsAtEachRun) {
  const Tensor x = iota({4}, device);
  startGraphRecording();
  const Tensor y = op::rearrange(x);
  const auto graph = stopGraphRecording();
  overwrite(x, 10);
  graph->run();
  EXPECT_EQ(elements(y), (std::vector<float>{10, 11, 12, 13}));
  overwrite(x, 20);
  graph->run();
  EXPECT_EQ(elements(y), (std::vector<float>{20, 21, 22, 23}));
}

// A temporary that only the graph knows, and an input whose tensor is gone: others must not get
// their memory while the graph lives.
TEST_P(Graph, KeepsTemporariesAndInputsAlive) {
  std::shared_ptr<graph::Graph> graph;
  Tensor out;
  {
    const Tensor x = iota({64, 64}, device);
    startGraphRecording();
    const Tensor temporary = op::rearrange(x->permute({1, 0}));
    out = op::rearrange(temporary->permute({1, 0}));
    graph = stopGraphRecording();
  }
  std::vector<Tensor> others;
  for (int i = 0; i < 8; ++i) others.push_back(Tensor::zeros({64, 64}, DataType::F32, device));
  graph->run();
  EXPECT_EQ(elements(out), elements(iota({64, 64})));
  for (const Tensor& other : others) EXPECT_EQ(elements(other), std::vector<float>(64 * 64));
}

TEST_P(Graph, GivesItsMemoryBackWhenItIsGone) {
  const auto before = context::memoryStats(device).in_use_bytes;
  {
    startGraphRecording();
    op::rearrange(Tensor::ones({100}, DataType::F32, device));
    const auto graph = stopGraphRecording();
    EXPECT_GT(context::memoryStats(device).in_use_bytes, before);
    graph->run();
  }
  EXPECT_EQ(context::memoryStats(device).in_use_bytes, before);
}

TEST_P(Graph, ZerosAndOnesAreMadeAtEachRun) {
  startGraphRecording();
  const Tensor zeros = Tensor::zeros({2}, DataType::F32, device);
  const Tensor ones = Tensor::ones({2}, DataType::F32, device);
  const auto graph = stopGraphRecording();
  for (int i = 0; i < 2; ++i) {
    overwrite(zeros, 5);
    overwrite(ones, 5);
    graph->run();
    EXPECT_EQ(elements(zeros), (std::vector<float>{0, 0}));
    EXPECT_EQ(elements(ones), (std::vector<float>{1, 1}));
  }
}

TEST_P(Graph, CopiesInPlaceThroughATemporary) {
  const Tensor t = iota({3, 3}, device);
  startGraphRecording();
  op::rearrange_(t, t->permute({1, 0}));
  const auto graph = stopGraphRecording();
  graph->run();
  EXPECT_EQ(elements(t), (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  graph->run();
  EXPECT_EQ(elements(t), elements(iota({3, 3})));
}

TEST_P(Graph, CrossesDevices) {
  const Tensor x = iota({2, 3}, device);
  startGraphRecording();
  const Tensor host = x->permute({1, 0})->to(Device::cpu());
  const Tensor back = host->permute({1, 0})->to(device);
  const auto graph = stopGraphRecording();
  overwrite(x, 7);
  graph->run();
  EXPECT_EQ(elements(back), elements(iota({2, 3}, Device::cpu(), 7)));
}

struct Callback : graph::GraphOperator {
  explicit Callback(std::function<void()> body) : body_(std::move(body)) {}
  void run() const override { body_(); }
  std::function<void()> body_;
};

TEST_P(Graph, CallsTheClientsOwnOperatorsInTheirPlace) {
  const Tensor x = iota({2}, device), y = iota({2}, device), z = iota({2}, device);
  std::vector<float> seen;
  startGraphRecording();
  op::rearrange_(y, x);
  context::addGraphOperator(std::make_shared<Callback>([&] {
    seen = elements(y);
    overwrite(y, 90);
  }));
  op::rearrange_(z, y);
  const auto graph = stopGraphRecording();
  overwrite(x, 30);
  graph->run();
  EXPECT_EQ(seen, (std::vector<float>{30, 31}));
  EXPECT_EQ(elements(z), (std::vector<float>{90, 91}));
  EXPECT_NE(graph->describe().find("3 segments"), std::string::npos) << graph->describe();
  EXPECT_NE(graph->describe().find("host: 1 operator"), std::string::npos);
}

TEST_P(Graph, PreparedOperatorsCanBeAddedByHand) {
  const Tensor x = iota({2, 2}, device), y = iota({2, 2}, device, 9);
  const auto op = std::make_shared<op::Rearrange>(y, x->permute({1, 0}));
  startGraphRecording();
  context::addGraphOperator(op);
  const auto graph = stopGraphRecording();
  EXPECT_EQ(elements(y)[0], 9);
  graph->run();
  EXPECT_EQ(elements(y), (std::vector<float>{0, 2, 1, 3}));
  overwrite(x, 4);
  op->run();
  EXPECT_EQ(elements(y), (std::vector<float>{4, 6, 5, 7}));
}

TEST_P(Graph, RebindsInputsAndOutputsIncludingViewsIntoThem) {
  const Tensor x = iota({2, 3}, device), y = iota({3, 2}, device);
  startGraphRecording();
  op::rearrange_(y, x->permute({1, 0}));
  op::rearrange_(y->narrow({{0, 0, 1}}), x->narrow({{0, 1, 1}, {1, 0, 2}}));
  const auto graph = stopGraphRecording();
  const Tensor x2 = iota({2, 3}, device, 10), y2 = iota({3, 2}, device, 70);
  graph->rebind({{x, x2}, {y, y2}});
  graph->run();
  EXPECT_EQ(elements(y2), (std::vector<float>{13, 14, 11, 14, 12, 15}));
  EXPECT_EQ(elements(y), elements(iota({3, 2}))) << "no longer written";
  graph->rebind(x2, x);
  graph->run();
  EXPECT_EQ(elements(y2), (std::vector<float>{3, 4, 1, 4, 2, 5}));
}

TEST_P(Graph, SwapsTwoTensors) {
  const Tensor x = iota({2}, device), y = iota({2}, device, 5);
  startGraphRecording();
  op::rearrange_(y, x);
  const auto graph = stopGraphRecording();
  graph->rebind({{x, y}, {y, x}});
  graph->run();
  EXPECT_EQ(elements(x), (std::vector<float>{5, 6}));
  EXPECT_EQ(elements(y), (std::vector<float>{5, 6}));
}

TEST_P(Graph, RefusesToRebindWhatDoesNotFitAndStaysAsItWas) {
  const Tensor x = iota({4, 4}, device), y = iota({4, 4}, device);
  startGraphRecording();
  op::rearrange_(y, x->permute({1, 0}));
  const auto graph = stopGraphRecording();
  const auto refused = [&](const Tensor& from, const Tensor& to) {
    return status_of([&] { graph->rebind(from, to); });
  };
  const auto bad = INFINI_STATUS_BAD_PARAM;
  EXPECT_EQ(refused(x, iota({4, 5}, device)), bad) << "another shape";
  EXPECT_EQ(refused(x, iota({4, 4}, device)->permute({1, 0})), bad) << "other strides";
  EXPECT_EQ(refused(iota({4, 4}, device), x), bad) << "not used by the graph";
  EXPECT_EQ(refused(x->narrow({{0, 0, 2}}), iota({2, 4}, device)), bad) << "only a part";
  EXPECT_EQ(refused(x, y), bad) << "would overlap";
  EXPECT_EQ(refused(x, Tensor()), INFINI_STATUS_NULL_POINTER);
  EXPECT_EQ(status_of([&] {
              graph->rebind({{x, iota({4, 4}, device)}, {x, iota({4, 4}, device, 9)}});
            }),
            bad)
      << "by two";
  graph->run();
  EXPECT_EQ(elements(y)[1], 4);
}

TEST_P(Graph, TellsWhatItReadsAndWrites) {
  const Tensor x = iota({4, 4}, device), y = iota({4, 4}, device), other = iota({4, 4}, device);
  startGraphRecording();
  op::rearrange_(y->narrow({{0, 0, 2}}), x->narrow({{0, 2, 2}}));
  const auto graph = stopGraphRecording();
  EXPECT_EQ(graph->use_of(x), graph::Use::reads);
  EXPECT_EQ(graph->use_of(x->narrow({{0, 0, 2}})), graph::Use::none) << "the rows that it skips";
  EXPECT_EQ(graph->use_of(y), graph::Use::writes);
  EXPECT_EQ(graph->use_of(other), graph::Use::none);
  using Uses = std::map<const Memory*, graph::Use>;
  EXPECT_EQ(graph->memories(), (Uses{{x->memory().get(), graph::Use::reads},
                                     {y->memory().get(), graph::Use::writes}}));
  graph->rebind(y, other);
  EXPECT_EQ(graph->use_of(y), graph::Use::none);
  EXPECT_EQ(graph->use_of(other), graph::Use::writes);
  EXPECT_EQ(graph->memories().count(y->memory().get()), 0u);
}

TEST_P(Graph, ReplaysOnTheStreamOfTheThread) {
  context::setDevice(device);
  infinirtStream_t stream = nullptr;
  ASSERT_EQ(infinirtStreamCreate(&stream), INFINI_STATUS_SUCCESS);
  const Tensor x = iota({2, 2}, device);
  startGraphRecording();
  const Tensor y = op::rearrange(x->permute({1, 0}));
  const auto graph = stopGraphRecording();
  context::setDevice(Device::cpu());
  context::setStream(device, stream);  // by name, whichever device is current
  EXPECT_EQ(context::getStream(device), stream);
  context::setDevice(device);
  EXPECT_EQ(context::getStream(), stream);
  graph->run();
  EXPECT_EQ(elements(y), (std::vector<float>{0, 2, 1, 3}));
  context::setStream(nullptr);
  context::syncDevice();
  EXPECT_EQ(infinirtStreamDestroy(stream), INFINI_STATUS_SUCCESS);
  context::setDevice(Device::cpu());
}

INSTANTIATE_TEST_SUITE_P(Devices, Graph, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return test_name(info.param); });

TEST(Recording, IsPerThreadAndSaysWhenItIsMisused) {
  const auto bad = INFINI_STATUS_BAD_PARAM;
  EXPECT_EQ(status_of([] { stopGraphRecording(); }), bad);
  EXPECT_EQ(status_of([] { context::cancelGraphRecording(); }), bad);
  EXPECT_EQ(status_of([] { context::addGraphOperator(nullptr); }), bad);
  startGraphRecording();
  EXPECT_EQ(status_of([] { startGraphRecording(); }), bad);
  EXPECT_EQ(status_of([] { context::addGraphOperator(nullptr); }), INFINI_STATUS_NULL_POINTER);
  std::thread([] {
    EXPECT_FALSE(context::isGraphRecording());
    EXPECT_EQ(elements(op::rearrange(iota({2}))), (std::vector<float>{0, 1}));
  }).join();
  const auto empty = stopGraphRecording();
  EXPECT_EQ(empty->size(), 0u);
  startGraphRecording();
  EXPECT_EQ(status_of([&] { empty->run(); }), bad) << "a graph inside a recording";
  context::cancelGraphRecording();
  empty->run();
}

TEST(Recording, CanBeCancelledAndRefusedOperatorsLeaveItWhole) {
  const Tensor x = iota({2});
  startGraphRecording();
  EXPECT_EQ(status_of([&] { op::rearrange_(iota({3}), x); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_TRUE(context::isGraphRecording());
  op::rearrange(x);
  context::cancelGraphRecording();
  EXPECT_FALSE(context::isGraphRecording());
  EXPECT_EQ(elements(op::rearrange(x)), (std::vector<float>{0, 1}));
}

TEST(Recording, PrintsWhatTensorsHoldNow) {
  startGraphRecording();
  EXPECT_EQ(toString(iota({2})), "[0, 1]");
  EXPECT_EQ(stopGraphRecording()->size(), 0u);
}

TEST(Replay, AMillionTimesGrowsNothingOnTheCpu) {
  const Tensor x = iota({4, 6});
  startGraphRecording();
  Tensor t = x;
  for (int i = 0; i < 2; ++i) t = op::rearrange(t->permute({1, 0}));
  const auto graph = stopGraphRecording();
  graph->run();
  const auto stats = context::memoryStats(Device::cpu());
  const auto lookups = context::opCacheStats();
  const int64_t before = infini::test::allocation_count();
  for (int i = 0; i < 1000000; ++i) graph->run();
  EXPECT_EQ(infini::test::allocation_count(), before);
  EXPECT_EQ(context::memoryStats(Device::cpu()).allocations, stats.allocations);
  EXPECT_EQ(context::opCacheStats().hits, lookups.hits);
  EXPECT_EQ(context::opCacheStats().misses, lookups.misses);
  EXPECT_EQ(elements(t), elements(x));
}

// The n-th allocation fails, for every n: nothing is lost, and the next try works.
TEST(Recording, SurvivesEveryFailingAllocation) {
  const Tensor x = iota({4, 6});
  const auto in_use = context::memoryStats(Device::cpu()).in_use_bytes;
  int64_t n = 0, made = 1;
  while (made >= ++n - 1) {  // until the n-th is never asked for
    context::clearOpCache();
    context::trimMemory();
    const int64_t before = infini::test::allocation_count();
    infini::test::fail_allocation(n);
    try {
      startGraphRecording();
      const Tensor y = op::rearrange(x->permute({1, 0}));
      const Tensor z = op::gemm(x, y);
      const auto graph = stopGraphRecording();
      graph->rebind(x, iota({4, 6}));
      graph->run();
    } catch (const std::bad_alloc&) {  // the test's own
    } catch (const Error&) {
    }
    infini::test::fail_allocation(0);
    made = infini::test::allocation_count() - before;
    if (context::isGraphRecording()) context::cancelGraphRecording();
    ASSERT_EQ(context::memoryStats(Device::cpu()).in_use_bytes, in_use) << n;
  }
  EXPECT_GT(n, 20);
}

// Eight threads, each with a graph of its own, and one descriptor of the C API that all of them run.
TEST(Replay, OfManyThreadsWithTheirOwnGraphsAndASharedDescriptor) {
  const Tensor x = iota({16, 16}), turned = x->permute({1, 0});
  const std::vector<float> expected = elements(turned), product = elements(op::gemm(turned, x));
  infiniopRearrangeDescriptor_t shared = nullptr;
  ASSERT_EQ(infiniopCreateRearrangeDescriptor(context::getInfiniopHandle(), &shared, x->desc(),
                                              turned->desc()),
            INFINI_STATUS_SUCCESS);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      startGraphRecording();
      const Tensor y = op::rearrange(turned);
      const Tensor z = op::gemm(y, x);
      const auto graph = stopGraphRecording();
      Tensor own = Tensor::zeros({16, 16}, DataType::F32, Device::cpu());
      for (int run = 0; run < 100; ++run) {
        graph->run();
        if (infiniopRearrange(shared, own->data(), x->data(), nullptr) != INFINI_STATUS_SUCCESS)
          return;
      }
      if (elements(y) == expected && elements(z) == product && elements(own) == expected) ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  infiniopDestroyRearrangeDescriptor(shared);
}

}  // namespace
}  // namespace infinicore
