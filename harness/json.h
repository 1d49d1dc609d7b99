// JSON for the harness and what stands on it.
#pragma once

#include "base/json.h"

namespace infini::harness {

using infini::json_array;
using infini::json_number;
using infini::json_string;
using infini::JsonObject;

}  // namespace infini::harness
