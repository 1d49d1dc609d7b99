// infinicore.hpp: the whole C++ API. See docs/tensors.md for a worked example.
#pragma once

#include "infinicore/context/context.hpp"
#include "infinicore/device.hpp"
#include "infinicore/device_event.hpp"
#include "infinicore/dtype.hpp"
#include "infinicore/error.hpp"
#include "infinicore/graph/graph.hpp"
#include "infinicore/io.hpp"
#include "infinicore/memory.hpp"
#include "infinicore/ops.hpp"
#include "infinicore/scalar.hpp"
#include "infinicore/tensor.hpp"
