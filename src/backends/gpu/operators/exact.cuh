// Any number, exactly, on its way to an f32 or what is narrower.
#pragma once

#include <cmath>
#include <cstring>

#include "backends/gpu/operators/packs.cuh"

namespace infini::gpu {

// Any element, exactly.
struct Exact {
  enum Kind { real, negative, natural } kind;
  double value;       // real
  uint64_t natural_;  // magnitude of an integer
};

// Of the two f32 around it the one with an odd last bit, unless it is one of them: rounding that once more to fewer bits
// gives what rounding the number itself would have given.
__device__ inline float to_odd(const Exact& x) {
  float near;
  bool exact, below;  // near's magnitude is less
  if (x.kind == Exact::real) {
    near = static_cast<float>(x.value);
    const double back = near;
    exact = !(back != x.value) || back - back != 0;
    below = fabs(back) < fabs(x.value);
  } else {
    near = static_cast<float>(x.natural_);
    const bool full = near >= 18446744073709551616.0f;  // rounded up to 2^64
    const uint64_t back = full ? 0 : static_cast<uint64_t>(near);
    exact = !full && back == x.natural_;
    below = !full && back < x.natural_;
    if (x.kind == Exact::negative) near = -near;
  }
  uint32_t bits;
  memcpy(&bits, &near, sizeof bits);
  if (!exact && (bits & 1) == 0) bits += below ? 1 : -1u;
  memcpy(&near, &bits, sizeof bits);
  return near;
}

}  // namespace infini::gpu
