// What gemm means, one element at a time, in the widest type there is.
#pragma once

#include "harness/gemm/gemm_problem.h"

namespace infini::harness {

// Elements as numbers. `write` rounds to nearest even.
long double read_element(infiniDtype_t dtype, const char* place);
void write_element(infiniDtype_t dtype, char* place, long double value);

// The unit round-off of a type, and half of its smallest denormal.
double unit_roundoff(infiniDtype_t dtype);
double half_denormal(infiniDtype_t dtype);

// One element of C: its value, and Σ|a||b|.
struct GemmElement {
  long double product = 0, magnitude = 0;
};
GemmElement naive_gemm_element(const GemmProblem& problem, const char* a, const char* b,
                               int64_t batch, int64_t row, int64_t col);

// The byte offset of element (batch, row, col) of a matrix or batch of matrices.
int64_t element_offset(const Layout& layout, int64_t batch, int64_t row, int64_t col);

}  // namespace infini::harness
