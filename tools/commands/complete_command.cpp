// infini complete: what may come next on a command line. The shells' completions ask it, so that names stand in one place.
#include <cstdio>

#include "harness/names.h"
#include "harness/operators/operators.h"
#include "harness/rearrange/suites.h"
#include "tools/commands.h"

namespace infini::tools {
namespace {

using Names = std::vector<std::string>;

Names first_words() {
  Names names = {"help", "--help", "--version"};
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

Names topics() {
  Names names = {"problems", "dtypes", "environment"};
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

Names suite_names() {
  Names names;
  for (const auto& suite : harness::suites()) names.emplace_back(suite.name);
  return names;
}

// What an option may have for a value; nothing for numbers and files.
Names values_of(const std::string& option) {
  if (option == "--device") return harness::device_kind_names();
  if (option == "--op") return harness::operator_names();
  if (option == "--suite") return suite_names();
  if (option == "--peer") return {"none", "torch", "torch-compiled"};
  return {};
}

bool takes_value(const Command& command, const std::string& word) {
  for (const Option& option : command.options)
    if (word == option.name) return *option.value != 0;
  return false;
}

// Behind an operator's name without quotes: the dtype, then keys.
Names problem_words(const Names& before, size_t operator_at) {
  if (before.size() == operator_at + 1) return harness::dtype_names();
  Names keys;
  for (const auto& key : harness::find_operator(before[operator_at])->keys)
    keys.push_back(key + "=");
  return keys;
}

Names behind_command(const Command& command, const Names& before, const std::string& current) {
  if (before.size() > 1 && takes_value(command, before.back())) return values_of(before.back());
  if (current.starts_with("-")) return option_names(command);
  for (size_t i = before.size(); i-- > 1;)
    if (harness::find_operator(before[i]) != nullptr) return problem_words(before, i);
  if (std::string(command.name) == "devices" || std::string(command.name) == "reshard") return {};
  Names names = harness::operator_names();
  if (std::string(command.name) == "bench")
    for (const auto& suite : suite_names()) names.push_back(suite);
  return names;
}

Names next_words(const Names& before, const std::string& current) {
  if (before.empty()) return first_words();
  if (before[0] == "help") return topics();
  const Command* const command = find_command(before[0]);
  return command == nullptr ? Names{} : behind_command(*command, before, current);
}

}  // namespace

int complete(std::vector<std::string> words) {
  const std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  for (const auto& name : next_words(words, current))
    if (name.starts_with(current)) std::printf("%s\n", name.c_str());
  return 0;
}

}  // namespace infini::tools
