// Which candidate is taken for each of many layouts on the GPUs whose models we know: golden files.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "backends/gpu/rearrange/estimates.h"
#include "harness/choices.h"
#include "harness/rearrange/problem.h"

namespace infini::gpu {
namespace {

Machine machine_of(const DeviceModel& model, const BlockLimits& limits) {
  Machine machine;
  machine.model = model;
  machine.limits = limits;
  return machine;
}

// What an H200 says of itself; what is assumed of a vendor that we know little of.
const Machine h200 = machine_of({132, 1.98, 4916, 50 << 20, 228 << 10, true, true},
                                {24 << 10, 4 << 10, 48 << 10, 8 << 10, 32});
const Machine assumed = machine_of({}, {16 << 10, 4 << 10, 32 << 10, 8 << 10, 64});

std::string choose(Machine machine, const std::string& text) {
  const auto problem = harness::parse_rearrange(text);
  const auto plan = make_rearrange_plan(problem.dst, problem.src);
  machine.max_unit = make_unit_nest(plan, vector_bytes).unit;
  return cheapest_name(machine, plan);
}

TEST(Choice, IsTheGoldenOneOnAnH200) {
  EXPECT_EQ(harness::compare_choices(CHOICES_FOLDER "/h200.txt",
                                     [](const std::string& text) { return choose(h200, text); }),
            "");
}

TEST(Choice, IsTheGoldenOneOnAVendorThatWasNeverMet) {
  EXPECT_EQ(harness::compare_choices(CHOICES_FOLDER "/assumed.txt",
                                     [](const std::string& text) { return choose(assumed, text); }),
            "");
}

// A limit may spare work, never change the choice: the cheapest below a limit is the cheapest of all.
TEST(Choice, DoesNotDependOnLimits) {
  std::ifstream file(CHOICES_FOLDER "/h200.txt");
  std::string candidate, text;
  int lines = 0;
  while (file >> candidate && std::getline(file >> std::ws, text)) {
    const auto problem = harness::parse_rearrange(text);
    const auto plan = make_rearrange_plan(problem.dst, problem.src);
    const auto whole = estimate_tiles(h200, plan, INFINITY);
    const auto limited = estimate_tiles(h200, plan, whole.nanoseconds * 1.001);
    EXPECT_EQ(whole.schedule.has_value(), limited.schedule.has_value()) << text;
    EXPECT_EQ(whole.nanoseconds, limited.nanoseconds) << text;
    ++lines;
  }
  EXPECT_GT(lines, 200);
}

}  // namespace
}  // namespace infini::gpu
