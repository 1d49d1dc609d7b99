// Products over named axes, "b i k, b k j -> b i j", as the product of matrices that they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/layout/layout.h"

namespace infini {

// The dims of each tensor by what they do. Each list has dims of a, of b or of c; lists of one kind are in one order.
// Law: c[batch, row, column] = sum over a[batch, row, sum]·b[batch, sum, column].
struct ProductPattern {
  struct Dims {
    std::vector<size_t> a, b, c;
  };
  Dims batch, rows, columns, sums;  // rows lack b, columns lack a, sums lack c
  std::vector<int64_t> shape;       // of c
};

// Names are words where each tensor has as many dims as words, else single letters. Throws BAD_PARAM, and
// BAD_TENSOR_SHAPE where one axis has two sizes.
ProductPattern product_of(std::string_view text, const std::vector<int64_t>& a,
                          const std::vector<int64_t>& b);

}  // namespace infini
