// Making and describing layouts.
#include "plan/layout/layout.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

constexpr auto bad_shape = INFINI_STATUS_BAD_TENSOR_SHAPE;
constexpr auto bad_strides = INFINI_STATUS_BAD_TENSOR_STRIDES;

bool has_zero_dim(const Layout& layout) {
  return std::find(layout.shape, layout.shape + layout.rank, 0) != layout.shape + layout.rank;
}

void set_shape(Layout& layout, const size_t* shape) {
  for (int i = 0; i < layout.rank; ++i) {
    require(shape[i] <= static_cast<size_t>(INT64_MAX), bad_shape, "shape[", i, "] is ", shape[i],
            "; at most 2^63 - 1 is possible");
    layout.shape[i] = static_cast<int64_t>(shape[i]);
  }
}

void require_bytes_fit(const Layout& layout) {
  int64_t bytes = dtype_bytes(layout.dtype);
  for (int i = 0; i < layout.rank; ++i)
    require(checked_mul(bytes, layout.shape[i], bytes), bad_shape, "shape ", ShapeOf{layout},
            " of ", dtype_name(layout.dtype), " has more than 2^63 - 1 bytes");
}

void set_row_major_strides(Layout& layout) {
  int64_t stride = 1;
  for (int i = layout.rank; i-- > 0;) {
    layout.strides[i] = stride;
    stride *= std::max<int64_t>(layout.shape[i], 1);
  }
}

// The distance of every element from the base, in bytes, stays inside int64_t.
void require_span_fits(const Layout& layout) {
  int64_t below = 0, above = dtype_bytes(layout.dtype);
  for (int i = 0; i < layout.rank; ++i) {
    if (layout.shape[i] == 1) continue;
    int64_t reach = 0;
    int64_t& side = layout.strides[i] < 0 ? below : above;
    const bool fits = checked_mul(layout.strides[i], dtype_bytes(layout.dtype), reach) &&
                      checked_mul(reach, layout.shape[i] - 1, reach) &&
                      checked_add(side, reach, side);
    require(fits, bad_strides, "strides[", i, "] is ", layout.strides[i], " over ", layout.shape[i],
            " elements of ", dtype_name(layout.dtype),
            "; the tensor would span more than 2^63 - 1 bytes");
  }
  int64_t total = 0;
  require(below != INT64_MIN && checked_add(above, -below, total), bad_strides,
          "the strides make the tensor span more than 2^63 - 1 bytes");
}

}  // namespace

Layout make_layout(infiniDtype_t dtype, size_t rank, const size_t* shape,
                   const ptrdiff_t* strides) {
  require(dtype_bytes(dtype) > 0, INFINI_STATUS_BAD_TENSOR_DTYPE, "dtype is ",
          static_cast<int>(dtype), "; expected a number from 1 (byte) to 19 (bf16)");
  require(rank <= max_rank, bad_shape, "ndim is ", rank, "; at most ", max_rank, " is supported");
  if (rank > 0) require_pointer(shape, "shape");
  Layout layout;
  layout.dtype = dtype;
  layout.rank = static_cast<int>(rank);
  set_shape(layout, shape);
  const bool empty = has_zero_dim(layout);
  if (!empty) require_bytes_fit(layout);
  if (strides != nullptr) {
    std::copy_n(strides, rank, layout.strides);
    if (!empty) require_span_fits(layout);
  } else if (empty) {
    std::fill_n(layout.strides, rank, 0);
  } else {
    set_row_major_strides(layout);
  }
  return layout;
}

int64_t element_count(const Layout& layout) {
  if (has_zero_dim(layout)) return 0;
  int64_t count = 1;
  for (int i = 0; i < layout.rank; ++i) count *= layout.shape[i];
  return count;
}

ByteRange byte_range(const Layout& layout) {
  if (has_zero_dim(layout)) return {};
  const int64_t bytes = dtype_bytes(layout.dtype);
  ByteRange range{0, bytes};
  for (int i = 0; i < layout.rank; ++i) {
    if (layout.shape[i] == 1) continue;
    const int64_t reach = (layout.shape[i] - 1) * layout.strides[i] * bytes;
    (reach < 0 ? range.begin : range.end) += reach;
  }
  return range;
}

bool is_contiguous(const Layout& layout) {
  if (has_zero_dim(layout)) return true;
  int64_t stride = 1;
  for (int i = layout.rank; i-- > 0;) {
    if (layout.shape[i] == 1) continue;
    if (layout.strides[i] != stride) return false;
    stride *= layout.shape[i];
  }
  return true;
}

bool same_shape(const Layout& a, const Layout& b) {
  return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

std::string shape_string(const Layout& layout) {
  if (layout.rank == 0) return "scalar";
  std::string text;
  for (int i = 0; i < layout.rank; ++i) text += (i ? "x" : "") + std::to_string(layout.shape[i]);
  return text;
}

std::string to_string(const Layout& layout) {
  std::string text = std::string(dtype_name(layout.dtype)) + " " + shape_string(layout);
  for (int i = 0; i < layout.rank; ++i)
    text += (i ? "," : " strides ") + std::to_string(layout.strides[i]);
  return text;
}

std::ostream& operator<<(std::ostream& out, const ShapeOf& shape) {
  return out << shape_string(shape.layout);
}

std::ostream& operator<<(std::ostream& out, const Layout& layout) {
  return out << to_string(layout);
}

}  // namespace infini
