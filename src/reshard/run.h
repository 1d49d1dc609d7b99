// Moving a tensor from one distribution to another over a client's transport.
#pragma once

#include "contract/device.h"
#include "infinireshard.h"
#include "plan/reshard/reshard_plan.h"
#include "reshard/prepared.h"

namespace infini {

struct ReshardSettings {
  double timeout = 60;      // seconds without progress
  int64_t piece_bytes = 0;  // 0: by the number of ranks
  int64_t staging_bytes = 256 << 20;
  int tag = 0;
  bool agree = true;
  void* stream = nullptr;  // of rounds over device memory
};

// Collective over the transport's ranks. `kept` is what goes with the plan from run to run. Throws where this rank failed or, having agreed, any.
void run_reshard(Device& device, const ReshardPlan& plan, PreparedReshards& kept, void* dst,
                 const void* src, const ShardStrides& strides, const infiniTransport_t* transport,
                 const ReshardSettings& settings);

}  // namespace infini
