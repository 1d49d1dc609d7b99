// What a tile costs: a small model of one processor, in cycles.
#pragma once

#include "backends/gpu/tile_schedule.h"
#include "backends/gpu/tile_shape.h"

namespace infini::gpu {

// How often the first 32 threads' access to shared memory takes place because they ask one bank for
// different words: 1 is ideal.
int bank_conflicts(const TileSchedule& schedule);

// Cycles that a processor is busy with the store walk of a whole tile: instructions or shared
// memory.
double store_cycles(const TileSchedule& schedule);

// What one block of a kernel does; of full blocks, though some may lie partly beyond the ends of
// loops.
struct BlockWork {
  double tile_bytes;    // that it writes
  double moved_bytes;   // that come and go, counting what only its way costs
  double instructions;  // of all its warps
  double shared_bytes, blocks;
};

// Estimated cycles of one processor per byte that it writes.
constexpr double copy_cost = 0.13;  // of a plain copy
double cost_of_blocks(const BlockWork& work, const UnitNest& nest);
double cost_of_tiles(const TileSchedule& schedule, const UnitNest& nest);

}  // namespace infini::gpu
