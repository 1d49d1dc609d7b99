// Reading JSON strictly, value by value, without a tree: what a header of a file may hold is known to who reads it.
//
// Strict: no byte order mark, no comments, no trailing commas, valid UTF-8, no control characters in strings, no NUL, whole
// numbers exact over all of int64. Every failure is BAD_PARAM and names the byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace infini::file {

class JsonCursor {
 public:
  // `what` is named by errors: "model.safetensors: header".
  JsonCursor(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  // for (open_object(); next_member(key);) value...
  void open_object();
  bool next_member(std::string& key);
  void open_array();
  bool next_item();

  std::string string();
  int64_t whole_number();  // no fraction, no exponent
  void skip_value();       // of any kind
  char peek();             // the first character of the next value
  void end();              // nothing but spaces may follow
  [[noreturn]] void fail_here(const std::string& why) const;

 private:
  void spaces();
  bool take(char c);
  void expect(char c, const char* where);
  bool next(char close);
  void escape(std::string& out);
  uint32_t four_digits();
  void utf8(std::string& out);
  void skip_number();
  void skip_word(std::string_view word);

  std::string_view text_;
  std::string what_;
  size_t at_ = 0;
  bool first_ = false;  // a list was just opened
  int depth_ = 0;
};

}  // namespace infini::file
