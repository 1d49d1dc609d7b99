// Patterns: "b s (h d) -> b h s d", what it says and what that means for a shape.
//
// Names stand for axes; parentheses split a dim on the left and join axes to one on the right; "..." is all other dims,
// on the right also joined as "(...)"; 1 and () are a dim of size 1; names and numbers that are new on the right repeat.
// Law: element i of the result is that of x whose index has the same value for every axis of the left side.
// All messages name the pattern and the character, counted from 1, that is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/layout/layout.h"

namespace infini {

// A pattern as it was written. Immutable.
struct Pattern {
  static constexpr int number = -1, rest = -2;
  struct Item {
    int axis;      // which name, or `number` or `rest`
    int64_t size;  // of a number
    size_t at;     // its first byte in the text
  };
  struct Group {  // a dim; no items: one of size 1
    std::vector<Item> items;
    size_t at;
  };

  std::string text;
  std::vector<std::string> names;  // in order of appearance
  std::vector<Group> left, right;
};

struct AxisSize {
  std::string_view name;
  int64_t size;
};
struct AxisSizes {  // somebody else's list
  const AxisSize* list = nullptr;
  size_t count = 0;
};

// What a pattern means for a shape: the result's, and the loops that a copy walks, outermost first.
// Form: no extent is 1. One step of a loop is src_scale steps along src_dim (-1: none, the axis is new) and dst_scale
// steps along dst_dim of the result.
struct PatternWalk {
  struct Axis {
    int64_t extent;
    int src_dim;
    int64_t src_scale;
    int dst_dim;
    int64_t dst_scale;
  };
  int rank = 0;
  int64_t shape[max_rank];
  int axes = 0;
  Axis walk[max_rank];
};

// Both throw BAD_PARAM.
Pattern parse_pattern(std::string_view text);
PatternWalk walk_of(const Pattern& pattern, int rank, const int64_t* shape, AxisSizes sizes);
// The sizes of the named axes of one side without parentheses, "b h _ ... c": those called _ are left out.
std::vector<AxisSize> sizes_of(const Pattern& side, int rank, const int64_t* shape);
// A pattern of one side only, without ->.
Pattern parse_side(std::string_view text);
bool has_axis(const Pattern& pattern, std::string_view name);

// A tensor of the walk's source or result as the loops see it; both have the walk's extents as their shape.
Layout walked_source(const PatternWalk& walk, const Layout& src);
Layout walked_result(const PatternWalk& walk, const Layout& dst);
// The result's row-major layout. Throws where it is too large.
Layout result_layout(const PatternWalk& walk, infiniDtype_t dtype);
// The result as a view of src, where its strides allow that; throws BAD_TENSOR_STRIDES, which names the dim, else.
Layout view_of(const Pattern& pattern, const PatternWalk& walk, const Layout& src);

}  // namespace infini
