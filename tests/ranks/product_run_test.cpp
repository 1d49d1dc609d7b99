// Products over ranks that are really computed: ranks are threads; sums of small integers are exact in every type.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/float_formats.h"
#include "infiniproduct.h"
#include "plan/reshard/random_product_test.h"
#include "plan/reshard/reshard_text.h"
#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::InProcessNetwork;
using test::on_ranks;
using test::Outcome;

// A number as an element of the type, at an index of memory.
void put(infiniDtype_t dtype, std::vector<char>& memory, size_t at, double value) {
  const auto store = [&](auto element) {
    std::memcpy(memory.data() + at * sizeof element, &element, sizeof element);
  };
  if (dtype == INFINI_DTYPE_F64) store(value);
  if (dtype == INFINI_DTYPE_F32) store(static_cast<float>(value));
  if (dtype == INFINI_DTYPE_F16) store(f16_from_f32(static_cast<float>(value)));
  if (dtype == INFINI_DTYPE_BF16) store(bf16_from_f32(static_cast<float>(value)));
}

// A matrix of small integers by its global indexes.
struct Matrix {
  unsigned seed;
  double operator()(int64_t i, int64_t j) const {
    Random random(static_cast<unsigned>(i * 131 + j * 7 + 1) * (2 * seed + 1));
    random.discard(2);
    return below(random, 5) - 2;
  }
};

enum class Order { rows, columns, gaps };

// A rank's part in memory, elements in one of several orders.
struct Part {
  Part(infiniDtype_t dtype, const Side& side, int rank, Order order)
      : dtype(dtype),
        bytes(dtype == INFINI_DTYPE_F64   ? 8
              : dtype == INFINI_DTYPE_F32 ? 4
                                          : 2) {
    const int place = place_of(side, rank);
    if (place < 0) return;
    rows = side.indexes[0][static_cast<size_t>(side.part(place, 0))];
    columns = side.indexes[1][static_cast<size_t>(side.part(place, 1))];
    const auto m = static_cast<ptrdiff_t>(rows.size()), n = static_cast<ptrdiff_t>(columns.size());
    strides = {order == Order::columns ? 1
               : order == Order::rows  ? n
                                       : 2 * n + 3,
               order == Order::columns ? m
               : order == Order::rows  ? 1
                                       : 2};
    memory.assign(bytes * (2 * rows.size() * columns.size() + 3 * rows.size() + 8), '\x55');
  }
  void fill(const auto& value) {
    for (size_t i = 0; i < rows.size(); ++i)
      for (size_t j = 0; j < columns.size(); ++j)
        put(dtype, memory, at(i, j), value(rows[i], columns[j]));
  }
  size_t at(size_t i, size_t j) const {
    return i * static_cast<size_t>(strides[0]) + j * static_cast<size_t>(strides[1]);
  }
  void* data() { return rows.empty() || columns.empty() ? nullptr : memory.data(); }

  infiniDtype_t dtype;
  size_t bytes;
  std::vector<int64_t> rows, columns;
  std::vector<ptrdiff_t> strides = {0, 0};
  std::vector<char> memory;
};

infiniProductPlan_t plan_of_text(const std::string& text) {
  infiniProductPlan_t plan = nullptr;
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniProductCreatePlan(&plan, text.c_str()))
      << infiniGetLastErrorString();
  return plan;
}

infiniReshardOptions_t with_timeout(double seconds) {
  infiniReshardOptions_t options{};
  options.size = sizeof options;
  options.timeout = seconds;
  return options;
}

// Multiplies and compares every byte of every rank's C, gaps included, with what a plain loop gives.
void check_product(const ProductPlan& plan, Order order, double beta, bool any_thread) {
  const Side c(plan.c().distribution()), a(plan.a().distribution()), b(plan.b().distribution());
  const infiniProductPlan_t handle = plan_of_text(to_text(plan));
  const Matrix of_a{1}, of_b{2}, of_c{3};
  InProcessNetwork network(plan.ranks());
  const auto options = with_timeout(100);
  const int64_t k = a.d.shape[1];
  std::vector<std::vector<char>> got(static_cast<size_t>(plan.ranks())), wanted = got;
  const auto outcomes = on_ranks(plan.ranks(), [&](int rank) {
    const infiniDtype_t dtype = plan.dtype();
    Part pc(dtype, c, rank, order), pa(dtype, a, rank, order), pb(dtype, b, rank, order);
    pa.fill(of_a), pb.fill(of_b), pc.fill(of_c);
    infiniTransport_t transport = network.transport_of(rank);
    transport.any_thread = any_thread;
    const infiniStatus_t status =
        infiniProduct(handle, pc.data(), pc.strides.data(), pa.data(), pa.strides.data(), pb.data(),
                      pb.strides.data(), 2, beta, &transport, &options);
    got[static_cast<size_t>(rank)] = pc.memory;
    pc.fill([&](int64_t i, int64_t j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += of_a(i, l) * of_b(l, j);
      return 2 * sum + (beta == 0 ? 0 : beta * of_c(i, j));
    });
    wanted[static_cast<size_t>(rank)] = pc.memory;
    return status;
  });
  for (size_t r = 0; r < outcomes.size(); ++r) {
    ASSERT_EQ(INFINI_STATUS_SUCCESS, outcomes[r].status) << outcomes[r].words;
    ASSERT_EQ(got[r], wanted[r]) << "rank " << r;
  }
  infiniProductDestroyPlan(handle);
}

TEST(ProductRun, RandomProductsAreExact) {
  const char* wished = std::getenv("INFINI_TEST_RANDOM");
  const int count = wished != nullptr ? std::atoi(wished) : 200;
  constexpr infiniDtype_t dtypes[] = {INFINI_DTYPE_F32, INFINI_DTYPE_BF16, INFINI_DTYPE_F64,
                                      INFINI_DTYPE_F16};
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i * 6007 + 3));
    random.discard(3);
    const ProductPlan plan = random_product(random, dtypes[i % 4], 20);
    check_product(plan, static_cast<Order>(i % 3), i % 5 == 0 ? 0 : 3, i % 2 == 0);
    if (HasFatalFailure()) {
      ADD_FAILURE() << "product " << i << ": " << to_text(plan);
      return;
    }
  }
}

TEST(ProductRun, ManyPanelsOfALargerOne) {
  check_product(
      parse_product(
          "f32 130x1000 (2x2: sizes:70/60,block) * 1000x90 (2x2: balanced,block) -> (2x2: "
          "sizes:70/60,block) panel=64"),
      Order::rows, 0, true);
  check_product(
      parse_product("f32 130x1000 (2x3: block,cyclic:16) * 1000x90 (2x3: cyclic:8,block) -> (2x3: "
                    "block,block) panel=100"),
      Order::columns, 1, false);
}

// Sums of bf16 are rounded once, at the end: 256 + 1 would stay 256 if every panel were.
TEST(ProductRun, SumsOfHalvesAreRoundedOnce) {
  const infiniProductPlan_t plan = plan_of_text(
      "bf16 1x64 (1: block,replicate) * 64x1 (1: block,replicate) -> (1: block,replicate) panel=1");
  std::vector<uint16_t> a(64, bf16_from_f32(1)), b = a;
  a[0] = bf16_from_f32(256);
  uint16_t c = 0;
  InProcessNetwork network(1);
  const infiniTransport_t transport = network.transport_of(0);
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniProduct(plan, &c, nullptr, a.data(), nullptr, b.data(),
                                                 nullptr, 1, 0, &transport, nullptr));
  EXPECT_EQ(f32_from_bf16(c), 320);  // 256 + 63, to the nearest of 8 bits
  infiniProductDestroyPlan(plan);
}

class ProductFaults : public testing::Test {
 protected:
  static constexpr int ranks = 4;
  ~ProductFaults() override { infiniProductDestroyPlan(plan_); }

  infiniStatus_t multiply(InProcessNetwork& network, int rank, infiniProductPlan_t plan,
                          bool memory = true) {
    std::vector<float> a(16 * 16, 1), b = a, c = a;
    infiniTransport_t transport = network.transport_of(rank);
    transport.any_thread = rank % 2;
    const auto options = with_timeout(0.1);
    return infiniProduct(plan, memory ? c.data() : nullptr, nullptr, a.data(), nullptr, b.data(),
                         nullptr, 1, 0, &transport, &options);
  }
  static void expect_all_fail(const std::vector<Outcome>& outcomes, int except = -1) {
    for (int rank = 0; rank < ranks; ++rank)
      if (rank != except) {
        EXPECT_NE(INFINI_STATUS_SUCCESS, outcomes[static_cast<size_t>(rank)].status) << rank;
      }
  }

  infiniProductPlan_t plan_ = plan_of_text(
      "f32 32x32 (2x2: block,block) * 32x32 (2x2: block,block) -> (2x2: block,block) panel=8");
  InProcessNetwork network_{ranks};
};

TEST_F(ProductFaults, EveryLostOrShortMessageIsTold) {
  // The first two sends of a rank agree, the next eight are panels.
  for (int send = 2; send < 10; ++send) {
    InProcessNetwork network(ranks);
    network.fault = send % 3 == 0   ? InProcessNetwork::Fault::lost
                    : send % 3 == 1 ? InProcessNetwork::Fault::shortened
                                    : InProcessNetwork::Fault::refused;
    network.faulty_rank = send % ranks;
    network.faulty_send = send % 6;
    const auto outcomes = on_ranks(ranks, [&](int rank) { return multiply(network, rank, plan_); });
    expect_all_fail(outcomes);
    std::string words;
    for (const Outcome& outcome : outcomes) words += outcome.words;
    EXPECT_NE(words.find(network.faulty_send < 2 ? "c " : "incomplete"), std::string::npos)
        << words;
  }
}

TEST_F(ProductFaults, AMissingRankIsTold) {
  expect_all_fail(on_ranks(ranks,
                           [&](int rank) {
                             return rank == 3 ? INFINI_STATUS_SUCCESS
                                              : multiply(network_, rank, plan_);
                           }),
                  3);
}

TEST_F(ProductFaults, AnotherPlanIsToldBeforeAnythingIsWritten) {
  const infiniProductPlan_t other = plan_of_text(
      "f32 32x32 (2x2: block,block) * 32x32 (2x2: block,block) -> (2x2: block,block) panel=4");
  const auto outcomes = on_ranks(
      ranks, [&](int rank) { return multiply(network_, rank, rank == 2 ? other : plan_); });
  expect_all_fail(outcomes);
  EXPECT_NE(outcomes[0].words.find("c is as it was"), std::string::npos) << outcomes[0].words;
  infiniProductDestroyPlan(other);
}

TEST_F(ProductFaults, ARankWithoutMemoryIsToldToAll) {
  const auto outcomes =
      on_ranks(ranks, [&](int rank) { return multiply(network_, rank, plan_, rank != 1); });
  expect_all_fail(outcomes);
  EXPECT_NE(outcomes[1].words.find("c is NULL"), std::string::npos) << outcomes[1].words;
}

}  // namespace
}  // namespace infini
