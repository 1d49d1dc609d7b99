// Cutting a rearrange plan into tiles for the XPU: pure host code, no SDK.
//
// Law: the (dst byte, src byte) pairs that the tiles of all launches move are exactly those of the
// plan, each once; every tile fits into its buffers. (schedule_test.cpp walks the tiles and
// counts.)
#pragma once

#include <string>

#include "backends/kunlun/rearrange/tile.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::kunlun {

// Who owns a tile and how it is moved.
enum class Walk {
  rows,           // a core: bursts into local memory, stored from there as they are
  cluster_tiles,  // a cluster: bursts into shared memory, picked into the cores' local memories
  core_tiles,     // a core: bursts into local memory, picked into a second buffer
};

struct Schedule {
  Walk walk = Walk::core_tiles;
  TileArguments arguments{};
  int clusters = 1, cores = 1;  // the launch
  bool reads_gaps = false;      // bursts contain bytes of src that are not the plan's
  double cost = 0;              // estimated, in bytes of traffic per byte moved
  double mean_burst = 0;        // bytes per DMA of a whole tile
  // Loops beyond what one launch can hold: the host walks them, one launch per point.
  int outer_depth = 0;
  Loop outer[max_rank];
};

// Every walk can run every plan that moves something; they differ in cost.
Schedule make_schedule(const RearrangePlan& plan, Walk walk, int device_clusters);

const char* walk_name(Walk walk);
std::string to_string(const Schedule& schedule);

}  // namespace infini::kunlun
