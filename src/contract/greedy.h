// Which samples draw nothing: the host refuses senseless options of the others only. Shared by host and device.
#pragma once

#include "contract/kernels.h"

namespace infini {

// The first of the largest logits is taken.
constexpr bool is_greedy(const SampleOptions& options) {
  return options.random_val == 0 || options.topp == 0 || options.temperature == 0 ||
         options.topk == 1;
}

}  // namespace infini
