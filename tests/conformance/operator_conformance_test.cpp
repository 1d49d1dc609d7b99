// Conformance of every elementwise and row operator of the table: curated and random problems on the device named by
// INFINI_TEST_DEVICE, each element within the bound of harness/operators/operator_check.h. Skips with the reason when there is no
// such device, or when it has no such operators, unless INFINI_TEST_DEVICE_REQUIRED says that there must be one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/device_kind.h"
#include "harness/operators/operator_problem.h"
#include "harness/operators/operator_table.h"
#include "harness/operators/operators.h"
#include "infinirt.h"
#include "runtime/registry.h"

namespace infini {
namespace {

class OperatorConformance : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const char* const name = std::getenv("INFINI_TEST_DEVICE");
    kind_ = device_kind_from_name(name ? name : "cpu");
    ASSERT_NE(INFINI_DEVICE_TYPE_COUNT, kind_) << "INFINI_TEST_DEVICE is " << name;
    if (infinirtSetDevice(kind_, 0) != INFINI_STATUS_SUCCESS) {
      ASSERT_EQ(nullptr, std::getenv("INFINI_TEST_DEVICE_REQUIRED")) << infiniGetLastErrorString();
      GTEST_SKIP() << infiniGetLastErrorString();
    }
    if (find_backend(kind_)->kernels.operators == nullptr)
      GTEST_SKIP() << name << " has no elementwise and row operators";
  }
  const harness::OperatorRow& row() const {
    return *harness::find_operator(functions[GetParam()].name);
  }
  bool is_quick() const { return kind_ == INFINI_DEVICE_CPU || kind_ == INFINI_DEVICE_NVIDIA; }
  void expect_right(const std::string& text, uint64_t seed) {
    for (const auto& verdict : row().check(text, seed, nullptr)) {
      if (may_decline(text, verdict.message)) continue;
      ++ran_;
      ASSERT_TRUE(verdict.passed) << verdict.message;
      if (verdict.error_over_bound > worst_) worst_ = verdict.error_over_bound;
    }
  }
  // Chips without exponentials of f64 and the like may say so; docs/support.md has what is declined, and each device's own tests.
  // Whoever has an operator has it for f32; casts have two types.
  bool may_decline(const std::string& text, const std::string& message) const {
    return (kind_ == INFINI_DEVICE_ASCEND || kind_ == INFINI_DEVICE_KUNLUN) &&
           message.find("backend declines this") != std::string::npos &&
           (text.find(" f32 ") == std::string::npos || row().name == "cast");
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_GT(ran_, 8);
    }
    if (worst_ > 0) std::printf("largest error / bound: %.3f\n", worst_);
  }

 private:
  infiniDevice_t kind_{};
  double worst_ = 0;
  int ran_ = 0;  // not declined
};

// An emulator takes a second for what a chip does in a millisecond, so there only the smaller ones.
TEST_P(OperatorConformance, Curated) {
  for (const std::string& text : row().curated()) {
    const auto problem = harness::parse_operator(text);
    if (!is_quick() && element_count(problem.operands[1]) > 5000) continue;
    expect_right(text, 1);
  }
}

// INFINI_TEST_RANDOM asks for another number of problems.
TEST_P(OperatorConformance, Random) {
  const char* const wanted = std::getenv("INFINI_TEST_RANDOM");
  const int count = wanted ? std::atoi(wanted) : is_quick() ? 150 : 25;
  ASSERT_GT(count, 0);
  harness::Random random(static_cast<uint64_t>(GetParam()) + 1);
  for (int n = 0; n < count; ++n)
    expect_right(row().random(random, is_quick() && n % 30 == 0), static_cast<uint64_t>(n));
}

INSTANTIATE_TEST_SUITE_P(All, OperatorConformance, testing::Range(0, function_count),
                         [](const auto& info) { return functions[info.param].name; });

// Texts come back as they are, and what is wrong with one is said.
TEST(OperatorProblems, TextsComeBack) {
  harness::Random random(7);
  for (int i = 0; i < function_count; ++i)
    for (int n = 0; n < 30; ++n) {
      const auto text = to_text(harness::random_operator_problem(random, static_cast<Function>(i)));
      EXPECT_EQ(text, to_text(harness::parse_operator(text)));
    }
  EXPECT_EQ("rms_norm bf16 8x16", to_text(harness::parse_operator("rmsnorm bf16 8x16")));
}

TEST(OperatorProblems, WrongTextsAreRefused) {
  const auto message_of = [](const char* text) -> std::string {
    try {
      harness::operator_of(text).parse(text);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(std::string::npos, message_of("ad f32 2x3").find("did you mean \"add\""));
  EXPECT_NE(std::string::npos, message_of("add f32").find("not a whole problem"));
  EXPECT_NE(std::string::npos, message_of("add f32 2x3 w=1,2").find("not understood"));
  EXPECT_NE(std::string::npos, message_of("add f32 2x3 b=1").find("1 strides for 2 dims"));
  EXPECT_NE(std::string::npos, message_of("add f32 2x3 b_shape=4x3").find("does not become"));
  EXPECT_NE(std::string::npos, message_of("silu i32 2x3").find("expected f16"));
  EXPECT_NE(std::string::npos, message_of("rope f32 2x3 ").find("rotates"));
  EXPECT_NE(std::string::npos,
            message_of("rope f32 2x3x4 algo=gpt").find("expected gpt_j or neox"));
  EXPECT_NE(std::string::npos, message_of("add f32 2x3 in_place=c").find("in_place"));
}

TEST(OperatorsByName, AreListedAndRefuseWhatTheyAreNot) {
  size_t count = 0;
  for (; infiniopOperatorName(count) != nullptr; ++count) {
    EXPECT_NE(nullptr, infiniopOperatorAbout(infiniopOperatorName(count)));
    EXPECT_GE(infiniopOperatorOperands(infiniopOperatorName(count)), 2u);
  }
  EXPECT_EQ(static_cast<size_t>(named_count), count);
  EXPECT_EQ(nullptr, infiniopOperatorAbout("nothing"));
  EXPECT_EQ(0u, infiniopOperatorOperands(nullptr));

  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtSetDevice(INFINI_DEVICE_CPU, 0));
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t t = nullptr;
  const size_t shape[] = {2};
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateHandle(&handle));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateTensorDescriptor(&t, 1, shape, nullptr, INFINI_DTYPE_F32));
  const infiniopTensorDescriptor_t operands[] = {t, t, t};
  infiniopOperatorDescriptor_t desc = nullptr;
  const auto create = [&](const char* name, size_t number,
                          const infiniopOperatorOptions_t* options = nullptr) {
    return infiniopCreateOperatorDescriptor(handle, &desc, name, operands, number, options);
  };
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create("addd", 3));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, create(nullptr, 3));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create("add", 2));
  const infiniopOperatorOptions_t older{4, 0, INFINIOP_ROPE_ALGO_GPT_J},
      wrong{sizeof wrong, 0, INFINIOP_ROPE_ALGO_COUNT};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create("add", 3, &older));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create("add", 3, &wrong));
  EXPECT_EQ(nullptr, desc);
  // What is made by name is what its own functions know.
  ASSERT_EQ(INFINI_STATUS_SUCCESS, create("add", 3));
  float x[] = {1, 2}, y[] = {10, 20}, z[2] = {};
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopAdd(desc, nullptr, 0, z, x, y, nullptr));
  EXPECT_EQ(22, z[1]);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopMul(desc, nullptr, 0, z, x, y, nullptr));
  void* const pointers[] = {z, x, y};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRunOperator(desc, nullptr, 0, pointers, 2, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopRunOperator(desc, nullptr, 0, nullptr, 3, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopDestroyAddDescriptor(desc));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopDestroyTensorDescriptor(t));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopDestroyHandle(handle));
}

}  // namespace
}  // namespace infini
