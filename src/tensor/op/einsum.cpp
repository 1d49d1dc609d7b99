// op::einsum: products of two tensors over named axes, each as one product of matrices.
#include "infinicore/ops/matmul.hpp"
#include "infinicore/ops/rearrange.hpp"
#include "infinicore/pattern.hpp"
#include "plan/pattern/product.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"

namespace infinicore::op {
namespace {

using namespace detail;
using infini::ProductPattern;

ProductPattern read(const Shape& a, const Shape& b, std::string_view pattern) {
  return infini::product_of(pattern, {a.begin(), a.end()}, {b.begin(), b.end()});
}

Shape joined(Shape order, const std::vector<size_t>& second, const std::vector<size_t>& third) {
  order.insert(order.end(), second.begin(), second.end());
  order.insert(order.end(), third.begin(), third.end());
  return order;
}

// The shape with the dims behind the batch as two: `first` of them, and the rest.
Shape as_matrices(const Shape& shape, size_t batches, size_t first) {
  Shape matrices(shape.begin(), shape.begin() + static_cast<Stride>(batches));
  matrices.insert(matrices.end(), 2, 1);
  for (size_t i = batches; i < shape.size(); ++i)
    matrices[batches + (i >= batches + first)] *= shape[i];
  return matrices;
}

// Whether dims begin..end can be seen as one without a copy.
bool is_one_dim(const TensorImpl& tensor, size_t begin, size_t end) {
  Stride expected = 0;
  bool first = true;
  for (size_t i = end; i-- > begin;) {
    if (tensor.shape()[i] == 1) continue;
    if (!first && tensor.strides()[i] != expected) return false;
    expected = tensor.strides()[i] * static_cast<Stride>(tensor.shape()[i]);
    first = false;
  }
  return true;
}

}  // namespace

Shape einsum_shape(const Shape& a, const Shape& b, std::string_view pattern) {
  return at_edge([&] {
    const ProductPattern product = read(a, b, pattern);
    return Shape(product.shape.begin(), product.shape.end());
  });
}

void einsum_(const Tensor& c, const Tensor& a, const Tensor& b, std::string_view pattern) {
  return at_edge([&] {
    const TensorImpl &to = TensorAccess::impl(c, "c"), &left = TensorAccess::impl(a, "a"),
                     &right = TensorAccess::impl(b, "b");
    const ProductPattern product = read(left.shape(), right.shape(), pattern);
    const Shape shape(product.shape.begin(), product.shape.end());
    infini::require(to.shape() == shape, INFINI_STATUS_BAD_TENSOR_SHAPE, "c is ", text(to.shape()),
                    "; the pattern makes ", text(shape));
    const ProductPattern::Dims &batch = product.batch, &rows = product.rows,
                               &columns = product.columns, &sums = product.sums;
    const size_t batches = batch.c.size(), row_dims = rows.c.size();
    const Tensor x = left.permute(joined(batch.a, rows.a, sums.a)),
                 y = right.permute(joined(batch.b, sums.b, columns.b)),
                 z = to.permute(joined(batch.c, rows.c, columns.c));
    const Tensor x_matrices = x->reshape(as_matrices(x->shape(), batches, row_dims)),
                 y_matrices = y->reshape(as_matrices(y->shape(), batches, sums.a.size()));
    const Shape z_shape = as_matrices(z->shape(), batches, row_dims);
    if (is_one_dim(*z.operator->(), batches, batches + row_dims) &&
        is_one_dim(*z.operator->(), batches + row_dims, z->ndim()))
      return matmul_(z->view(z_shape), x_matrices, y_matrices);
    const Tensor dense = empty_at(to.memory()->place(), z_shape, to.dtype());
    matmul_(dense, x_matrices, y_matrices);
    rearrange_(z, dense->view(z->shape()));
  });
}

Tensor einsum(const Tensor& a, const Tensor& b, std::string_view pattern) {
  return at_edge([&] {
    const TensorImpl &left = TensorAccess::impl(a, "a"), &right = TensorAccess::impl(b, "b");
    infini::Place& place = common_place(left, "a", right, "b");
    Tensor c = empty_at(place, einsum_shape(left.shape(), right.shape(), pattern), left.dtype());
    einsum_(c, a, b, pattern);
    return c;
  });
}

}  // namespace infinicore::op
