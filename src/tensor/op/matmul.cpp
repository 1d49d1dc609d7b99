// op::matmul: products over any number of batch dims, as few gemms as the strides allow.
#include "infinicore/ops/matmul.hpp"

#include <algorithm>

#include "infinicore/ops/gemm.hpp"
#include "plan/layout/disjoint.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/op/copy.h"

namespace infinicore::op {
namespace {

using namespace detail;
using infini::require;

constexpr auto bad_shape = INFINI_STATUS_BAD_TENSOR_SHAPE;

// The shape that NumPy gives a·b, or a message that names both sides.
Shape product_shape(const TensorImpl& a, const TensorImpl& b) {
  const Shape &left = a.shape(), &right = b.shape();
  require(left.size() >= 2 && right.size() >= 2 && left.back() == right[right.size() - 2],
          bad_shape, "a is ", text(left), ", b is ", text(right),
          "; expected [..., m, k] and [..., k, n]");
  const size_t batches = std::max(left.size(), right.size()) - 2;
  Shape shape(batches, 1);
  for (const Shape* side : {&left, &right}) {
    for (size_t i = 0; i + 2 < side->size(); ++i) {
      Size& extent = shape[batches - (side->size() - 2) + i];
      require(extent == 1 || (*side)[i] == 1 || extent == (*side)[i], bad_shape, "a is ",
              text(left), ", b is ", text(right), "; their batch dims do not match");
      if ((*side)[i] != 1) extent = (*side)[i];
    }
  }
  shape.push_back(left[left.size() - 2]);
  shape.push_back(right.back());
  return shape;
}

// An operand while its batch dims are being folded: strides per batch dim, then rows and columns.
struct Side {
  const TensorImpl* tensor;
  Shape shape;
  Strides strides;

  Tensor at(Stride offset) const { return tensor->as_strided(shape, strides, offset); }
};

Side spread(const Tensor& tensor, const Shape& batch) {
  Shape shape = batch;
  shape.push_back(tensor->shape()[tensor->ndim() - 2]);
  shape.push_back(tensor->shape().back());
  const Tensor view = broadcast_to(tensor, shape);
  return {tensor.operator->(), shape, view->strides()};
}

// Whether dims i and i + 1 of every side are one dim.
bool joinable(const Side& side, size_t i) {
  return side.strides[i] == side.strides[i + 1] * static_cast<Stride>(side.shape[i + 1]);
}

void join(Side& side, size_t i) {
  side.shape[i + 1] *= side.shape[i];
  side.shape.erase(side.shape.begin() + static_cast<Stride>(i));
  side.strides.erase(side.strides.begin() + static_cast<Stride>(i));
}

void drop(Side& side, size_t i) {
  side.shape.erase(side.shape.begin() + static_cast<Stride>(i));
  side.strides.erase(side.strides.begin() + static_cast<Stride>(i));
}

struct Product {
  Side c, a, b;

  size_t batches() const { return c.shape.size() - 2; }

  // Ones vanish; neighbours that are one dim on every side become one; a batch that b does not know
  // becomes more rows.
  void fold() {
    for (size_t i = batches(); i-- > 0;)
      if (c.shape[i] == 1)
        for (Side* side : {&c, &a, &b}) drop(*side, i);
    for (size_t i = batches(); i-- > 1;)
      if (joinable(c, i - 1) && joinable(a, i - 1) && joinable(b, i - 1))
        for (Side* side : {&c, &a, &b}) join(*side, i - 1);
    const size_t last = batches() - 1;
    if (batches() > 0 && b.strides[last] == 0 && joinable(c, last) && joinable(a, last)) {
      join(c, last);
      join(a, last);
      drop(b, last);
    }
  }

  // One gemm for the innermost batch dim; the others are walked.
  void run(double alpha, double beta, Stride at_c = 0, Stride at_a = 0, Stride at_b = 0) {
    if (batches() <= 1) return gemm_(c.at(at_c), a.at(at_a), b.at(at_b), alpha, beta);
    Product inner = *this;
    for (Side* side : {&inner.c, &inner.a, &inner.b}) drop(*side, 0);
    for (Size i = 0; i < c.shape[0]; ++i) {
      const auto step = static_cast<Stride>(i);
      inner.run(alpha, beta, at_c + step * c.strides[0], at_a + step * a.strides[0],
                at_b + step * b.strides[0]);
    }
  }
};

// A product that is walked as several gemms writes parts of c before it has read all of a and b. Each
// gemm looks at its own part only, so the whole is looked at here, by the rules of one gemm.
void require_apart(const TensorImpl& c, const TensorImpl& x, const char* name) {
  const auto distance = static_cast<int64_t>(reinterpret_cast<uintptr_t>(x.data()) -
                                             reinterpret_cast<uintptr_t>(c.data()));
  if (infini::never_meet(layout_of(c), layout_of(x), distance)) return;
  infini::fail(INFINI_STATUS_BAD_PARAM, "c (", c.info(), ") shares memory with ", name, " (",
               x.info(), "); matmul cannot work in place");
}

void require_operands(const TensorImpl& c, const TensorImpl& a, const TensorImpl& b, double alpha) {
  const infini::Layout layout = layout_of(c);
  infini::require_disjoint(infini::are_disjoint(layout), "c", layout);
  if (alpha == 0 || a.shape().back() == 0) return;  // they are not read
  require_apart(c, a, "a");
  require_apart(c, b, "b");
}

}  // namespace

void matmul_(const Tensor& c, const Tensor& a, const Tensor& b, double alpha, double beta) {
  return at_edge([&] {
    const TensorImpl &to = TensorAccess::impl(c, "c"), &left = TensorAccess::impl(a, "a"),
                     &right = TensorAccess::impl(b, "b");
    common_place(to, "c", left, "a");
    common_place(to, "c", right, "b");
    const Shape shape = product_shape(left, right);
    require(to.shape() == shape, bad_shape, "c is ", text(to.shape()), ", a·b is ", text(shape));
    if (to.numel() == 0) return;
    if (to.ndim() == 2) return gemm_(c, a, b, alpha, beta);
    const Shape batch(shape.begin(), shape.end() - 2);
    Product product{spread(c, batch), spread(a, batch), spread(b, batch)};
    product.fold();
    if (product.batches() > 1) require_operands(to, left, right, alpha);
    product.run(alpha, beta);
  });
}

Tensor matmul(const Tensor& a, const Tensor& b, double alpha) {
  return at_edge([&] {
    const TensorImpl &left = TensorAccess::impl(a, "a"), &right = TensorAccess::impl(b, "b");
    infini::Place& place = common_place(left, "a", right, "b");
    Tensor c = empty_at(place, product_shape(left, right), left.dtype());
    matmul_(c, a, b, alpha);
    return c;
  });
}

}  // namespace infinicore::op
