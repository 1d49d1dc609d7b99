// infiniop/tensor_descriptor.h.
#include <algorithm>

#include "capi/boundary.h"
#include "capi/objects.h"

using namespace infini;

namespace infini {

TensorBody::TensorBody(const Layout& layout)
    : dtype(layout.dtype),
      rank(layout.rank),
      numbers(new int64_t[2 * static_cast<size_t>(layout.rank)]) {
  std::copy_n(layout.shape, rank, numbers.get());
  std::copy_n(layout.strides, rank, numbers.get() + rank);
}

Layout TensorBody::layout() const {
  Layout layout;
  layout.dtype = dtype;
  layout.rank = rank;
  std::copy_n(numbers.get(), rank, layout.shape);
  std::copy_n(numbers.get() + rank, rank, layout.strides);
  return layout;
}

namespace {

TensorDescriptors& descriptors() {
  static constinit Lazy<TensorDescriptors> all;
  return all.get();
}

// Copies shape or strides, which lie `offset` ranks into the numbers.
template <class Number>
void copy_numbers(infiniopTensorDescriptor_t desc, int offset, Number* to, size_t capacity,
                  const char* argument) {
  const auto tensor = TensorDescriptors::pin(desc, "desc");
  const auto rank = static_cast<size_t>(tensor->rank);
  require(capacity >= rank, INFINI_STATUS_BAD_PARAM, "capacity is ", capacity,
          "; the tensor's rank is ", rank);
  if (rank == 0) return;
  require_pointer(to, argument);
  std::copy_n(tensor->numbers.get() + offset * tensor->rank, rank, to);
}

}  // namespace
}  // namespace infini

infiniStatus_t infiniopCreateTensorDescriptor(infiniopTensorDescriptor_t* desc, size_t ndim,
                                              const size_t* shape, const ptrdiff_t* strides,
                                              infiniDtype_t dtype) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = descriptors().create([](InfiniopTensorDescriptor&) {},
                                 make_layout(dtype, ndim, shape, strides));
  });
}

infiniStatus_t infiniopDestroyTensorDescriptor(infiniopTensorDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { descriptors().destroy(desc, "desc"); });
}

infiniStatus_t infiniopGetTensorDescriptorRank(infiniopTensorDescriptor_t desc, size_t* ndim) {
  return at_boundary([&] {
    require_pointer(ndim, "ndim");
    *ndim = static_cast<size_t>(TensorDescriptors::pin(desc, "desc")->rank);
  });
}

infiniStatus_t infiniopGetTensorDescriptorShape(infiniopTensorDescriptor_t desc, size_t* shape,
                                                size_t capacity) {
  return at_boundary([&] { copy_numbers(desc, 0, shape, capacity, "shape"); });
}

infiniStatus_t infiniopGetTensorDescriptorStrides(infiniopTensorDescriptor_t desc,
                                                  ptrdiff_t* strides, size_t capacity) {
  return at_boundary([&] { copy_numbers(desc, 1, strides, capacity, "strides"); });
}

infiniStatus_t infiniopGetTensorDescriptorDtype(infiniopTensorDescriptor_t desc,
                                                infiniDtype_t* dtype) {
  return at_boundary([&] {
    require_pointer(dtype, "dtype");
    *dtype = TensorDescriptors::pin(desc, "desc")->dtype;
  });
}
