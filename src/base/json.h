// JSON text, written member by member: what is told to programs.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace infini {

// In quotes, with what JSON forbids inside them escaped.
std::string json_string(std::string_view text);
// As many digits as bring the same number back; null for what is no number.
std::string json_number(double value);
// "[a, b]", one item a line when there is more than one.
std::string json_array(const std::vector<std::string>& items);

class JsonObject {
 public:
  // Text, a number or a truth.
  template <class Value>
  JsonObject& add(std::string_view key, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>)
      return add_json(key, value ? "true" : "false");
    else if constexpr (std::is_integral_v<Value>)
      return add_json(key, std::to_string(value));
    else if constexpr (std::is_floating_point_v<Value>)
      return add_json(key, json_number(static_cast<double>(value)));
    else
      return add_json(key, json_string(value));
  }
  // Text that is JSON already.
  JsonObject& add_json(std::string_view key, const std::string& json);

  // All members of another object.
  JsonObject& add_all(const JsonObject& other);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace infini
