// Writing JSON.
#include "base/json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace infini {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];  // the shortest that reads back as this number, whatever the locale
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string json_array(const std::vector<std::string>& items) {
  const char* const between = items.size() > 1 ? ",\n " : "";
  std::string text = items.size() > 1 ? "[\n " : "[";
  for (size_t i = 0; i < items.size(); ++i) text += (i ? between : "") + items[i];
  return text + (items.size() > 1 ? "\n]" : "]");
}

JsonObject& JsonObject::add_json(std::string_view key, const std::string& json) {
  if (!members_.empty()) members_ += ", ";
  members_ += json_string(key) + ": " + json;
  return *this;
}

JsonObject& JsonObject::add_all(const JsonObject& other) {
  members_ += (members_.empty() || other.members_.empty() ? "" : ", ") + other.members_;
  return *this;
}

}  // namespace infini
