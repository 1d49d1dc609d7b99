// Messages that point at a character of a pattern.
#pragma once

#include <ostream>
#include <string_view>

#include "base/error.h"

namespace infini {

// "pattern 'a b', character 3: ". Of a long text only what surrounds the place.
struct PatternPlace {
  std::string_view text;
  size_t at;  // a byte
};
std::ostream& operator<<(std::ostream& out, const PatternPlace& place);

template <class... Parts>
[[noreturn]] void fail_at(std::string_view text, size_t at, const Parts&... parts) {
  fail(INFINI_STATUS_BAD_PARAM, PatternPlace{text, at}, parts...);
}

// The character that begins at this byte: more than one byte where it is not ASCII.
std::string_view character_at(std::string_view text, size_t at);

}  // namespace infini
