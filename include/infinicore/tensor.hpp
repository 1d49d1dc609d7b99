// infinicore/tensor.hpp: tensors, as values that share memory.
//
//   Tensor x = Tensor::from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
//   Tensor t = x->transpose(0, 1);     // a view: no bytes move
//   Tensor y = t->contiguous();        // a copy, since t is not row-major
//   y->data<float>()[1];               // 4
//
// A Tensor is a handle, as a std::shared_ptr is: copies of it are the same tensor, and a const one always names the same
// tensor, whose elements may be written. All failures throw infinicore::Error, a std::runtime_error whose message names
// the argument, its value and what was expected.
// Threads: a tensor's description is immutable, so many threads may use one tensor; they must order
// accesses to its elements themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "../infiniop.h"
#include "device.hpp"
#include "dtype.hpp"
#include "error.hpp"
#include "memory.hpp"
#include "scalar.hpp"

namespace infinicore {

// Sizes and strides of dims, outermost first.
using Size = std::size_t;
using Stride = std::ptrdiff_t;  // in elements
// One for each dim.
using Shape = std::vector<Size>;
using Strides = std::vector<Stride>;

// For narrow(): elements start .. start + len - 1 of dimension dim.
struct TensorSliceParams {
  Size dim, start, len;
};

class TensorImpl;
namespace detail {
struct TensorAccess;
[[noreturn]] INFINI_EXPORT void fail_undefined_tensor();
[[noreturn]] INFINI_EXPORT void fail_out_of_memory();
}  // namespace detail

class INFINI_EXPORT Tensor {
 public:
  // pin_memory is for CPU tensors: page-locked where there is an accelerator to profit from it.
  static Tensor empty(const Shape& shape, DataType dtype, const Device& device,
                      bool pin_memory = false);
  static Tensor strided_empty(const Shape& shape, const Strides& strides, DataType dtype,
                              const Device& device, bool pin_memory = false);
  static Tensor zeros(const Shape& shape, DataType dtype, const Device& device,
                      bool pin_memory = false);
  static Tensor ones(const Shape& shape, DataType dtype, const Device& device,
                     bool pin_memory = false);
  // `value` as a number of that type: floats are rounded, whole numbers that do not fit are refused.
  static Tensor full(const Shape& shape, const Scalar& value, DataType dtype, const Device& device,
                     bool pin_memory = false);
  // A copy of `values`, in row-major order; without a shape as one dim.
  template <class T>
  static Tensor from_vector(const std::vector<T>& values, const Shape& shape,
                            const Device& device = Device::cpu());
  template <class T>
  static Tensor from_vector(const std::vector<T>& values) {
    return from_vector(values, {values.size()});
  }
  // A tensor over memory that is not ours. `deleter` (optional) is called with raw_ptr when the
  // last tensor over it is gone; without one the caller keeps the memory alive.
  static Tensor from_blob(void* raw_ptr, const Shape& shape, DataType dtype, const Device& device,
                          Memory::Deleter deleter = {});
  // raw_ptr is the address of element [0,...,0], also with negative strides.
  static Tensor strided_from_blob(void* raw_ptr, const Shape& shape, const Strides& strides,
                                  DataType dtype, const Device& device,
                                  Memory::Deleter deleter = {});

  Tensor() = default;  // no tensor: using it throws
  // Whether it names a tensor.
  operator bool() const { return impl_ != nullptr; }
  // Whether there is none.
  bool empty() const { return impl_ == nullptr; }
  // Names none from now on.
  void reset() { impl_.reset(); }
  // Handles of this tensor; 0 where there is none.
  long use_count() const { return impl_.use_count(); }
  // The same tensor, not only an equal one.
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.impl_ == b.impl_; }

  // Its members; throws when it names none.
  TensorImpl* operator->() const {
    if (!impl_) detail::fail_undefined_tensor();
    return impl_.get();
  }
  TensorImpl& operator*() const { return *operator->(); }

 protected:
  friend struct detail::TensorAccess;
  // For what derives from a tensor: the tensor that it names.
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  // What it names; null: none.
  std::shared_ptr<TensorImpl> impl_;

 private:
  static Tensor from_host(const void* values, Size count, const Shape& shape, DataType dtype,
                          const Device& device);
};

// What a Tensor names: dtype, shape and strides over shared memory. Reached by Tensor's ->, never made by itself.
class INFINI_EXPORT TensorImpl : public std::enable_shared_from_this<TensorImpl> {
 public:
  // Element [0,...,0], in the memory of the tensor's device.
  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  // Element [0,...,0] as a T, in the memory of the tensor's device. Refused where T is another type; the bits of any type
  // may be read as std::byte or an unsigned integer of their size.
  template <class T>
  T* data() {
    require_type(can_read_as<T>(dtype_), sizeof(T));
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* data() const {
    require_type(can_read_as<T>(dtype_), sizeof(T));
    return reinterpret_cast<const T*>(data_);
  }
  // The only element's value, from any device; refused where there are more, or where T cannot hold it.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  // All elements in row-major order, from any device; T as for data().
  template <class T>
  std::vector<T> to_vector() const;
  // Facts, which never change.
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  Size ndim() const { return shape_.size(); }
  Size numel() const { return numel_; }
  Size size(Size dim) const;
  Stride stride(Size dim) const;
  Size element_size() const { return dsize(dtype_); }
  // Bytes of the elements: numel * element_size.
  Size nbytes() const { return numel_ * element_size(); }
  DataType dtype() const { return dtype_; }
  Device device() const { return memory_ ? memory_->device() : Device::cpu(); }
  bool is_pinned() const { return memory_ && memory_->is_pinned(); }
  // Row-major without gaps; dims of size 1 do not matter.
  bool is_contiguous() const { return contiguous_; }
  const std::shared_ptr<Memory>& memory() const { return memory_; }
  // This tensor's layout for the C API; owned by the tensor.
  infiniopTensorDescriptor_t desc() const;

  // Views: they share the memory and cost no copy.
  Tensor permute(const Shape& order) const;
  Tensor transpose(Size dim0, Size dim1) const;
  Tensor flip(Size dim) const;
  // As Python's x[start:stop:step] in this dim: what is left out is all, negative numbers count from the end, what lies
  // outside is cut off.
  Tensor slice(Size dim, std::optional<Stride> start, std::optional<Stride> stop = {},
               Stride step = 1) const;
  Tensor narrow(const std::vector<TensorSliceParams>& slices) const;
  Tensor squeeze(Size dim) const;
  Tensor unsqueeze(Size dim) const;
  // As if it had this shape: dims of size 1, and leading ones that it lacks, repeat (as in NumPy).
  Tensor broadcast_to(const Shape& shape) const;
  // `offset` counts elements from this tensor's first. Refused when an element would lie outside
  // the memory that the tensor was made with.
  Tensor as_strided(const Shape& shape, const Strides& strides, Stride offset = 0) const;
  // The same elements in row-major order under another shape. Refused where no strides say that.
  Tensor view(const Shape& shape) const;

  // As view where that is possible, else a copy.
  Tensor reshape(const Shape& shape) const;
  // Itself when it is contiguous, else a copy.
  Tensor contiguous() const;
  // Itself when it is there already, else a contiguous copy; through the host between two devices.
  Tensor to(const Device& device) const;
  // Copies src's elements here, from any device; src is broadcast to this shape as in NumPy.
  void copy_from(const Tensor& src);

  // "f32 [2, 3] strides [3, 1] on cpu:0"
  std::string info() const;
  // Writes info and elements, to standard output or into a file.
  void debug() const;
  void debug(const std::string& filename) const;

  // The same elements, without keeping their memory alive; and again with a share of that memory, refused once it is gone.
  Tensor to_blob_() const;
  Tensor resume_from_blob_() const;

  // A description without memory: it has a layout and views, and every use of its elements is refused.
  TensorImpl(const Shape& shape, DataType dtype);
  TensorImpl(const Shape& shape, const Strides& strides, DataType dtype);
  ~TensorImpl();
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;

 private:
  friend struct detail::TensorAccess;
  TensorImpl(Shape shape, Strides strides, DataType dtype, std::shared_ptr<Memory> memory,
             std::byte* data);
  void require_type(bool readable, Size bytes) const;
  // All elements to the host, dense.
  void copy_to_host(void* to) const;

  Shape shape_;
  Strides strides_;
  DataType dtype_;
  bool contiguous_;
  Size numel_;
  std::size_t layout_hash_;  // of dtype, shape and strides; equal layouts have equal hashes
  std::shared_ptr<Memory> memory_;
  std::byte* data_;  // element [0,...,0]
  // Made when it is first asked for; the shared_ptr knows how to destroy it.
  mutable std::atomic<std::shared_ptr<InfiniopTensorDescriptor>*> desc_{nullptr};
};

// The elements as nested brackets, long dims shortened; copies them to the host first.
INFINI_EXPORT std::string toString(const Tensor& tensor);
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

template <class T>
Tensor Tensor::from_vector(const std::vector<T>& values, const Shape& shape, const Device& device) {
  if constexpr (std::is_same_v<T, bool>) {  // a std::vector of bits
    const std::vector<std::uint8_t> bytes(values.begin(), values.end());
    return from_host(bytes.data(), bytes.size(), shape, DataType::BOOL, device);
  } else {
    return from_host(values.data(), values.size(), shape, DataTypeOf<T>::value, device);
  }
}

template <class T>
std::vector<T> TensorImpl::to_vector() const {
  require_type(can_read_as<T>(dtype_), sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<std::uint8_t> bytes(numel_);
    copy_to_host(bytes.data());
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> values(nbytes() / sizeof(T));
    copy_to_host(values.data());
    return values;
  }
}

// Inline, because the library's C++ side does not know the C side's objects.
inline infiniopTensorDescriptor_t TensorImpl::desc() const {
  using Owner = std::shared_ptr<InfiniopTensorDescriptor>;
  Owner* known = desc_.load(std::memory_order_acquire);
  if (known != nullptr) return known->get();
  infiniopTensorDescriptor_t made = nullptr;
  const infiniStatus_t status = infiniopCreateTensorDescriptor(
      &made, ndim(), shape_.data(), strides_.data(), static_cast<infiniDtype_t>(dtype_));
  if (status != INFINI_STATUS_SUCCESS) throw Error(status, infiniGetLastErrorString());
  try {
    Owner owner(made, [](infiniopTensorDescriptor_t d) { infiniopDestroyTensorDescriptor(d); });
    auto kept = std::make_unique<Owner>(std::move(owner));
    if (!desc_.compare_exchange_strong(known, kept.get()))
      return known->get();  // another was first
    return kept.release()->get();
  } catch (const std::bad_alloc&) {
    detail::fail_out_of_memory();
  }
}

}  // namespace infinicore
