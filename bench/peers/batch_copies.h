// A peer of paged copies: CUDA's batch of many copies in one call (cuMemcpyBatchAsync, from 12.8 on), found at run time.
#pragma once

#include <cstddef>
#include <vector>

#include "contract/device.h"

namespace infini::bench {

// Copies of `bytes` each, from and to wherever the pointers lie.
struct BatchedCopies {
  std::vector<void*> dst, src;
  std::vector<size_t> bytes;
};

// Whether this device's driver has the call.
bool has_batched_copies(const Device& device);

// By one call; device.record_event(..., nullptr) comes behind all of them. Throws what the driver says.
void run_batched_copies(BatchedCopies& copies);

}  // namespace infini::bench
