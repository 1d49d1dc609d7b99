// Elementwise and row operators on the emulated chip: faults survived, nothing leaked, what is declined told with its reason.
#include <gtest/gtest.h>

#include "cann_emulator.h"
#include "harness/operators/operator_check.h"
#include "harness/operators/operator_problem.h"
#include "infinirt.h"
#include "runtime/registry.h"

namespace infini {
namespace {

namespace emulator = cann_emulator;

class AscendOperators : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(infinirtSetDevice(INFINI_DEVICE_ASCEND, 0), INFINI_STATUS_SUCCESS)
        << infiniGetLastErrorString();
    emulator::clear_violations();
  }
  void TearDown() override {
    emulator::fail_call(0);
    for (const auto& v : emulator::violations())
      ADD_FAILURE() << v.call << " broke " << emulator::name(v.rule) << ": " << v.detail;
  }
  static harness::OperatorVerdict verdict_of(const char* text) {
    return harness::check(harness::parse_operator(text), 1, nullptr);
  }
};

// One problem of every way in which calls are put together.
constexpr const char* problems[] = {"add bf16 5x40 b_shape=40",    "swiglu f16 3x33 a=-33,1",
                                    "cast f32 7x5 x_dtype=i64",    "rms_norm f16 5x64 w_dtype=f32",
                                    "causal_softmax f32 2x4x9",    "rope bf16 5x3x16",
                                    "random_sample f16 257 topk=9"};

TEST_F(AscendOperators, SurviveEveryFailure) {
  for (const char* text : problems) {
    const emulator::Live before = emulator::live();
    int failures = 0;
    for (uint64_t nth = 1; nth < 500; ++nth) {
      emulator::fail_call(nth);
      const auto verdict = verdict_of(text);
      const bool fired = emulator::fault_fired();
      emulator::fail_call(0);
      if (!fired) break;
      if (verdict.passed) continue;  // memory that was asked for once more
      ++failures;
      EXPECT_NE(std::string::npos, verdict.message.find(": "))
          << verdict.message;  // call and words
      infinirtDeviceSynchronize();
    }
    EXPECT_GT(failures, 5) << text;
    EXPECT_TRUE(verdict_of(text).passed);
    const emulator::Live after = emulator::live();
    EXPECT_EQ(before.tensors, after.tensors) << text;
    EXPECT_EQ(before.executors, after.executors) << text;
    EXPECT_EQ(after.queued_tasks, 0u);
  }
}

TEST_F(AscendOperators, SayWhatTheyDecline) {
  const auto declined = [](const char* text) { return verdict_of(text).message; };
  for (const char* text : {"silu f64 2x3", "rms_norm f64 2x3", "causal_softmax f64 2x3"})
    EXPECT_NE(std::string::npos, declined(text).find("takes f16, bf16 and f32")) << declined(text);
  EXPECT_EQ("", declined("mul f64 2x3"));
}

}  // namespace
}  // namespace infini
