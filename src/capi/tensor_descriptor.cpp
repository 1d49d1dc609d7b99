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
