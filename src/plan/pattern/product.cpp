// Reading products over named axes.
#include "plan/pattern/product.h"

#include <algorithm>

#include "plan/pattern/message.h"

namespace infini {
namespace {

struct Name {
  std::string_view text;
  size_t at;
};
using Side = std::vector<Name>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); }

// The names of text[begin, end).
Side read_side(std::string_view text, size_t begin, size_t end, bool letters) {
  Side side;
  for (size_t at = begin; at < end;) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    size_t last = at;
    while (last < end && is_word(text[last]) && !(letters && last > at)) ++last;
    if (last == at || !(is_letter(text[at]) || text[at] == '_'))
      fail_at(text, at, "'", character_at(text, at), "' is no axis, comma or ->");
    for (const Name& other : side)
      if (other.text == text.substr(at, last - at))
        fail_at(text, at, other.text, " stands twice in one tensor");
    side.push_back({text.substr(at, last - at), at});
    if (side.size() > max_rank) fail_at(text, at, "a tensor has at most ", max_rank, " axes");
    at = last;
  }
  return side;
}

size_t index_of(const Side& side, std::string_view name) {
  const auto found =
      std::find_if(side.begin(), side.end(), [&](const Name& other) { return other.text == name; });
  return static_cast<size_t>(found - side.begin());
}
bool has(const Side& side, std::string_view name) { return index_of(side, name) < side.size(); }

struct Sides {
  Side a, b, c;
};

Sides read_sides(std::string_view text, bool letters) {
  const size_t arrow = text.find("->"), comma = text.find(',');
  if (arrow == std::string_view::npos) fail_at(text, text.size(), "expected -> and a right side");
  if (comma > arrow) fail_at(text, arrow, "expected two tensors, divided by a comma");
  return {read_side(text, 0, comma, letters), read_side(text, comma + 1, arrow, letters),
          read_side(text, arrow + 2, text.size(), letters)};
}

// Whether the ranks agree with words, and the right side with the left: "i,j->ij" has letters.
bool are_words(const Sides& sides, size_t a, size_t b) {
  return sides.a.size() == a && sides.b.size() == b &&
         std::all_of(sides.c.begin(), sides.c.end(), [&](const Name& name) {
           return has(sides.a, name.text) || has(sides.b, name.text);
         });
}

void require_rank(std::string_view text, const Side& side, size_t rank, const char* tensor) {
  require(side.size() == rank, INFINI_STATUS_BAD_PARAM, "pattern '", text, "' has ", side.size(),
          " axes for ", tensor, ", which has ", rank, " dims");
}

// Where each axis of a lies in the others; what only b and c have is found from b.
void sort_axes(std::string_view text, const Sides& sides, ProductPattern& product) {
  for (size_t i = 0; i < sides.c.size(); ++i) {
    const Name& name = sides.c[i];
    const bool in_a = has(sides.a, name.text), in_b = has(sides.b, name.text);
    if (!in_a && !in_b) fail_at(text, name.at, name.text, " is new on the right");
    ProductPattern::Dims& dims = in_a && in_b ? product.batch
                                 : in_a       ? product.rows
                                              : product.columns;
    if (in_a) dims.a.push_back(index_of(sides.a, name.text));
    if (in_b) dims.b.push_back(index_of(sides.b, name.text));
    dims.c.push_back(i);
  }
  for (const Side* side : {&sides.a, &sides.b})
    for (const Name& name : *side)
      if (!has(sides.c, name.text) && !has(side == &sides.a ? sides.b : sides.a, name.text))
        fail_at(text, name.at, name.text,
                " is in one tensor alone; only axes of both can be summed by a product");
  for (const Name& name : sides.a)
    if (!has(sides.c, name.text)) {
      product.sums.a.push_back(index_of(sides.a, name.text));
      product.sums.b.push_back(index_of(sides.b, name.text));
    }
}

}  // namespace

ProductPattern product_of(std::string_view text, const std::vector<int64_t>& a,
                          const std::vector<int64_t>& b) {
  Sides sides = read_sides(text, false);
  const bool one_word = sides.a.size() <= 1 && sides.b.size() <= 1 && sides.c.size() <= 1;
  if (one_word && !are_words(sides, a.size(), b.size())) sides = read_sides(text, true);
  require_rank(text, sides.a, a.size(), "a");
  require_rank(text, sides.b, b.size(), "b");
  ProductPattern product;
  sort_axes(text, sides, product);
  for (size_t i = 0; i < sides.a.size(); ++i) {
    const size_t j = index_of(sides.b, sides.a[i].text);
    require(j == sides.b.size() || a[i] == b[j], INFINI_STATUS_BAD_TENSOR_SHAPE, "pattern '", text,
            "': ", sides.a[i].text, " is ", a[i], " in a and ", j < b.size() ? b[j] : 0, " in b");
  }
  for (const Name& name : sides.c)
    product.shape.push_back(has(sides.a, name.text) ? a[index_of(sides.a, name.text)]
                                                    : b[index_of(sides.b, name.text)]);
  return product;
}

}  // namespace infini
