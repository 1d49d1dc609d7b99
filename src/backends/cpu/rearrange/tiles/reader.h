// Tiles whose rows are not moved as they are: somebody reads them into a buffer in L1, from which panels are transposed.
#pragma once

#include <memory>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/tiles/schedule.h"

namespace infini::cpu {

// Elements of dst that are read at a time stay in L1, beside what is carried; what is asked for meanwhile stays in L2.
constexpr int64_t read_buffer_bytes = 16 << 10, read_ahead_bytes = 32 << 10;
constexpr int64_t most_read_columns = read_buffer_bytes / line_bytes;

// Some columns of a panel's rows.
struct ReadRows {
  const char* src;
  const int64_t* of_row;  // their offsets from src
  int rows;
  int64_t ahead;  // so many of them have been asked for
  int64_t columns;
  int64_t outer, row,
      column;  // where they begin: numbers in the schedule's outer nest and its two sides
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual int64_t src_word() const = 0;  // bytes of an element in src
  // Elements as they are in dst, rows `step` bytes apart.
  virtual void read(char* to, int64_t step, const ReadRows& rows) const = 0;
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
