// Reading problem texts.
#include "harness/text.h"

#include <charconv>
#include <set>

#include "base/error.h"
#include "harness/suggest.h"

namespace infini::harness {

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = text.find_first_not_of(" \t\n", i);
    if (begin == std::string_view::npos) break;
    i = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.emplace_back(text.substr(begin, i - begin));
  }
  return words;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

int64_t parse_integer(std::string_view text, std::string_view what) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(error != std::errc::result_out_of_range, INFINI_STATUS_BAD_PARAM, what, ": ", text,
          " does not fit into 64 bits");
  require(error == std::errc() && end == text.data() + text.size(), INFINI_STATUS_BAD_PARAM, what,
          ": \"", text, "\" is not a whole number");
  return value;
}

std::vector<int64_t> parse_integers(std::string_view text, char separator, std::string_view what) {
  std::vector<int64_t> numbers;
  if (text.empty()) return numbers;
  for (const auto& part : split(text, separator)) numbers.push_back(parse_integer(part, what));
  return numbers;
}

std::vector<size_t> parse_shape(std::string_view text) {
  std::vector<size_t> shape;
  if (text == "scalar") return shape;
  for (const int64_t extent : parse_integers(text, 'x', "shape (dims joined by x, as in 2x3)")) {
    require(extent >= 0, INFINI_STATUS_BAD_TENSOR_SHAPE, "shape: ", extent, " is negative");
    shape.push_back(static_cast<size_t>(extent));
  }
  return shape;
}

void require_keys_once(const std::vector<std::string>& words) {
  std::set<std::string> keys;
  for (const auto& word : words) {
    const size_t end = word.find('=');
    require(end == std::string::npos || keys.insert(word.substr(0, end)).second,
            INFINI_STATUS_BAD_PARAM, "\"", word, "\": ", word.substr(0, end), " is given twice");
  }
}

int64_t parse_misalignment(std::string_view text, std::string_view what) {
  const int64_t bytes = parse_integer(text, what);
  require(bytes >= 0 && bytes < 4096, INFINI_STATUS_BAD_PARAM, what, " is ", bytes,
          "; expected 0..4095");
  return bytes;
}

std::string did_you_mean_key(std::string_view word, const std::vector<std::string>& keys) {
  const std::string name = nearest_name(word.substr(0, word.find('=')), keys);
  return name.empty() ? "" : " (did you mean \"" + name + "=\"?)";
}

bool take_key(std::string_view word, std::string_view key, std::string_view& value) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') return false;
  value = word.substr(key.size() + 1);
  return true;
}

std::string join(const std::vector<int64_t>& numbers, char separator) {
  std::string text;
  for (const int64_t number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

}  // namespace infini::harness
