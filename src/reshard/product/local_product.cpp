// Local products.
#include "reshard/product/local_product.h"

#include <algorithm>

#include "base/dtype.h"
#include "plan/operators/convert_plan.h"

namespace infini {
namespace {

Layout matrix(infiniDtype_t dtype, int64_t rows, int64_t columns, const int64_t* strides) {
  const size_t shape[] = {static_cast<size_t>(rows), static_cast<size_t>(columns)};
  const ptrdiff_t given[] = {static_cast<ptrdiff_t>(strides[0]),
                             static_cast<ptrdiff_t>(strides[1])};
  return make_layout(dtype, 2, shape, given);
}

bool same_strides(const PanelOperand& x, const PanelOperand& y) {
  return std::equal(x.strides, x.strides + 2, y.strides);
}

}  // namespace

LocalProduct::LocalProduct(Device& device, const Layout& c, void* data, double alpha, double beta)
    : device_(device),
      pool_(place_of(device.kind(), device.id()).memory),
      c_(c),
      sums_(c),
      data_(static_cast<char*>(data)),
      alpha_(alpha),
      beta_(beta) {
  if (dtype_bytes(c.dtype) > 2) return;
  const int64_t dense[] = {c.shape[1], 1};
  sums_ = matrix(INFINI_DTYPE_F32, c.shape[0], c.shape[1], dense);
  memory_ = Block(pool_, static_cast<size_t>(c.shape[0] * c.shape[1]) * sizeof(float));
  if (beta != 0) convert(sums_, memory_.get(), c_, data_);
}

const Gemm& LocalProduct::gemm_for(int64_t k, int64_t rows, const PanelOperand& a,
                                   const PanelOperand& b) {
  for (const Made& one : made_)
    if (one.k == k && one.rows == rows && same_strides(one.a, a) && same_strides(one.b, b))
      return *one.gemm;
  const int64_t columns = c_.shape[1];
  made_.push_back(
      {k, rows, a, b,
       std::make_unique<const Gemm>(device_, matrix(sums_.dtype, rows, columns, sums_.strides),
                                    matrix(c_.dtype, rows, k, a.strides),
                                    matrix(c_.dtype, k, columns, b.strides))});
  const Gemm& gemm = *made_.back().gemm;
  if (gemm.workspace_bytes() > workspace_bytes_) {
    device_.synchronize_stream(nullptr);  // the old one may be in use
    workspace_ = Block();
    workspace_bytes_ = gemm.workspace_bytes();
    workspace_ = Block(pool_, workspace_bytes_);
  }
  return gemm;
}

void LocalProduct::add(int64_t k, int64_t first, int64_t rows, const PanelOperand& a,
                       const PanelOperand& b) {
  const Gemm& gemm = gemm_for(k, rows, a, b);
  char* const c = sums() + first * sums_.strides[0] * dtype_bytes(sums_.dtype);
  gemm.run(workspace_.get(), workspace_bytes_, c, a.data, b.data, alpha_, panels_ == 0 ? beta_ : 1,
           nullptr);
}

void LocalProduct::convert(const Layout& to, void* dst, const Layout& from, const void* src) {
  const Operator op(device_, make_convert_plan(to, from, nullptr, nullptr, Conversion{}));
  const size_t bytes = op.workspace_bytes();
  const Block workspace = bytes > 0 ? Block(pool_, bytes) : Block();
  OperatorRun run;
  run.workspace = workspace.get();
  run.operands[0] = dst;
  run.operands[1] = const_cast<void*>(src);
  op.run(run, bytes);
  device_.synchronize_stream(nullptr);
}

void LocalProduct::finish() {
  if (panels_ == 0) add(0, 0, c_.shape[0], {sums(), {1, 1}}, {sums(), {1, 1}});
  if (apart()) convert(c_, data_, sums_, memory_.get());
  device_.synchronize_stream(nullptr);
}

}  // namespace infini
