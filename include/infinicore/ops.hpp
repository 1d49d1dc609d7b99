// infinicore/ops.hpp: all operators.
#pragma once

#include "ops/common/op.hpp"
#include "ops/elementwise.hpp"
#include "ops/gemm.hpp"
#include "ops/linear.hpp"
#include "ops/matmul.hpp"
#include "ops/ones.hpp"
#include "ops/pages.hpp"
#include "ops/rearrange.hpp"
#include "ops/rows.hpp"
#include "ops/zeros.hpp"
#include "pattern.hpp"
