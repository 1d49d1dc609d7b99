// A gemm problem and its text form.
//
//   gemm bf16 m=64 n=96 k=128 batch=32
//   gemm f16 m=7 n=9 k=33 out=f32 a=t b=40,2 alpha=0.5 beta=1 c_at=2
//
// a=, b= and c= are strides in elements (with a batch given: batch, row, column); `t` is the
// transposed contiguous matrix, nothing is row-major contiguous. a_batch=1 and b_batch=1 broadcast.
// a_at=, b_at= and c_at= put base pointers that many bytes past an aligned address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/layout/layout.h"

namespace infini::harness {

struct GemmProblem {
  Layout c, a, b;
  double alpha = 1, beta = 0;  // rounded to f32 where the sums are
  int64_t c_at = 0, a_at = 0, b_at = 0;
};

// Throws BAD_PARAM (what is wrong with the text) or what make_layout throws.
GemmProblem parse_gemm(std::string_view text);
std::string to_text(const GemmProblem& problem);
bool is_gemm(std::string_view text);
const std::vector<std::string>& gemm_keys();

// 2·batch·m·n·k.
double flops(const GemmProblem& problem);
// Bytes that must move: a and b read once, c written once (and read when beta is not 0).
double compulsory_bytes(const GemmProblem& problem);

}  // namespace infini::harness
