// Views: other layouts over the same memory.
#include <algorithm>
#include <optional>
#include <ostream>

#include "infinicore/ops/rearrange.hpp"
#include "tensor/access.h"
#include "tensor/edge.h"

namespace infinicore {
namespace {

using detail::text;
using infini::require;

constexpr auto bad_param = INFINI_STATUS_BAD_PARAM;
constexpr auto bad_shape = INFINI_STATUS_BAD_TENSOR_SHAPE;

Size count_of(const Shape& shape) {
  const infini::Layout layout =
      infini::make_layout(INFINI_DTYPE_BYTE, shape.size(), shape.data(), nullptr);
  return static_cast<Size>(infini::element_count(layout));
}

struct Runs {
  Shape extents;
  Strides strides;
};

// The dims joined into runs that are gapless in themselves: outer stride = inner stride × inner
// extent. Dims of size 1 do not matter.
Runs gapless_runs(const TensorImpl& tensor) {
  Runs runs;
  for (size_t i = 0; i < tensor.ndim(); ++i) {
    const Size extent = tensor.shape()[i];
    const Stride stride = tensor.strides()[i];
    if (extent == 1) continue;
    if (!runs.extents.empty() && runs.strides.back() == stride * static_cast<Stride>(extent)) {
      runs.extents.back() *= extent;
      runs.strides.back() = stride;
    } else {
      runs.extents.push_back(extent);
      runs.strides.push_back(stride);
    }
  }
  return runs;
}

// The strides under which `shape` walks the same elements in the same order, if there are any: a
// run can be cut anew, but a new dim must not reach across two runs. The element counts are equal.
std::optional<Strides> strides_for_view(const TensorImpl& tensor, const Shape& shape) {
  const Runs runs = gapless_runs(tensor);
  Strides strides(shape.size(), 1);
  size_t run = runs.extents.size();
  Size left = 1;  // what is still uncut of the current run
  Stride stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (left == 1) {
      --run;
      left = runs.extents[run];
      stride = runs.strides[run];
    }
    if (left % shape[i] != 0) return std::nullopt;
    strides[i] = stride;
    stride *= static_cast<Stride>(shape[i]);
    left /= shape[i];
  }
  return strides;
}

struct Part {
  Stride first, count;
};

// What Python's range(extent)[start:stop:step] would be.
Part python_slice(Stride extent, std::optional<Stride> start, std::optional<Stride> stop,
                  Stride step) {
  const Stride lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
  const auto inside = [&](Stride index) {
    return std::clamp(index < 0 ? index + extent : index, lowest, highest);
  };
  const Stride first = start ? inside(*start) : step > 0 ? lowest : highest;
  const Stride end = stop ? inside(*stop) : step > 0 ? highest : lowest;
  if (step > 0) return {first, end <= first ? 0 : (end - first - 1) / step + 1};
  return {first, end >= first ? 0 : (end - first + 1) / step + 1};
}

}  // namespace

Tensor TensorImpl::permute(const Shape& order) const {
  return detail::at_edge([&] {
    require(order.size() == ndim(), bad_param, "order ", text(order), " has ", order.size(),
            " entries; the tensor has ", ndim(), " dims");
    std::vector<bool> seen(ndim(), false);
    Shape shape(ndim());
    Strides strides(ndim());
    for (size_t i = 0; i < ndim(); ++i) {
      require(order[i] < ndim() && !seen[order[i]], bad_param, "order ", text(order),
              " is no permutation of 0..", ndim() - 1);
      seen[order[i]] = true;
      shape[i] = shape_[order[i]];
      strides[i] = strides_[order[i]];
    }
    return detail::TensorAccess::make(std::move(shape), std::move(strides), dtype_, memory_, data_);
  });
}

Tensor TensorImpl::transpose(Size dim0, Size dim1) const {
  return detail::at_edge([&] {
    require(dim0 < ndim() && dim1 < ndim(), bad_param, "transpose of dims ", dim0, " and ", dim1,
            "; the tensor has ", ndim(), " dims");
    Shape shape = shape_;
    Strides strides = strides_;
    std::swap(shape[dim0], shape[dim1]);
    std::swap(strides[dim0], strides[dim1]);
    return detail::TensorAccess::make(std::move(shape), std::move(strides), dtype_, memory_, data_);
  });
}

Tensor TensorImpl::flip(Size dim) const { return slice(dim, {}, {}, -1); }

Tensor TensorImpl::slice(Size dim, std::optional<Stride> start, std::optional<Stride> stop,
                         Stride step) const {
  return detail::at_edge([&] {
    require(dim < ndim(), bad_param, "slice of dim ", dim, "; the tensor has ", ndim(), " dims");
    require(step != 0, bad_param, "slice of dim ", dim, " by a step of 0");
    const Part part = python_slice(static_cast<Stride>(shape_[dim]), start, stop, step);
    Shape shape = shape_;
    Strides strides = strides_;
    shape[dim] = static_cast<Size>(part.count);
    if (numel_ > 0 && part.count > 1) strides[dim] *= step;
    const Stride offset = numel_ > 0 && part.count > 0 ? part.first * strides_[dim] : 0;
    std::byte* data = data_ + offset * static_cast<Stride>(element_size());
    return detail::TensorAccess::make(std::move(shape), std::move(strides), dtype_, memory_, data);
  });
}

Tensor TensorImpl::narrow(const std::vector<TensorSliceParams>& slices) const {
  return detail::at_edge([&] {
    Shape shape = shape_;
    Stride offset = 0;
    for (const auto& [dim, start, len] : slices) {
      require(dim < ndim(), bad_param, "slice of dim ", dim, "; the tensor has ", ndim(), " dims");
      require(len <= shape[dim] && start <= shape[dim] - len, bad_param, "slice of dim ", dim,
              " from ", start, " with length ", len, "; it has ", shape[dim], " elements");
      shape[dim] = len;
      if (numel_ > 0 && len > 0) offset += static_cast<Stride>(start) * strides_[dim];
    }
    std::byte* data = data_ + offset * static_cast<Stride>(element_size());
    return detail::TensorAccess::make(std::move(shape), strides_, dtype_, memory_, data);
  });
}

Tensor TensorImpl::squeeze(Size dim) const {
  return detail::at_edge([&] {
    require(dim < ndim(), bad_param, "dim is ", dim, "; the tensor has ", ndim(), " dims");
    require(shape_[dim] == 1, bad_shape, "dim ", dim, " of shape ", text(shape_), " has ",
            shape_[dim], " elements; only a dim of size 1 can be squeezed");
    Shape shape = shape_;
    Strides strides = strides_;
    shape.erase(shape.begin() + static_cast<Stride>(dim));
    strides.erase(strides.begin() + static_cast<Stride>(dim));
    return detail::TensorAccess::make(std::move(shape), std::move(strides), dtype_, memory_, data_);
  });
}

Tensor TensorImpl::unsqueeze(Size dim) const {
  return detail::at_edge([&] {
    require(dim <= ndim(), bad_param, "dim is ", dim, "; at most ", ndim(), " is possible here");
    require(ndim() < infini::max_rank, bad_shape, "the tensor has ", ndim(), " dims already");
    Shape shape = shape_;
    Strides strides = strides_;
    shape.insert(shape.begin() + static_cast<Stride>(dim), 1);
    strides.insert(strides.begin() + static_cast<Stride>(dim), 1);
    return detail::TensorAccess::make(std::move(shape), std::move(strides), dtype_, memory_, data_);
  });
}

Tensor TensorImpl::as_strided(const Shape& shape, const Strides& strides, Stride offset) const {
  return detail::at_edge([&] {
    require(strides.size() == shape.size(), INFINI_STATUS_BAD_TENSOR_STRIDES, "strides has ",
            strides.size(), " entries for a shape of ", shape.size());
    const infini::Layout layout = infini::make_layout(static_cast<infiniDtype_t>(dtype_),
                                                      shape.size(), shape.data(), strides.data());
    const infini::ByteRange range = infini::byte_range(layout);
    if (range.begin == range.end)
      return detail::TensorAccess::make(shape, strides, dtype_, memory_, data_);
    // In 128 bits nothing here can overflow.
    const __int128 first = (data_ - memory_->data()) +
                           static_cast<__int128>(offset) * static_cast<__int128>(element_size());
    require(first + range.begin >= 0 && first + range.end <= static_cast<__int128>(memory_->size()),
            INFINI_STATUS_BAD_TENSOR_STRIDES, "as_strided to shape ", text(shape), " at offset ",
            offset, " leaves the tensor's memory of ", memory_->size(), " bytes");
    return detail::TensorAccess::make(shape, strides, dtype_, memory_,
                                      memory_->data() + static_cast<Stride>(first));
  });
}

Tensor TensorImpl::view(const Shape& shape) const {
  return detail::at_edge([&] {
    const Size count = count_of(shape);
    require(count == numel_, bad_shape, "view of shape ", text(shape_), " (", numel_,
            " elements) as ", text(shape), " (", count, " elements)");
    if (numel_ == 0)
      return detail::TensorAccess::make(shape, Strides(shape.size(), 0), dtype_, memory_, data_);
    auto strides = strides_for_view(*this, shape);
    require(strides.has_value(), INFINI_STATUS_BAD_TENSOR_STRIDES, info(), " has no view of shape ",
            text(shape), ": the elements do not lie so; reshape copies where it must");
    return detail::TensorAccess::make(shape, std::move(*strides), dtype_, memory_, data_);
  });
}

Tensor TensorImpl::reshape(const Shape& shape) const {
  return detail::at_edge([&] {
    const bool fits = numel_ == 0 || count_of(shape) != numel_ || strides_for_view(*this, shape);
    return fits ? view(shape) : contiguous()->view(shape);
  });
}

Tensor TensorImpl::contiguous() const {
  return detail::at_edge([&] {
    const Tensor self = detail::TensorAccess::self(*this);
    return contiguous_ ? self : op::rearrange(self);
  });
}

namespace detail {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const ShapeText& text) {
  return out << to_string(text.shape);
}

}  // namespace detail
}  // namespace infinicore
