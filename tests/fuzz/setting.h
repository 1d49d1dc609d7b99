// What a run depends on besides the problem: the forced candidate, the instruction set, the number of threads, and the
// thresholds, lowered so that small problems reach what only large ones do.
#pragma once

#include <optional>
#include <string>

#include "backends/cpu/rearrange/schedule.h"
#include "tests/fuzz/input.h"

namespace infini::fuzz {

struct Setting {
  const char* variable = "";        // by which candidates are forced
  const char* candidate = nullptr;  // null: as the library chooses
  const char* isa = nullptr;        // null: the best there is
  int threads = 1;
  std::optional<cpu::Policy> policy{};  // of rearrange; none: this machine's

  // For people: as variables of the environment, so that `infini check` runs the same, as far as they can say it.
  std::string text() const;
  void apply() const;
};

template <size_t n>
Setting choose_setting(Input& in, const char* variable, const char* const (&candidates)[n]) {
  static constexpr const char* levels[] = {nullptr, "avx2", "portable"};
  static constexpr int threads[] = {1, 2, 3, 5};
  Setting setting;
  setting.variable = variable;
  setting.candidate = in.one_of(candidates);
  const int machine = in.byte();
  setting.isa = levels[machine % 3];
  setting.threads = threads[machine / 3 % 4];
  return setting;
}

// Any thresholds.
cpu::Policy choose_policy(Input& in, int threads);

// Says what went wrong and with which problem, and ends: the fuzzer keeps the input.
[[noreturn]] void finding(const std::string& problem, const std::string& what);

// With INFINI_FUZZ_PRINT=1 every problem is printed before it runs: for one that dies.
void announce(const std::string& problem);
bool announces();

}  // namespace infini::fuzz
