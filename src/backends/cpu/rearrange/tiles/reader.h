// Tiles whose rows are not moved as they are: somebody reads them into one of two buffers in L1 while panels are transposed from
// the other.
#pragma once

#include <memory>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/tiles/schedule.h"

namespace infini::cpu {

// Columns that are read at a time, two lines of each row where a word is short and more where it is long: fewer would be short
// calls, and of more both buffers would not stay in L1 beside what is carried.
constexpr int64_t read_columns(int64_t word) { return word == 1 ? 128 : 64; }
constexpr int64_t read_buffer_bytes = 16 << 10;

// Some columns of a panel's rows.
struct ReadPart {
  const char* src;
  const int64_t* of_row;  // their offsets from src
  int rows;
  int64_t columns;
  int64_t outer, row,
      column;  // where they begin: numbers in the schedule's outer nest and its two sides
};
// What is walked at once: rows of one strip and chunk.
struct ReadTask {
  int64_t column, columns, row, rows, outer;
  int depth;  // lines of each column that the kernel writes together
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual int64_t src_word() const = 0;  // bytes of an element in src
  // Panel after panel down the rows, by a ReadWalk: `panel` is the first one, whose rows are not there yet.
  virtual void run_panels(const TileSchedule& schedule, PanelKernel kernel, const Panel& panel,
                          const ReadTask& task) const = 0;
};

class ReadTiles {
 public:
  virtual ~ReadTiles() = default;
  // Base pointers in, everything done when it returns. Does not throw.
  virtual void run_with(char* dst, const char* src, const RowReader& reader) const = 0;
};

// Of a schedule whose steps and offset in src are src's own, and that is not staged.
std::unique_ptr<ReadTiles> make_read_tiles(TileSchedule schedule, int64_t bytes, int threads);

}  // namespace infini::cpu
