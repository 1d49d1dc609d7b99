// Reading JSON strictly.
#include "file/json_cursor.h"

#include "base/error.h"

namespace infini::file {
namespace {

constexpr int max_depth = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 63));
    put(0x80 | (code >> 6 & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace

void JsonCursor::fail_here(const std::string& why) const {
  fail(INFINI_STATUS_BAD_PARAM, what_, ", byte ", at_, ": ", why);
}

void JsonCursor::spaces() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
}

bool JsonCursor::take(char c) {
  spaces();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void JsonCursor::expect(char c, const char* where) {
  if (!take(c)) fail_here(std::string("expected '") + c + "' " + where);
}

char JsonCursor::peek() {
  spaces();
  if (at_ >= text_.size()) fail_here("the text ends here");
  return text_[at_];
}

void JsonCursor::open_object() {
  expect('{', "for an object");
  if (++depth_ > max_depth) fail_here("nested too deeply");
  first_ = true;
}
void JsonCursor::open_array() {
  expect('[', "for a list");
  if (++depth_ > max_depth) fail_here("nested too deeply");
  first_ = true;
}

bool JsonCursor::next(char close) {
  if (take(close)) {
    --depth_;
    first_ = false;
    return false;
  }
  if (!first_) expect(',', "between two values");
  first_ = false;
  return true;
}
bool JsonCursor::next_item() { return next(']'); }
bool JsonCursor::next_member(std::string& key) {
  if (!next('}')) return false;
  key = string();
  expect(':', "after a key");
  return true;
}

uint32_t JsonCursor::four_digits() {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const int digit = is_digit(c)              ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) fail_here("expected four hexadecimal digits after \\u");
    code = code * 16 + static_cast<uint32_t>(digit);
  }
  return code;
}

void JsonCursor::escape(std::string& out) {
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
  ++at_;
  if (c == 'u') {
    uint32_t code = four_digits();
    if (code >= 0xd800 && code < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") fail_here("half of a surrogate pair");
      at_ += 2;
      const uint32_t low = four_digits();
      if (low < 0xdc00 || low > 0xdfff) fail_here("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      fail_here("half of a surrogate pair");
    }
    if (code == 0) fail_here("a NUL in a string");
    return append_utf8(out, code);
  }
  const size_t which = from.find(c);
  if (c == '\0' || which == from.npos) fail_here("an unknown escape");
  out += to[which];
}

// One character of more than one byte.
void JsonCursor::utf8(std::string& out) {
  const auto lead = static_cast<unsigned char>(text_[at_]);
  const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  uint32_t code = lead & (0x3fu >> more);
  bool fine = lead >= 0xc2 && lead <= 0xf4 && at_ + more < text_.size();
  for (size_t i = 1; fine && i <= more; ++i) {
    const auto byte = static_cast<unsigned char>(text_[at_ + i]);
    fine = (byte & 0xc0) == 0x80;
    code = code << 6 | (byte & 0x3fu);
  }
  constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  if (!fine || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    fail_here("this is no UTF-8");
  out.append(text_.substr(at_, more + 1));
  at_ += more + 1;
}

std::string JsonCursor::string() {
  expect('"', "for a string");
  std::string out;
  for (;;) {
    if (at_ >= text_.size()) fail_here("a string that does not end");
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      return out;
    }
    if (static_cast<unsigned char>(c) < 0x20) fail_here("a control character in a string");
    if (static_cast<unsigned char>(c) >= 0x80) {
      utf8(out);
    } else {
      ++at_;
      if (c == '\\')
        escape(out);
      else
        out += c;
    }
  }
}

int64_t JsonCursor::whole_number() {
  spaces();
  const size_t start = at_;
  const bool negative = at_ < text_.size() && text_[at_] == '-';
  if (negative) ++at_;
  if (at_ >= text_.size() || !is_digit(text_[at_])) fail_here("expected a whole number");
  if (text_[at_] == '0' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))
    fail_here("a number with a leading 0");
  int64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
    if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
        __builtin_sub_overflow(value, text_[at_] - '0', &value)) {
      at_ = start;
      fail_here("this number is too large");
    }
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
    at_ = start;
    fail_here("expected a whole number, not one with a fraction or exponent");
  }
  if (!negative && __builtin_sub_overflow(int64_t{0}, value, &value)) {
    at_ = start;
    fail_here("this number is too large");
  }
  return value;
}

void JsonCursor::skip_number() {
  const auto digits = [&] {
    if (at_ >= text_.size() || !is_digit(text_[at_])) fail_here("expected a value");
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  if (text_[at_] == '-') ++at_;
  if (at_ + 1 < text_.size() && text_[at_] == '0' && is_digit(text_[at_ + 1]))
    fail_here("a number with a leading 0");
  digits();
  if (at_ < text_.size() && text_[at_] == '.') ++at_, digits();
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
    digits();
  }
}

void JsonCursor::skip_word(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) fail_here("expected a value");
  at_ += word.size();
}

void JsonCursor::skip_value() {
  std::string key;
  switch (peek()) {
    case '{':
      for (open_object(); next_member(key);) skip_value();
      return;
    case '[':
      for (open_array(); next_item();) skip_value();
      return;
    case '"': string(); return;
    case 't': return skip_word("true");
    case 'f': return skip_word("false");
    case 'n': return skip_word("null");
    default: return skip_number();
  }
}

void JsonCursor::end() {
  spaces();
  if (at_ != text_.size()) fail_here("nothing was expected here");
}

}  // namespace infini::file
