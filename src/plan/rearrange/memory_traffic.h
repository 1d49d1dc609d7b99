// What memory moves for a plan: it knows only whole lines, so layouts with gaps cost more than their bytes.
#pragma once

#include "plan/rearrange/rearrange_plan.h"

namespace infini {

struct MemoryTraffic {
  double read = 0, written = 0;  // bytes of whole lines
};

// Lines of `line` bytes (a power of two): each that holds a byte of src is read once, each that holds a byte of
// dst is written once, and is read before where only a part of it is written. Base pointers begin a line.
// Law: exact where every loop either fills the lines it spans or steps by whole lines; else the mean over the
// places in a line where a run can begin.
MemoryTraffic memory_traffic(const RearrangePlan& plan, int64_t line);

// The part of it that src takes: bytes of the lines that hold a byte of src.
double source_traffic(const RearrangePlan& plan, int64_t line);

}  // namespace infini
