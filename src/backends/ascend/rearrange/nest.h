// Small algebra on nests of loops: fusing, dense orders, and the views that operators get.
#pragma once

#include "backends/ascend/rearrange/rearrange_schedule.h"

namespace infini::ascend {

Nest to_nest(const RearrangePlan& plan);

// Fuses neighbouring loops and absorbs the innermost into the atom. Same pairs of bytes.
Nest fused(Nest nest);

// The two halves of a nest through dense memory. The dense side holds each source byte once when
// `broadcast_late`, so that the first half is small.
struct Halves {
  Nest gather, scatter;
  int64_t dense_bytes;
};
Halves halves(const Nest& nest, bool broadcast_late);

// The same destinations, with every source step positive; the order along those loops is reversed.
Nest all_forward(Nest nest);

bool any_negative(const Nest& nest);
bool any_broadcast(const Nest& nest);
bool is_flat(const Nest& nest);  // one atom

// Whether `element` divides the atom and every step of both sides.
bool divides(int64_t element, const Nest& nest);
int64_t largest_element(const Nest& nest, int64_t alignment);

// Dims that an operator needs for the loops behind `outer`.
int operator_rank(const Nest& nest, size_t outer, int64_t element);

}  // namespace infini::ascend
