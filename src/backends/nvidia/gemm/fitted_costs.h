// What products cost on an NVIDIA GPU beside what the chip says of itself: fitted to measurements, one table for each kind of
// chip on which that was done. The formulas are in estimates.cpp.
#pragma once

#include <cstdint>

namespace infini::nvidia {

struct GemmCosts {
  const char* fitted_on;
  // From one launch to the next, as a caller sees it, in ns: kernels of ours begin while the one before them ends, the
  // library's do not. Among ours those that were measured faster where several are in their domain begin a little earlier.
  struct {
    double weights, ring, boxes, small, stream, skinny, library, generic;
  } start;
  // Times the least that the device would need, inside and outside of the domain in which a candidate of ours was
  // measured; outside, its start takes so much longer, too.
  double near_least, far_from_least, unmeasured_start;
  // The library's, times the least: of arithmetic and of bytes; of arithmetic where rows do not begin at multiples of 16
  // bytes, and where there are fewer than `thin` rows or columns besides.
  double library_arithmetic, library_bytes, ragged_arithmetic, thin_ragged_arithmetic, thin;
  double copy_bytes;        // of copying operands to padded ones and back: times the least
  double pack_start;        // of each of the launches around a padded product,
  double packs;             // of which there are so many
  double plain_arithmetic;  // times the least, without matrix units
  double
      skinny_elements;  // of B: with fewer all comes from the cache, and the library is as fast as `skinny`
  // Of the chip's memory: what `ring` reads at, and what a pass over C by f32 sums moves, which starts so late.
  double ring_bytes, pass_bytes, pass_start;
};

// H200, driver 580, cuBLASLt 13: docs/benchmarks-gemm-nvidia.md, docs/lab/gemm-nvidia-own-kernels.md and the 116 products of
// docs/lab/gemm-choice.md. Chips that nobody fitted costs to take these.
extern const GemmCosts hopper_products;

}  // namespace infini::nvidia
