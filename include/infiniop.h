/* infiniop.h: all operators (C99). Create a handle and descriptors once, run them many times. */
#ifndef INFINIOP_H
#define INFINIOP_H

#include "infiniop/handle.h"
#include "infiniop/operator_descriptor.h"
#include "infiniop/ops/gemm.h"
#include "infiniop/ops/rearrange.h"
#include "infiniop/ops/rearrange_batch.h"
#include "infiniop/tensor_descriptor.h"

#endif
