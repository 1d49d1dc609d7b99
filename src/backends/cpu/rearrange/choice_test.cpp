// Which candidate is taken for each of many layouts on the processors whose profiles we have: golden files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "backends/cpu/backend.h"
#include "backends/cpu/rearrange/candidates.h"
#include "backends/cpu/rearrange/pins.h"
#include "harness/choices.h"
#include "harness/rearrange/cases.h"
#include "harness/rearrange/problem.h"

namespace infini::cpu {
namespace {

// As a process on such a processor decides, with all of the instructions that it has.
Setting setting_of(const Machine& machine, Isa isa, int threads) {
  return {machine, policy_from(machine, threads), isa};
}

std::string compare(const char* name, Isa isa) {
  const Machine machine = profile(name);
  const Setting setting = setting_of(machine, isa, 2);
  return harness::compare_choices(
      std::string(CHOICES_FOLDER "/") + name + ".txt", [&](const std::string& text) {
        const auto problem = harness::parse_rearrange(text);
        return cheapest_name(setting, make_rearrange_plan(problem.dst, problem.src));
      });
}

TEST(CpuChoice, IsTheGoldenOneOnEveryProfile) {
  for (const char* name : profile_names())
    EXPECT_EQ("", compare(name, std::strcmp(name, "generic") == 0 ? Isa::avx2 : Isa::avx512));
}

// A pin names a profile, a candidate that there is, and the line that shows it.
TEST(CpuChoice, PinsAreOfKnownMachines) {
  const auto names = profile_names();
  for (const Pin& pin : pins()) {
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const char* name) {
      return std::strcmp(name, pin.machine) == 0;
    })) << pin.about;
    const auto problem = harness::parse_rearrange(
        std::string(pin.shown_by, std::strchr(pin.shown_by, ':') - pin.shown_by));
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    EXPECT_STREQ(pin.candidate, pinned_candidate(pin.machine, plan)) << pin.about;
    EXPECT_EQ(nullptr, pinned_candidate("another", plan));
  }
}

// Each by its name wherever it can: nobody declines what it bid for.
TEST(CpuChoice, EveryNameIsHonoured) {
  const auto device = backend.open(0);
  std::map<std::string, int> taken;
  for (const auto& text : harness::curated_rearrange_cases()) {
    const auto problem = harness::parse_rearrange(text);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    if (plan.atom_bytes == 0) continue;
    std::vector<BidLine> lines;
    ASSERT_TRUE(make_rearrange(*device, plan, {nullptr, &lines})) << text;
    for (const BidLine& line : lines) {
      const bool can = std::isfinite(line.nanoseconds);
      EXPECT_TRUE(can || !line.why_not.empty()) << line.name << " " << text;
      if (!can) continue;
      EXPECT_EQ(line.name,
                make_rearrange(*device, plan, {line.name.c_str(), nullptr})->candidate());
      ++taken[line.name];
    }
  }
  EXPECT_EQ(7u, taken.size());
}

// A piece goes past the caches where the whole would, whatever its own size, and by whoever would take the whole.
TEST(CpuChoice, OfAPieceTheWholeCounts) {
  const auto device = backend.open(0);
  for (const char* text : {"rearrange f32 64x64", "rearrange f32 64x64 src=4096,1"}) {
    const auto problem = harness::parse_rearrange(text);
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    const auto schedule = [&](int64_t whole_bytes) {
      return make_rearrange(*device, plan, {.whole_bytes = whole_bytes})->schedule();
    };
    const auto streams = [&](int64_t whole_bytes) {
      return schedule(whole_bytes).find(", streamed") != std::string::npos;
    };
    EXPECT_FALSE(streams(0)) << schedule(0);
    EXPECT_FALSE(streams(moved_bytes(plan))) << schedule(moved_bytes(plan));
    EXPECT_TRUE(streams(int64_t{1} << 40)) << schedule(int64_t{1} << 40);
  }
}

}  // namespace
}  // namespace infini::cpu
