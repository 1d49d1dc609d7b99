// Making tensors, and what they say of themselves.
#include "infinicore/tensor.hpp"

#include <cstring>
#include <ostream>

#include "infinicore/context/context.hpp"
#include "tensor/access.h"
#include "tensor/edge.h"
#include "tensor/elements.h"
#include "tensor/op/copy.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace {

using infini::require;

infini::Layout checked_layout(const Shape& shape, const Strides* strides, DataType dtype) {
  require(!strides || strides->size() == shape.size(), INFINI_STATUS_BAD_TENSOR_STRIDES,
          "strides has ", strides ? strides->size() : 0, " entries for a shape of ", shape.size());
  return infini::make_layout(static_cast<infiniDtype_t>(dtype), shape.size(), shape.data(),
                             strides ? strides->data() : nullptr);
}

Strides strides_of(const infini::Layout& layout) {
  return {layout.strides, layout.strides + layout.rank};
}

std::shared_ptr<Memory> allocate_for(const Device& device, bool pin_memory, size_t bytes) {
  if (!pin_memory) return detail::allocate(detail::place_of(device), bytes);
  require(device == Device::cpu(), INFINI_STATUS_BAD_PARAM,
          "pin_memory is for CPU tensors; the device is ", device);
  return context::allocatePinnedHostMemory(bytes);
}

Tensor make_empty(const Shape& shape, const Strides* strides, DataType dtype, const Device& device,
                  bool pin_memory) {
  const infini::Layout layout = checked_layout(shape, strides, dtype);
  const infini::ByteRange range = infini::byte_range(layout);
  auto memory = allocate_for(device, pin_memory, static_cast<size_t>(range.end - range.begin));
  std::byte* data = memory->data() - range.begin;
  return detail::TensorAccess::make(shape, strides_of(layout), dtype, std::move(memory), data);
}

Tensor make_from_blob(void* raw_ptr, const Shape& shape, const Strides* strides, DataType dtype,
                      const Device& device, Memory::Deleter deleter) {
  const infini::Layout layout = checked_layout(shape, strides, dtype);
  const infini::ByteRange range = infini::byte_range(layout);
  require(raw_ptr != nullptr || range.end == range.begin, INFINI_STATUS_NULL_POINTER,
          "raw_ptr is NULL for ", range.end - range.begin, " bytes");
  if (deleter && range.begin != 0)
    deleter = [raw_ptr, wanted = std::move(deleter)](void*) { wanted(raw_ptr); };
  auto* data = static_cast<std::byte*>(raw_ptr);
  auto memory = std::make_shared<Memory>(
      data + range.begin, static_cast<size_t>(range.end - range.begin), device, std::move(deleter));
  return detail::TensorAccess::make(shape, strides_of(layout), dtype, std::move(memory), data);
}

size_t hash_layout(const Shape& shape, const Strides& strides, DataType dtype) {
  uint64_t hash = static_cast<uint64_t>(dtype) + 0x9e3779b97f4a7c15u * (shape.size() + 1);
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (const Size extent : shape) mix(extent);
  for (const Stride stride : strides) mix(static_cast<uint64_t>(stride));
  return hash;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DataType dtype, const Device& device, bool pin_memory) {
  return detail::at_edge([&] { return make_empty(shape, nullptr, dtype, device, pin_memory); });
}

Tensor Tensor::strided_empty(const Shape& shape, const Strides& strides, DataType dtype,
                             const Device& device, bool pin_memory) {
  return detail::at_edge([&] { return make_empty(shape, &strides, dtype, device, pin_memory); });
}

Tensor Tensor::zeros(const Shape& shape, DataType dtype, const Device& device, bool pin_memory) {
  return detail::at_edge([&] {
    Tensor tensor = empty(shape, dtype, device, pin_memory);
    detail::fill_with_zero_bytes(tensor);
    return tensor;
  });
}

Tensor Tensor::ones(const Shape& shape, DataType dtype, const Device& device, bool pin_memory) {
  return full(shape, 1, dtype, device, pin_memory);
}

Tensor Tensor::full(const Shape& shape, const Scalar& value, DataType dtype, const Device& device,
                    bool pin_memory) {
  return detail::at_edge([&] {
    Tensor tensor = empty(shape, dtype, device, pin_memory);
    tensor->copy_from(detail::scalar_tensor(value, dtype, device));
    return tensor;
  });
}

Tensor Tensor::from_host(const void* values, Size count, const Shape& shape, DataType dtype,
                         const Device& device) {
  return detail::at_edge([&] {
    const Tensor host = empty(shape, dtype, Device::cpu());
    require(count == host->numel(), INFINI_STATUS_BAD_TENSOR_SHAPE, "from_vector of ", count,
            " values as shape ", detail::text(shape), ", which has ", host->numel(), " elements");
    if (count > 0) std::memcpy(host->data(), values, host->nbytes());
    const detail::RunNow now;  // `values` may be gone when a recording is run
    return host->to(device);
  });
}

Tensor Tensor::from_blob(void* raw_ptr, const Shape& shape, DataType dtype, const Device& device,
                         Memory::Deleter deleter) {
  return detail::at_edge(
      [&] { return make_from_blob(raw_ptr, shape, nullptr, dtype, device, std::move(deleter)); });
}

Tensor Tensor::strided_from_blob(void* raw_ptr, const Shape& shape, const Strides& strides,
                                 DataType dtype, const Device& device, Memory::Deleter deleter) {
  return detail::at_edge(
      [&] { return make_from_blob(raw_ptr, shape, &strides, dtype, device, std::move(deleter)); });
}

TensorImpl::TensorImpl(Shape shape, Strides strides, DataType dtype, std::shared_ptr<Memory> memory,
                       std::byte* data)
    : shape_(std::move(shape)),
      strides_(std::move(strides)),
      dtype_(dtype),
      layout_hash_(hash_layout(shape_, strides_, dtype)),
      memory_(std::move(memory)),
      data_(data) {
  const infini::Layout layout = detail::layout_of(*this);
  contiguous_ = infini::is_contiguous(layout);
  numel_ = static_cast<Size>(infini::element_count(layout));
}

TensorImpl::TensorImpl(const Shape& shape, DataType dtype)
    : TensorImpl(shape, strides_of(checked_layout(shape, nullptr, dtype)), dtype, nullptr,
                 nullptr) {}
TensorImpl::TensorImpl(const Shape& shape, const Strides& strides, DataType dtype)
    : TensorImpl(shape, strides_of(checked_layout(shape, &strides, dtype)), dtype, nullptr,
                 nullptr) {}

Tensor TensorImpl::to_blob_() const {
  return detail::at_edge([&] {
    detail::TensorAccess::self(*this);  // it has memory
    return detail::TensorAccess::make(shape_, strides_, dtype_, std::make_shared<Memory>(memory_),
                                      data_);
  });
}

Tensor TensorImpl::resume_from_blob_() const {
  return detail::at_edge([&] {
    auto memory = Memory::origin(memory_);
    require(memory != nullptr, INFINI_STATUS_BAD_PARAM,
            "the memory that this tensor was borrowed from is gone");
    return detail::TensorAccess::make(shape_, strides_, dtype_, std::move(memory), data_);
  });
}

TensorImpl::~TensorImpl() { delete desc_.load(std::memory_order_acquire); }

Size TensorImpl::size(Size dim) const {
  require(dim < ndim(), INFINI_STATUS_BAD_PARAM, "dim is ", dim, "; the tensor has ", ndim(),
          " dims");
  return shape_[dim];
}

Stride TensorImpl::stride(Size dim) const {
  require(dim < ndim(), INFINI_STATUS_BAD_PARAM, "dim is ", dim, "; the tensor has ", ndim(),
          " dims");
  return strides_[dim];
}

void TensorImpl::require_type(bool readable, Size bytes) const {
  require(readable, INFINI_STATUS_BAD_TENSOR_DTYPE, "the elements are ", dtype_, " (",
          element_size(), " bytes); the type that was asked for, of ", bytes, " bytes, is another");
}

void TensorImpl::copy_to_host(void* to) const {
  return detail::at_edge([&] {
    const detail::RunNow now;
    const Tensor host = contiguous()->to(Device::cpu());
    if (numel_ > 0) std::memcpy(to, host->data(), nbytes());
  });
}

Scalar TensorImpl::item() const {
  require(numel_ == 1, INFINI_STATUS_BAD_TENSOR_SHAPE, "item() of a tensor of shape ",
          detail::text(shape_), ", which has ", numel_, " elements; it takes one of one");
  std::byte element[16];
  copy_to_host(element);
  return detail::read_element(element, dtype_);
}

namespace detail {

Tensor TensorAccess::make(Shape shape, Strides strides, DataType dtype,
                          std::shared_ptr<Memory> memory, std::byte* data) {
  struct Made : TensorImpl {  // for make_shared, which cannot call a private constructor
    Made(Shape&& shape, Strides&& strides, DataType dtype, std::shared_ptr<Memory>&& memory,
         std::byte* data)
        : TensorImpl(std::move(shape), std::move(strides), dtype, std::move(memory), data) {}
  };
  return Tensor(
      std::make_shared<Made>(std::move(shape), std::move(strides), dtype, std::move(memory), data));
}

void TensorAccess::fail_undefined(const char* argument) {
  infini::fail(INFINI_STATUS_NULL_POINTER, argument, " is a Tensor() without content or memory");
}

void fail_undefined_tensor() {
  infini::fail(INFINI_STATUS_NULL_POINTER, "a Tensor() without content was used");
}

void fail_out_of_memory() { infini::fail_out_of_memory(); }

infini::Layout layout_of(const TensorImpl& tensor) {
  infini::Layout layout;
  layout.dtype = static_cast<infiniDtype_t>(tensor.dtype());
  layout.rank = static_cast<int>(tensor.ndim());
  for (size_t i = 0; i < tensor.ndim(); ++i) {
    layout.shape[i] = static_cast<int64_t>(tensor.shape()[i]);
    layout.strides[i] = tensor.strides()[i];
  }
  return layout;
}

Tensor empty_at(infini::Place& place, const Shape& shape, DataType dtype) {
  const infini::Layout layout = checked_layout(shape, nullptr, dtype);
  auto memory = allocate(place, static_cast<size_t>(infini::byte_range(layout).end));
  std::byte* data = memory->data();
  return TensorAccess::make(shape, strides_of(layout), dtype, std::move(memory), data);
}

}  // namespace detail
}  // namespace infinicore
