// A plan seen as a nest of loops around one unit: 1, 2, 4, 8 or 16 bytes that move as one word.
#pragma once

#include <cstdint>

#include "plan/rearrange/rearrange_plan.h"

namespace infini::gpu {

struct UnitNest {
  int unit = 1;  // bytes; divides every step of both sides
  int depth = 0;
  int64_t dst_offset = 0, src_offset = 0;
  ByteRange src_bytes;      // what the plan may read
  bool whole_lines = true;  // it wants most sectors of every line of src that it touches
  Loop loops[max_rank + 1];
};

// The largest unit up to max_unit (a power of two); a longer atom becomes the innermost loop.
UnitNest make_unit_nest(const RearrangePlan& plan, int max_unit);

}  // namespace infini::gpu
