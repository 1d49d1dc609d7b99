// A rank's part of C = alpha·A·B + beta·C, summed up panel by panel of k.
//
// Sums of f16 and bf16 are kept in f32 between panels and rounded once, at the end.
#pragma once

#include <memory>
#include <vector>

#include "ops/gemm.h"
#include "ops/operator.h"
#include "reshard/staging.h"

namespace infini {

struct PanelOperand {
  const void* data = nullptr;
  int64_t strides[2] = {};  // in elements
};

class LocalProduct {
 public:
  // c is rows x columns, none of them 0.
  LocalProduct(Device& device, const Layout& c, void* data, double alpha, double beta);

  // Adds k columns of a times k rows of b to the rows [first, first + rows) of C. a begins at row `first`.
  void add(int64_t k, int64_t first, int64_t rows, const PanelOperand& a, const PanelOperand& b);
  // To be called once after every panel was added.
  void panel_done() { ++panels_; }
  // Afterwards C holds the product.
  void finish();

 private:
  struct Made {
    int64_t k, rows;
    PanelOperand a, b;
    std::unique_ptr<const Gemm> gemm;
  };
  const Gemm& gemm_for(int64_t k, int64_t rows, const PanelOperand& a, const PanelOperand& b);
  void convert(const Layout& to, void* dst, const Layout& from, const void* src);
  bool apart() const { return sums_.dtype != c_.dtype; }
  char* sums() const { return apart() ? memory_.get() : data_; }

  Device& device_;
  MemoryPool& pool_;
  const Layout c_;
  Layout sums_;
  char* const data_;
  const double alpha_, beta_;
  int64_t panels_ = 0;
  Block memory_;  // of sums that are kept apart from C
  Block workspace_;
  size_t workspace_bytes_ = 0;
  std::vector<Made> made_;
};

}  // namespace infini
