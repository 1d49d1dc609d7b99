// What a block costs: a small model of one processor, in cycles. Its weights are the device's (model/rearrange_costs.h).
#pragma once

#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/tile/shape.h"

namespace infini::gpu {

// Where rows of src or runs of dst begin and end: at lines of 128 bytes, at sectors, at vectors, or
// anywhere.
enum class Ends : uint8_t { lines, sectors, vectors, units };
constexpr int line_bytes = 128;
constexpr Ends ends_at(int64_t bytes) {
  return bytes % line_bytes == 0     ? Ends::lines
         : bytes % sector_bytes == 0 ? Ends::sectors
         : bytes % vector_bytes == 0 ? Ends::vectors
                                     : Ends::units;
}
struct Lie {
  Ends rows = Ends::lines, runs = Ends::lines;
};

// What one block does; of full blocks, though some may lie partly beyond the ends of loops.
struct BlockWork {
  double blocks, bytes;           // that it writes
  double shared_bytes, resident;  // blocks that a processor's registers hold
  // The load walk: rows, and by how many threads each is read, so many rows at a time.
  double rows, row_bytes, row_step;  // row_step: to the next row, if rows that touch are read once
  double row_rounds, row_depth;
  // The store walk: runs, each written so often, `piece` bytes by one instruction.
  double runs, run_bytes, run_traffic, repeats, piece;  // run_traffic: what memory moves for a run
  Lie lie;
  bool runs_far;             // they lie so far apart that every place counts
  double rounds, warps;      // vectors of each thread, threads that have some
  double at_once = 1;        // vectors that a thread waits for together
  double vector;             // instructions for one vector of a thread
  double words, word_bytes;  // how a vector is read from shared memory
  double once;               // all other instructions of the block
};

// Estimated cycles of one processor per byte that it writes. `conflicts`: how often an access to
// shared memory takes place because threads ask one bank for different words; 1 is ideal, so that
// the cost for 1 is the least that a better layout of the same tile can have.
double cost_of_block(const BlockWork& work, double conflicts, const UnitNest& nest,
                     const DeviceModel& device);
// The time of the whole launch, in nanoseconds, for a cost in cycles per byte.
double launch_ns(double cost, const UnitNest& nest, const DeviceModel& device);

// What a block spends on its start and on finding its place.
double start_instructions(int grid_depth, const TileCosts& costs);

// Threads' accesses to 32 banks of 4 bytes.
class Banks {
 public:
  void ask(int32_t byte);
  int conflicts() const { return worst_; }

 private:
  static constexpr int banks = 32;
  int32_t words_[banks][banks];
  int count_[banks] = {};
  int worst_ = 1;
};
// So many threads are served at a time, in words of so many bytes.
constexpr int bank_threads(int word_bytes) { return word_bytes <= 4 ? 32 : 128 / word_bytes; }

// Of the first threads' accesses, a mean over some units of their vectors.
double bank_conflicts(const TileSchedule& schedule);

Lie lie_of(const TileSchedule& schedule);
double run_traffic(const TileSchedule& schedule, bool gaps);
BlockWork work_of(const TileSchedule& schedule, const Lie& lie, const TileCosts& costs);

}  // namespace infini::gpu
