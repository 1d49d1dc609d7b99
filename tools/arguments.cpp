// Command line arguments.
#include "tools/arguments.h"

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "harness/names.h"
#include "harness/operators/operators.h"
#include "harness/suggest.h"
#include "harness/text.h"
#include "infinirt.h"
#include "runtime/registry.h"
#include "tools/commands.h"

namespace infini::tools {
namespace {

// A pattern that stands in quotes of its own behind an unquoted problem.
bool is_pattern(const std::string& word) {
  return word.find("->") != std::string::npos && !word.starts_with("rearrange ");
}

bool names_operator(const std::string& word) { return harness::find_operator(word) != nullptr; }

}  // namespace

bool Arguments::take_flag(const std::string& name) {
  const auto found = std::find(words_.begin(), words_.end(), name);
  if (found == words_.end()) return false;
  words_.erase(found);
  return true;
}

std::string Arguments::take_value(const std::string& name, const std::string& otherwise) {
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    if (word->starts_with(name + "=")) {
      const std::string value = word->substr(name.size() + 1);
      words_.erase(word);
      return value;
    }
    if (*word != name) continue;
    require(word + 1 != words_.end(), INFINI_STATUS_BAD_PARAM, name, " needs a value");
    const std::string value = *(word + 1);
    words_.erase(word, word + 2);
    return value;
  }
  return otherwise;
}

std::string Arguments::take_optional_value(const std::string& name, const std::string& left_out) {
  const auto found = std::find(words_.begin(), words_.end(), name);
  if (found == words_.end()) return take_value(name, "");
  const auto next = found + 1;
  const bool given = next != words_.end() && !next->starts_with("--") && !names_operator(*next) &&
                     next->find(' ') == std::string::npos;
  if (given) return take_value(name, "");
  words_.erase(found);
  return left_out;
}

int64_t Arguments::take_integer(const std::string& name, int64_t otherwise, int64_t least,
                                int64_t most) {
  const std::string text = take_value(name, "");
  if (text.empty()) return otherwise;
  const int64_t value = harness::parse_integer(text, name);
  require(value >= least, INFINI_STATUS_BAD_PARAM, name, " is ", value, "; expected at least ",
          least);
  require(value <= most, INFINI_STATUS_BAD_PARAM, name, " is ", value, "; expected at most ", most);
  return value;
}

infiniDevice_t Arguments::take_device(int* id) {
  const std::string name = take_value("--device", "cpu");
  const auto parts = harness::split(name, ':');
  require(parts.size() <= 2, INFINI_STATUS_BAD_PARAM, "--device is \"", name,
          "\"; expected NAME or NAME:ID");
  const infiniDevice_t kind = harness::parse_device_kind(parts[0]);
  const int64_t number = parts.size() > 1 ? harness::parse_integer(parts[1], "--device") : 0;
  require(number >= 0 && number <= INT32_MAX, INFINI_STATUS_BAD_PARAM, "--device: there is no ",
          name);
  if (id != nullptr) *id = static_cast<int>(number);
  require_success(infinirtSetDevice(kind, static_cast<int>(number)));
  return kind;
}

std::string Arguments::take_operator() {
  const std::string name = take_value("--op", "rearrange");
  const auto names = harness::operator_names();
  std::string list;
  for (const auto& each : names) list += (list.empty() ? "" : " ") + each;
  if (!names_operator(name))
    fail(INFINI_STATUS_BAD_PARAM, "--op is \"", name, "\"", harness::did_you_mean(name, names),
         "; expected one of ", list);
  return name;
}

// Those of the command were taken already.
void Arguments::refuse_option(const std::string& word) const {
  const std::string name = word.substr(0, word.find('='));
  const auto known = option_names(command_);
  const bool twice = std::find(known.begin(), known.end(), name) != known.end();
  require(!twice, INFINI_STATUS_BAD_PARAM, name,
          " is given twice, or with a value it does not take");
  fail(INFINI_STATUS_BAD_PARAM, name, " is not an option of `infini ", command_.name, "`",
       harness::did_you_mean(name, known), "; see `infini help ", command_.name, "`");
}

std::vector<std::string> Arguments::rest() const {
  for (const auto& word : words_)
    if (word.starts_with("--")) refuse_option(word);
  std::vector<std::string> joined;
  bool inside = false;  // an unquoted problem
  for (const std::string& word : words_) {
    if (names_operator(word))
      inside = true;
    else if (inside && (word.find(' ') == std::string::npos || is_pattern(word))) {
      joined.back() += " " + word;
      continue;
    }
    joined.push_back(word);
  }
  return joined;
}

std::vector<std::string> words_of(const Arguments& arguments, size_t least, size_t most,
                                  const char* expected) {
  std::vector<std::string> words = arguments.rest();
  require(words.size() >= least && words.size() <= most, INFINI_STATUS_BAD_PARAM, "expected ",
          expected, "; got ", words.size(), words.size() == 1 ? " word" : " words");
  return words;
}

std::string printable(const std::string& text, bool lines) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() &&  // U+0080 to U+009F
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if ((c >= ' ' && c != 0x7f && !c1) || (lines && c == '\n')) {
      result += text[i];
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x",
                  c1 ? static_cast<unsigned char>(text[++i]) : c);
    result += escaped;
  }
  return result;
}

void Arguments::require_none() const {
  for (const auto& word : rest())
    fail(INFINI_STATUS_BAD_PARAM, "\"", word, "\" is not understood here; see `infini help ",
         command_.name, "`");
}

void require_success(infiniStatus_t status) {
  require(status == INFINI_STATUS_SUCCESS, status, infiniGetLastErrorString());
}

void print_complaints() {
  for (const auto& line : library_complaints()) std::printf("environment: %s\n", line.c_str());
}

}  // namespace infini::tools
