// Which candidate is taken for each of many products on the GPUs whose models we know: golden files, the same on every
// machine.
#include <gtest/gtest.h>

#include <string>

#include "backends/nvidia/gemm/estimates.h"
#include "harness/choices.h"
#include "harness/gemm/gemm_problem.h"

namespace infini::nvidia {
namespace {

// What an H200 says of itself, and an A100.
GemmMachine h200() {
  GemmMachine machine;
  machine.capability = 90;
  machine.model.processors = 132;
  machine.model.memory_bytes_per_ns = 4916;
  machine.model.matrix_flops_per_ns = 1070e3, machine.model.vector_flops_per_ns = 66.9e3;
  return machine;
}
GemmMachine a100() {
  GemmMachine machine;
  machine.capability = 80;
  machine.model.processors = 108;
  machine.model.memory_bytes_per_ns = 1555;
  machine.model.matrix_flops_per_ns = 312e3, machine.model.vector_flops_per_ns = 19.5e3;
  return machine;
}

std::string choose(const GemmMachine& machine, const std::string& text) {
  const auto p = harness::parse_gemm(text);
  return cheapest_gemm(machine, fold_batch(make_gemm_plan(p.c, p.a, p.b)));
}

TEST(GemmChoice, IsTheGoldenOneOnAnH200) {
  EXPECT_EQ("", harness::compare_choices(GEMM_CHOICES_FOLDER "/h200.txt",
                                         [](const auto& text) { return choose(h200(), text); }));
}

TEST(GemmChoice, IsTheGoldenOneOnAnA100) {
  EXPECT_EQ("", harness::compare_choices(GEMM_CHOICES_FOLDER "/a100.txt",
                                         [](const auto& text) { return choose(a100(), text); }));
}

// Without the library, too, everything has somebody who can.
TEST(GemmChoice, NeverHasNobody) {
  for (const char* text : {"gemm f32 m=1 n=1 k=1", "gemm f64 m=3 n=5000 k=7 a=t c=t",
                           "gemm bf16 m=100 n=100 k=100 a=300,3"}) {
    const auto p = harness::parse_gemm(text);
    EXPECT_LT(estimate_generic(h200(), make_gemm_plan(p.c, p.a, p.b)).nanoseconds, 1e12) << text;
  }
}

}  // namespace
}  // namespace infini::nvidia
