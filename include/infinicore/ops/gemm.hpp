// infinicore/ops/gemm.hpp: c = alpha·a·b + beta·c, batched, any strides.
#pragma once

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// [m,k]·[k,n] -> [m,n], or with a leading batch dim that is equal on all sides or 1 for a or b. The
// result is new, so beta must be 0.
INFINI_EXPORT Tensor gemm(const Tensor& a, const Tensor& b, double alpha = 1.0, double beta = 0.0);
// In place. alpha and beta are rounded to the type of the sums, f64 for F64 and f32 for all others.
// With beta == 0 c is not read, with alpha == 0 a and b are not.
INFINI_EXPORT void gemm_(const Tensor& c, const Tensor& a, const Tensor& b, double alpha = 1.0,
                         double beta = 0.0);

// A prepared product that can be run many times.
class INFINI_EXPORT Gemm : public graph::GraphOperator {
 public:
  Gemm(const Tensor& c, const Tensor& a, const Tensor& b, double alpha, double beta);
  ~Gemm() override;
  // Records when this thread is recording, else runs.
  static void execute(const Tensor& c, const Tensor& a, const Tensor& b, double alpha,
                      double beta) {
    gemm_(c, a, b, alpha, beta);
  }
  void run() const override;
  std::string describe() const override;
  detail::Step* step() const override { return step_.get(); }

 private:
  std::unique_ptr<detail::Step> step_;
};

}  // namespace infinicore::op
