// Running a problem on a device through the C API and comparing every byte with the reference.
#pragma once

#include <cstdint>
#include <string>

#include "harness/rearrange/problem.h"
#include "infinirt.h"

namespace infini::harness {

struct Verdict {
  bool passed = false;
  std::string message;  // of a failure: what differs, then the command that reproduces it
};

// Compares dst with the reference, and sees that no byte outside dst's elements and none of src
// changed. Uses the calling thread's current device. `stream` may be null.
Verdict check(const RearrangeProblem& problem, uint64_t seed = 1,
              infinirtStream_t stream = nullptr);

}  // namespace infini::harness
