// A layout: the dtype, shape and strides of a tensor, checked so that no later sum can overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "infinicore.h"

namespace infini {

constexpr int max_rank = 64;

struct Layout {
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  int rank = 0;
  int64_t shape[max_rank];
  int64_t strides[max_rank];  // in elements; those of dims of size 1 mean nothing
};

// A half-open range of bytes relative to a tensor's base pointer.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

// Checks dtype, rank, shape and strides; strides == nullptr means row-major contiguous.
// Law: in a layout that was made, the bytes of the whole tensor and the distance of any element
// from the base fit into int64_t. A tensor with a zero dim has no elements, whatever the rest.
Layout make_layout(infiniDtype_t dtype, size_t rank, const size_t* shape, const ptrdiff_t* strides);

int64_t element_count(const Layout& layout);
// The bytes that the elements touch: from the lowest to one past the highest; empty for no elements.
ByteRange byte_range(const Layout& layout);
// Row-major and gapless, ignoring dims of size 1.
bool is_contiguous(const Layout& layout);
bool same_shape(const Layout& a, const Layout& b);

// "2x3x4", "scalar" for rank 0.
std::string shape_string(const Layout& layout);
// "f32 2x3 strides 3,1"
std::string to_string(const Layout& layout);
// The same for messages: nothing is written before it is streamed.
struct ShapeOf {
  const Layout& layout;
};
std::ostream& operator<<(std::ostream& out, const ShapeOf& shape);
std::ostream& operator<<(std::ostream& out, const Layout& layout);

}  // namespace infini
