// Which candidate converts each of many tensors on the processors whose profiles we have: golden files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "backends/cpu/backend.h"
#include "backends/cpu/convert/convert.h"
#include "backends/cpu/rearrange/candidates.h"
#include "harness/choices.h"
#include "harness/operators/operator_table.h"

namespace infini::cpu {
namespace {

OperatorPlan plan_of(const std::string& text) {
  return harness::make_plan(harness::parse_operator(text));
}

// As a process on such a processor decides, with all of the instructions that it has.
TEST(ConvertChoice, IsTheGoldenOneOnEveryProfile) {
  for (const char* name : profile_names()) {
    const Machine machine = profile(name);
    const Isa isa = std::strcmp(name, "generic") == 0 ? Isa::avx2 : Isa::avx512;
    const Setting setting{machine, policy_from(machine, 2), isa};
    EXPECT_EQ("", harness::compare_choices(std::string(CONVERT_CHOICES_FOLDER "/") + name + ".txt",
                                           [&](const std::string& text) {
                                             return cheapest_convert_name(setting, plan_of(text));
                                           }));
  }
}

// Each by its name wherever it can, and what is found without making kernels is what is made.
TEST(ConvertChoice, EveryNameIsHonoured) {
  const auto device = backend.open(0);
  std::map<std::string, int> taken;
  for (const auto& text : harness::curated_operator_cases(Function::convert)) {
    const OperatorPlan plan = plan_of(text);
    if (plan.length == 0) continue;
    std::vector<BidLine> lines;
    const auto chosen = make_convert(*device, plan, {nullptr, &lines});
    EXPECT_STREQ(cheapest_convert_name(current_setting(), plan), chosen->candidate()) << text;
    for (const BidLine& line : lines) {
      const bool can = std::isfinite(line.nanoseconds);
      EXPECT_TRUE(can || !line.why_not.empty()) << line.name << " " << text;
      if (!can) continue;
      EXPECT_EQ(line.name, make_convert(*device, plan, {line.name.c_str(), nullptr})->candidate());
      ++taken[line.name];
    }
  }
  EXPECT_EQ(3u, taken.size());
}

}  // namespace
}  // namespace infini::cpu
