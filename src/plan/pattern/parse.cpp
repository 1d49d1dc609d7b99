// Reading patterns.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "plan/pattern/message.h"
#include "plan/pattern/pattern.h"

namespace infini {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // UTF-8
bool is_blank(char c) { return c != 0 && std::strchr(" \t\n\r\v\f", c) != nullptr; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

size_t characters_before(std::string_view text, size_t at) {
  size_t count = 0;
  for (size_t i = 0; i < at && i < text.size(); ++i) count += !continues(text[i]);
  return count;
}

// A side is read from left to right; it knows whether it is inside of parentheses.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) { pattern_.text = text; }

  Pattern both_sides() {
    pattern_.left = side(true);
    if (at_ >= text_.size()) fail_at(text_, text_.size(), "expected -> and a right side");
    const size_t arrow = at_;
    at_ += 2;
    pattern_.right = side(false);
    if (at_ < text_.size()) fail_at(text_, at_, "expected one -> between two sides");
    require_matching_rests(arrow);
    require_nothing_lost();
    return std::move(pattern_);
  }

  // Where sizes are asked for, _ stands for those that nobody wants.
  Pattern one_side() {
    sizes_only_ = true;
    pattern_.left = side(true);
    if (at_ < text_.size()) fail_at(text_, at_, "expected names alone, without ->");
    return std::move(pattern_);
  }

 private:
  using Groups = std::vector<Pattern::Group>;

  // Up to the arrow or the end.
  Groups side(bool left) {
    Groups groups;
    bool inside = false;
    size_t axes = 0;
    for (; skip_blanks(), at_ < text_.size() && !starts("->");) {
      const size_t begin = at_;
      if (text_[at_] == '(') {
        if (inside) fail_at(text_, at_, "parentheses do not nest");
        groups.push_back({{}, at_++});
        inside = true;
      } else if (text_[at_] == ')') {
        if (!inside) fail_at(text_, at_, "closes no parenthesis");
        inside = false;
        ++at_;
      } else {
        const Pattern::Item item = read_item(groups, left, inside);
        const bool is_one = item.axis == Pattern::number && item.size == 1;
        if (!inside) groups.push_back({{}, begin});
        if (!is_one) groups.back().items.push_back(item);
        ++axes;
      }
      if (axes > max_rank || groups.size() > max_rank)
        fail_at(text_, begin, "a side has at most ", max_rank, " axes");
    }
    if (inside) fail_at(text_, groups.back().at, "this parenthesis is not closed");
    return groups;
  }

  Pattern::Item read_item(const Groups& groups, bool left, bool inside) {
    const size_t begin = at_;
    if (is_digit(text_[at_])) return read_number(left);
    if (starts("...")) {
      if (left && inside) fail_at(text_, at_, "... stands outside of parentheses on the left");
      at_ += 3;
      require_first(groups, {Pattern::rest, 0, begin}, "...");
      return {Pattern::rest, 0, begin};
    }
    if (!starts_name(text_[at_])) {
      const std::string_view wrong = character_at(text_, at_);
      const bool printable = static_cast<unsigned char>(wrong[0]) >= 32;
      fail_at(text_, at_, "'", printable ? wrong : "?", "' is no axis, number, (, ), ... or ->");
    }
    while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    auto known = std::find(pattern_.names.begin(), pattern_.names.end(), name);
    if (sizes_only_ && name == "_") known = pattern_.names.end();
    const auto axis = static_cast<int>(known - pattern_.names.begin());
    if (known == pattern_.names.end()) pattern_.names.emplace_back(name);
    require_first(groups, {axis, 0, begin}, name);
    return {axis, 0, begin};
  }

  Pattern::Item read_number(bool left) {
    const size_t begin = at_;
    int64_t size = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
    at_ = static_cast<size_t>(end - text_.data());
    if (error != std::errc()) fail_at(text_, begin, "this number does not fit into 64 bits");
    if (at_ < text_.size() && starts_name(text_[at_]))
      fail_at(text_, begin, "a name does not begin with a digit");
    if (size == 0) fail_at(text_, begin, "an axis of 0 elements leaves nothing");
    if (left && size != 1 && !sizes_only_)
      fail_at(text_, begin, "an axis of ", size, " elements needs a name; without one it is lost");
    return {Pattern::number, size, begin};
  }

  void require_first(const Groups& groups, const Pattern::Item& item, std::string_view name) {
    for (const Pattern::Group& group : groups)
      for (const Pattern::Item& other : group.items)
        if (other.axis == item.axis) fail_at(text_, item.at, name, " stands twice on one side");
  }

  static const Pattern::Item* find(const Groups& side, int axis) {
    for (const Pattern::Group& group : side)
      for (const Pattern::Item& item : group.items)
        if (item.axis == axis) return &item;
    return nullptr;
  }

  void require_matching_rests(size_t arrow) {
    const Pattern::Item *left = find(pattern_.left, Pattern::rest),
                        *right = find(pattern_.right, Pattern::rest);
    if ((left == nullptr) != (right == nullptr))
      fail_at(text_, left ? left->at : right ? right->at : arrow, "... stands on one side only");
  }

  void require_nothing_lost() {
    for (const Pattern::Group& group : pattern_.left)
      for (const Pattern::Item& item : group.items)
        if (item.axis >= 0 && find(pattern_.right, item.axis) == nullptr)
          fail_at(text_, item.at, pattern_.names[static_cast<size_t>(item.axis)],
                  " is lost on the right; a dim of size 1 that may go is written 1");
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool starts(std::string_view token) const { return text_.substr(at_, token.size()) == token; }

  std::string_view text_;
  size_t at_ = 0;
  bool sizes_only_ = false;
  Pattern pattern_;
};

}  // namespace

std::string_view character_at(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && end < at + 4 && continues(text[end])) ++end;
  return text.substr(at, end - at);
}

std::ostream& operator<<(std::ostream& out, const PatternPlace& place) {
  constexpr size_t around = 40;
  size_t begin = 0, end = place.text.size();
  if (end > 2 * around) {
    begin = place.at > around ? std::min(place.at, end) - around : 0;
    end = std::min(end, begin + 2 * around);
    while (begin > 0 && continues(place.text[begin])) --begin;
    while (end < place.text.size() && continues(place.text[end])) ++end;
  }
  out << "pattern '" << (begin > 0 ? "..." : "");
  for (const char c : place.text.substr(begin, end - begin))
    out << (static_cast<unsigned char>(c) < 32 ? ' ' : c);
  return out << (end < place.text.size() ? "..." : "") << "', character "
             << characters_before(place.text, place.at) + 1 << ": ";
}

Pattern parse_pattern(std::string_view text) { return Reader(text).both_sides(); }
Pattern parse_side(std::string_view text) { return Reader(text).one_side(); }

bool has_axis(const Pattern& pattern, std::string_view name) {
  return std::find(pattern.names.begin(), pattern.names.end(), name) != pattern.names.end();
}

}  // namespace infini
