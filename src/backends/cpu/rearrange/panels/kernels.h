// The micro-kernels of the tiled rearrangement: in-register transposes of panels.
//
// A panel is up to one 64-byte line of rows (64 / word elements, anywhere in src) by any number of
// columns (contiguous in src, anywhere in dst). Column c of the panel becomes rows * word contiguous
// bytes of dst. Every kernel reads and writes exactly the panel's elements.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"

namespace infini::cpu {

constexpr int64_t line_bytes = 64;
constexpr int64_t lane_bytes = 16;  // that are read of a row at least

// Bytes of each row in a tile of pairs of lines: 64 lines in all, but at least two of each row.
constexpr int paired_width(int word) { return word <= 4 ? 128 : 32 * word; }

// Columns that begin within lines go past the cache if all of them lie at multiples of so many bytes.
constexpr int skew_unit(int word) { return word < 4 ? word : 4; }

// Two tiles and where they stand; see stage.h.
struct Stage {
  static constexpr int tile_bytes = 16 << 10;
  alignas(64) char tile[2][tile_bytes];
  int turn = 0;        // the tile that is transposed next
  bool ready = false;  // it has been read already, at the end of the panel before
};

// Runs of dst that were put together in a buffer and leave it while other panels are put together, a line for every
// line that they take; meanwhile as many lines of what comes next are fetched.
// Each run has 64 bytes before it in the buffer, and may be read so far behind its end.
struct Outflow {
  struct Run {
    int64_t dst, buffer;
    bool operator==(const Run&) const = default;
  };
  const Run* run;  // that flows out now
  int64_t runs;    // that are left, with this one
  char* dst;
  const char* buffer;
  int64_t run_bytes;
  // The bytes of dst's line before a run stand before it in the buffer; those of its last line are not written, but
  // put before the run in this other buffer (or null) for the run that goes on there.
  bool carried;
  char* carry;
  char* to;  // of this run are left so many bytes, since begin()
  const char* from;
  int64_t left;
  const char* fetch;
  const int64_t* line;  // to be fetched from there, the next one
  int64_t lines;        // that are left
  int64_t credit;       // bytes that were put together since a line left
};

using OutflowKernel = void (*)(Outflow&);

// Rows that somebody puts together in L1 for the panel that comes next, while this one is transposed.
struct Filling {
  void (*fill)(Filling&, int rows);  // so many more of them
  int left;                          // rows
  int each;                          // that are put together at a time
  int every, blocks;                 // after so many blocks of columns; those since the last time
};

struct Panel {
  char* dst;
  const int64_t* dst_of_column;  // byte offsets from dst, `columns` of them
  const char* src;
  // Byte offsets from src, 64 / word of them (twice as many for pairs of lines): the last one repeated.
  const int64_t* src_of_row;
  // To cached kernels both tables may be null: then columns and rows lie this far apart.
  int64_t column_step, row_step;
  // The same of the panel that comes next and the one after it, to be fetched before, or null.
  const int64_t *next_of_row, *after_of_row;
  int64_t columns;
  int rows;          // 1 .. 64 / word, twice as many for pairs of lines
  Stage* stage;      // streaming
  char* carry;       // streaming with a skew: 64 bytes per column, 64-byte aligned
  bool first, last;  // the first or last panel of its columns' runs in dst
  bool soon;         // streaming in pairs: what is asked for has to be read soon
  bool staged;       // streaming single lines: through tiles in L1
  bool fetches_all;  // streaming: asks for all lines of the next panel
  bool asks;  // cached, with a table of columns: for lines of both sides, before it comes to them
  bool unwritten;    // streaming with a skew: only to be carried, since others write it
  Outflow* outflow;  // packed
  char* buffer;      // buffered
  const char* next;  // buffered: next_of_row counts from there
  Filling* filling;  // or null; nothing is fetched then
  bool reads_on;     // packed: 16 bytes may be read of every row, though it has fewer columns
  int64_t atom;      // atoms: bytes of each

  int64_t column(int64_t c) const { return dst_of_column ? dst_of_column[c] : c * column_step; }
  int64_t row(int r) const {
    return src_of_row ? src_of_row[r] : (r < rows ? r : rows - 1) * row_step;
  }
};

using PanelKernel = void (*)(const Panel&);

// Whole panels in the cache whose rows and columns lie equally far apart, and the same again `repeat`
// times in all, each time these steps further.
struct Tile {
  char* dst;
  const char* src;
  int64_t rows, columns;  // at least 64 bytes of rows and 32 of columns
  int64_t row_step, column_step;
  int64_t repeat, repeat_dst, repeat_src;
};

using TileKernel = void (*)(const Tile&);

struct PanelKernels {
  PanelKernel cached = nullptr;    // ordinary stores, any alignment
  PanelKernel streamed = nullptr;  // past the cache; every column 64-byte aligned, any `rows`
  PanelKernel paired =
      nullptr;  // the same, two lines of each column together; null where not offered
  PanelKernel paired_near = nullptr;  // the same of rows that lie in L1
  // Past the cache with columns at any multiple of skew_unit(word) bytes: whole lines are put together
  // from this panel and the one before it, which waits in `carry`; see skewed.h. Null where not
  // offered.
  PanelKernel skewed = nullptr;
  PanelKernel skewed_pairs = nullptr;  // the same, two lines of each column together
  TileKernel uniform = nullptr;        // or null
  // Of several lines of each column, put together in a buffer in L1; see buffered.h. Null where not offered.
  PanelKernel buffered = nullptr, buffered_streamed = nullptr;
  PanelKernel packed =
      nullptr;  // as cached, of rows that fill no line, too, and lets others flow out
  PanelKernel atoms = nullptr;              // the same of elements that are no words
  OutflowKernel begin = nullptr;            // of an outflow
  OutflowKernel finish = nullptr;           // lets flow out all that is left
  PanelKernel skewed_pairs_near = nullptr;  // skewed_pairs of rows that lie in L1
};

// word is 1, 2, 4, 8 or 16. The level must be offered by this machine.
PanelKernels panel_kernels(Isa level, int word);

// One per instruction set, each in a file of its own that is compiled for it.
PanelKernels panel_kernels_portable(int word);
PanelKernels panel_kernels_neon(int word);
PanelKernels panel_kernels_avx2(int word);
PanelKernels panel_kernels_avx512(int word);

// Makes streaming stores visible in order with later stores.
void streaming_fence();

}  // namespace infini::cpu
