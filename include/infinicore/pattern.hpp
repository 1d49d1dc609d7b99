// infinicore/pattern.hpp: patterns, "b s (h d) -> b h s d", as arguments and as data.
//
// Names stand for axes; parentheses split a dim on the left and join axes on the right; "..." is all other dims, on the
// right also joined, "(...)"; 1 and () are a dim of size 1; names and numbers that are new on the right repeat. Sizes
// that do not follow from the shape are given by name. Errors point at the character.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "tensor.hpp"

namespace infinicore {
// A size by name, {"h", 8}.
struct AxisSize {
  std::string_view name;
  Size size;
};

// For arguments: {{"h", 8}}, or a vector. It refers to the list and lives no longer than the call.
class AxisSizes {
 public:
  AxisSizes() = default;
  AxisSizes(std::initializer_list<AxisSize> list) {
    begin_ = list.begin();
    size_ = list.size();
  }
  AxisSizes(const std::vector<AxisSize>& list) : begin_(list.data()), size_(list.size()) {}
  const AxisSize* begin() const { return begin_; }
  const AxisSize* end() const { return begin_ + size_; }
  Size size() const { return size_; }

 private:
  const AxisSize* begin_ = nullptr;
  Size size_ = 0;
};

// What a pattern means for a shape: the result's, and the loops that a copy walks, outermost first.
struct PatternWalk {
  struct Axis {
    Size extent;     // never 1
    int src_dim;     // -1: the axis is new, x is repeated along it
    Size src_scale;  // one step of the loop is so many along that dim
    int dst_dim;
    Size dst_scale;
  };
  Shape shape;
  std::vector<Axis> axes;
};
INFINI_EXPORT PatternWalk walk_pattern(std::string_view pattern, const Shape& shape,
                                       AxisSizes sizes = {});
// Whether the pattern has an axis of this name.
INFINI_EXPORT bool pattern_has(std::string_view pattern, std::string_view name);
// The sizes of named dims: "b h _ ... c"; those called _ are left out.
INFINI_EXPORT std::vector<std::pair<std::string, Size>> parse_shape(std::string_view pattern,
                                                                    const Shape& shape);

namespace op {

// A contiguous tensor of x's elements as the pattern orders them, in one copy.
INFINI_EXPORT Tensor rearrange(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});
// The same into y, of the result's shape and any strides.
INFINI_EXPORT void rearrange_(const Tensor& y, const Tensor& x, std::string_view pattern,
                              AxisSizes sizes = {});
// The same without a copy; refused where x's strides do not allow it.
INFINI_EXPORT Tensor view(const Tensor& x, std::string_view pattern, AxisSizes sizes = {});

// A product of two tensors over named axes, "b i k, b k j -> b i j": axes of both and of c are batches, axes of both
// alone are summed. Names are words, or letters without blanks ("bik,bkj->bij"). Axes of one side that c lacks are
// refused: that is no product of matrices.
INFINI_EXPORT Tensor einsum(const Tensor& a, const Tensor& b, std::string_view pattern);
INFINI_EXPORT void einsum_(const Tensor& c, const Tensor& a, const Tensor& b,
                           std::string_view pattern);
// The shape of the result.
INFINI_EXPORT Shape einsum_shape(const Shape& a, const Shape& b, std::string_view pattern);

}  // namespace op
}  // namespace infinicore
