// infinicore/ops.hpp: all operators.
#pragma once

#include "ops/gemm.hpp"
#include "ops/matmul.hpp"
#include "ops/pages.hpp"
#include "ops/rearrange.hpp"
#include "pattern.hpp"
