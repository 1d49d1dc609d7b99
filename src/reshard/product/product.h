// A product of matrices that are spread over ranks, over a client's transport.
#pragma once

#include "contract/device.h"
#include "plan/reshard/product_plan.h"
#include "reshard/run.h"

namespace infini {

// This rank's parts; strides in elements, empty for row-major.
struct ProductOperands {
  void* c = nullptr;
  const void *a = nullptr, *b = nullptr;
  std::vector<int64_t> c_strides, a_strides, b_strides;
  double alpha = 1, beta = 0;
};

// Collective over the transport's ranks. Throws where this rank failed or, having agreed, any.
void run_product(Device& device, const ProductPlan& plan, const ProductOperands& operands,
                 const infiniTransport_t* transport, const ReshardSettings& settings);

}  // namespace infini
