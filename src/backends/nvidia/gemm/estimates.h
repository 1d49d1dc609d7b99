// What each candidate says of a product, on a GPU that need not be there: whether it can, and how long that takes. Pure
// host code; candidates.cpp makes kernels of it.
//
// A launch takes the time of its start, and then so many times what the device would need at the least, for its arithmetic
// or for its bytes. Each candidate has the domain in which it was measured to come near that; elsewhere it says that it
// is far from it.
#pragma once

#include <limits>

#include "backends/gpu/model/device_model.h"
#include "backends/nvidia/gemm/fitted_costs.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::nvidia {

struct GemmMachine {
  gpu::DeviceModel model;
  int capability = 0;  // 10·major + minor; 0: unknown
  bool allow_tf32 = false;
  const GemmCosts* costs = &hopper_products;
};

struct GemmEstimate {
  double nanoseconds = std::numeric_limits<double>::infinity();  // infinite: cannot
  const char* why_not = "";
};

// The time below which no kernel can be: arithmetic or bytes, whichever takes longer.
double least_ns(const GemmMachine& machine, const GemmPlan& plan);

GemmEstimate estimate_weights(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_ring(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_boxes(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_small(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_stream(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_skinny(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_padded(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_lt(const GemmMachine&, const GemmPlan&);
GemmEstimate estimate_generic(const GemmMachine&, const GemmPlan&);

// Whether `ring` takes less time than the library with a beta and a C of 16 bits, which it would round twice: it then needs
// f32 sums of its own and a pass over C.
bool ring_adds(const GemmMachine&, const GemmPlan&);

// The candidate that bids least: what a device like this would run, if no library or driver refuses.
const char* cheapest_gemm(const GemmMachine& machine, const GemmPlan& plan);

}  // namespace infini::nvidia
