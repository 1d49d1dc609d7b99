// What the operators need to know of tensors beyond the public members.
#pragma once

#include "infinicore/tensor.hpp"
#include "plan/layout/layout.h"
#include "runtime/place.h"

namespace infinicore::detail {

struct TensorAccess {
  // The layout must have been checked.
  static Tensor make(Shape shape, Strides strides, DataType dtype, std::shared_ptr<Memory> memory,
                     std::byte* data);
  // Throws NULL_POINTER when `tensor` is none.
  static TensorImpl& impl(const Tensor& tensor, const char* argument) {
    if (!tensor.impl_ || !tensor.impl_->memory_) [[unlikely]]
      fail_undefined(argument);
    return *tensor.impl_;
  }
  static Tensor self(const TensorImpl& impl) {
    if (!impl.memory_) [[unlikely]]
      fail_undefined("this tensor");
    return Tensor(std::const_pointer_cast<TensorImpl>(impl.shared_from_this()));
  }
  // How many handles there are of this tensor.
  static size_t handles(const Tensor& tensor) {
    return static_cast<size_t>(tensor.impl_.use_count());
  }
  static size_t layout_hash(const TensorImpl& impl) { return impl.layout_hash_; }

 private:
  [[noreturn]] static void fail_undefined(const char* argument);
};

infini::Layout layout_of(const TensorImpl& tensor);
infini::Place& place_of(const Device& device);
// On the calling thread's stream of that place. At least one byte, so that data() is never null.
std::shared_ptr<Memory> allocate(infini::Place& place, size_t bytes);
// Contiguous, at this place.
Tensor empty_at(infini::Place& place, const Shape& shape, DataType dtype);
// "[2, 3]"
std::string to_string(const Shape& shape);
// The same for messages: made only when the message is.
struct ShapeText {
  const Shape& shape;
};
inline ShapeText text(const Shape& shape) { return {shape}; }
std::ostream& operator<<(std::ostream& out, const ShapeText& text);

}  // namespace infinicore::detail
