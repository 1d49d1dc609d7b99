// What a reshard plan costs, in numbers: bytes and messages of each rank, and the time that a network would take.
#pragma once

#include "base/export.h"
#include "plan/reshard/reshard_plan.h"

namespace infini {

struct RankTotals {
  int64_t sends = 0, receives = 0;  // messages
  int64_t sent_bytes = 0, received_bytes = 0, local_bytes = 0;
};

struct ReshardTotals {
  int64_t messages = 0, wire_bytes = 0, local_bytes = 0;
  RankTotals most;       // the largest of each over the ranks
  int busiest_rank = 0;  // the first that sends or receives most bytes
};

INFINI_TOOL_EXPORT RankTotals totals_of(const ReshardPlan& plan, int rank);
INFINI_TOOL_EXPORT ReshardTotals totals_of(const ReshardPlan& plan);

// Ranks [k * node, (k + 1) * node) are neighbours where node > 0: messages between them take the inner numbers.
struct Network {
  double latency = 2e-6,
         bandwidth = 10e9;  // seconds a message, bytes a second of each rank in each direction
  int node = 0;
  double inner_latency = 5e-7, inner_bandwidth = 50e9;
  double memory = 0;  // bytes a second by which a rank packs, unpacks and copies; 0: at once
};

struct ReshardTime {
  double seconds = 0;       // of the slowest rank
  double wire_seconds = 0;  // of the rank with the most wire time
  double copy_seconds = 0;  // of the rank that packs, unpacks and copies longest
  int slowest_rank = 0;
};

// Every rank sends and receives at once, one message after the other in each direction, and copies meanwhile.
INFINI_TOOL_EXPORT ReshardTime expected_time(const ReshardPlan& plan, const Network& network);

}  // namespace infini
