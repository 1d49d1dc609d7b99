// The tile schedule: how a block moves a piece of the plan through shared memory.
//
// A tile is a product of (parts of) the plan's loops. Two chains of loops shape it: the D chain
// makes one contiguous run of bytes in dst, the S chain one dense stretch of src. Loops may be in
// both.
//   load:  every stretch of src (a row) is copied into shared memory as it lies in memory, byte for
//          byte, gaps included, with aligned 16-byte accesses: the row's image.
//   store: every run of dst is written with aligned 16-byte accesses; each vector is gathered from
//          the images, unit by unit. Runs with gaps, whose units share sectors without touching,
//          are written by a thread for every unit, neighbours side by side.
// Neither side needs an aligned pitch. The images' pitches are those of src modulo 16, so that
// every image lies in its vectors as its row does, and where a unit is found stays linear in all
// loops; the first and last vector of a run may be partial. Law: over all tiles every unit of the
// plan is written exactly once with the value of its source; reads stay inside src_range(plan);
// writes touch dst's elements alone.
//
// The walk functions below are constexpr: kernels and the host interpreter that proves the law
// execute the same code. C++17.
#pragma once

#include <cstdint>

#include "backends/gpu/rearrange/grid.h"

namespace infini::gpu {

constexpr int tile_threads = 256;
constexpr int max_tile_loops = 8;

// How a thread finds what it gathers.
enum class Gather : int32_t {
  each,      // at offsets that it looks up for every vector
  prepared,  // at offsets that it looks up once: its vectors are whole periods of the loops apart
  linear,    // at even distances: one loop, all runs aligned
  columns,   // as linear, 4 bytes of neighbouring runs at a time (units of 1 and 2 bytes)
  single,    // units of runs with gaps, each written by itself
  staged,  // at offsets that serve all runs, into a copy of the runs in shared memory that begin at
           // vectors there; from it they are shifted to where they lie in dst
  words,   // words of 4 bytes, each by a thread of its own: runs of short units that begin anywhere
};

constexpr bool looks_up(Gather gather) {
  return gather <= Gather::prepared || gather >= Gather::staged;
}
// Threads go from run to run in no order that would be theirs: where runs lie is written down.
constexpr bool lists_runs(Gather gather) {
  return gather == Gather::each || gather >= Gather::single;
}

// A loop inside the tile, as one of the three walks sees it.
struct TileLoop {
  FastDivisor extent;
  int32_t image;  // bytes from step to step in the images
  int64_t step;   // bytes in src (row walk) or in dst (the others)
};

// Values that differ in the last tile along a loop that the tile cuts: [0] whole, [1] last.
using Clipped = int32_t[2];

struct TileSchedule {
  Gather gather;
  int32_t unit;
  uint32_t tiles, shared_bytes;
  // The grid, fastest loop first. d_cut, s_cut and r_cut: the grid loops whose last index is a
  // clipped tile (of the run, the row, the repeats), or -1.
  int32_t grid_depth, d_cut, s_cut, r_cut;
  int32_t run_depth, runs_depth, row_depth;
  int64_t dst_offset, src_offset;
  int64_t src_begin, src_end;   // where reads may go
  int64_t rows_low, rows_high;  // how far rows start from the first, at most
  // Positions in a run of dst (D chain), runs in a tile (loops of S alone), rows of a tile (loops of D
  // alone), and the bytes of one row's image.
  Clipped run_units, runs, rows, row_bytes;
  // The lowest src address of a tile lies this many bytes below its first element (steps < 0).
  Clipped below;
  // Every run is written so many times, repeat_step bytes apart: a loop that src does not know.
  // So many in turn begin elsewhere in their vectors or words, which are gathered anew for each of these; words that
  // begin alike are written with what was gathered once.
  Clipped repeats;
  int32_t repeats_apart;
  int64_t repeat_step;
  // The load walk: so many threads share a row, [1] where rows may begin anywhere in their sectors.
  FastDivisor row_lanes[2];
  int32_t rows_even;      // all rows of a tile begin alike in their vectors,
  int32_t rows_sectored;  // in their sectors
  int32_t rows_listed;    // where rows lie is written down first, in shared memory
  uint32_t rows_at;
  int32_t whole_lines;  // src is fetched by lines rather than sectors
  // Steps of the run's innermost loop are rows and 2^skew_bits of them are followed by a vector,
  // which spreads the banks; 31: no such place.
  uint32_t skew_bits;
  // The store walk: so many threads stand side by side along a run and go on together, at so many
  // runs. `each` takes all vectors of all runs one after the other instead.
  FastDivisor lanes;
  uint32_t run_threads;
  int32_t runs_alike;    // words: all runs of a thread begin alike in their words
  int32_t lanes_image;   // how far the images of a thread's vectors lie apart
  FastDivisor period;    // positions, a multiple of the vector's, after which offsets repeat ...
  int32_t period_image;  // ... this many bytes on
  int32_t one_step;      // a run is shorter than its threads: nothing repeats
  int32_t unit_image;    // linear: from position to position
  // In shared memory behind the images: where the first positions are found, in 32 bits each.
  uint32_t table_at, table_units;
  // staged: where the copies of the runs lie, one vector before and behind them included; the vectors
  // of each; by how many bytes it goes to dst (16, or 4 where runs are short), in so many pieces.
  uint32_t stage_at, stage_vectors;
  int32_t out_bytes;
  FastDivisor out_pieces;
  // Where the runs lie (each, single and staged), if that takes more than one loop.
  uint32_t runs_at;
  FastDivisor
      by_runs[2];  // single: repeats are shared out to threads after runs, [1] of clipped tiles
  // single: 2^16 by the bytes from position to position, rounded up, where threads side by side begin at a sector, which
  // may lie before their run; else 0.
  int32_t per_place;
  TileLoop run[max_tile_loops];   // positions in a run: image, step in dst
  TileLoop many[max_tile_loops];  // runs of a tile: image, step in dst
  TileLoop row[max_tile_loops];   // rows of a tile: image, step in src
  GridLoop grid[max_grid_loops];
};
static_assert(sizeof(TileSchedule) <= 2048, "kernel arguments travel with every launch");

// Threads 2k and 2k + 1 fetch a sector together when they ask for its two vectors; of two sectors' halves each fetches a
// sector of its own. So a walk along a row that may begin anywhere begins at the row's sector, by an even number of threads.
constexpr int32_t before_row(uintptr_t start) {
  return static_cast<int32_t>(start & (sector_bytes - 1));
}
constexpr bool holds_some(int32_t at, int32_t row_bytes) {  // of a row: its vector at byte `at`
  return at > -vector_bytes && at < row_bytes;
}
// For a row that may begin `more` bytes behind its sector.
constexpr int64_t walk_lanes(int64_t bytes, int64_t more) {
  const int64_t lanes = (bytes + more + vector_bytes - 1) / vector_bytes;
  return lanes > 1 ? (lanes + 1) / 2 * 2 : 1;
}

// Where one tile lies and how far it reaches.
struct TilePlace {
  int64_t dst, src;  // offsets of the first element from the base pointers
  int32_t below, run_units, runs, rows, row_bytes, repeats;
};

constexpr TilePlace place_tile(const TileSchedule& s, uint32_t tile) {
  TilePlace place{s.dst_offset, s.src_offset, 0, 0, 0, 0, 0, 0};
  bool d_last = false, s_last = false, r_last = false;
  for (int i = 0; i < s.grid_depth; ++i) {
    const GridLoop& loop = s.grid[i];
    const uint32_t digit = take_digit(tile, loop.extent);
    place.dst += digit * loop.dst_step;
    place.src += digit * loop.src_step;
    const bool last = digit + 1 == loop.extent.divisor;
    if (i == s.d_cut) d_last = last;
    if (i == s.s_cut) s_last = last;
    if (i == s.r_cut) r_last = last;
  }
  place.run_units = s.run_units[d_last];
  place.rows = s.rows[d_last];
  place.runs = s.runs[s_last];
  place.row_bytes = s.row_bytes[s_last];
  place.below = s.below[s_last];
  place.repeats = s.repeats[r_last];
  return place;
}

// Where step `number` of a walk lies: in src (rows) or dst (runs), and in the images.
struct WalkPlace {
  int64_t step;
  int32_t image;
};

// The digit of loop i of `depth`; the last loop takes what is left.
constexpr uint32_t loop_digit(uint32_t& n, const TileLoop& loop, bool last) {
  return last ? n : take_digit(n, loop.extent);
}

constexpr WalkPlace place_step(const TileLoop* loops, int depth, uint32_t number) {
  WalkPlace place{0, 0};
  for (int i = 0; i < depth; ++i) {
    const uint32_t digit = loop_digit(number, loops[i], i + 1 == depth);
    place.step += digit * loops[i].step;
    place.image += static_cast<int32_t>(digit) * loops[i].image;
  }
  return place;
}

// The rows and the runs of a tile.
constexpr uint32_t skewed(const TileSchedule& s, uint32_t digit) {
  return (digit >> s.skew_bits) * vector_bytes;
}
constexpr WalkPlace place_row_image(const TileSchedule& s, uint32_t row) {
  WalkPlace place = place_step(s.row, s.row_depth, row);
  if (s.skew_bits < 31 && s.row_depth > 0) {
    const uint32_t digit =
        s.row_depth == 1 ? row : row - divide(row, s.row[0].extent) * s.row[0].extent.divisor;
    place.image += static_cast<int32_t>(skewed(s, digit));
  }
  return place;
}
constexpr WalkPlace place_run(const TileSchedule& s, uint32_t run) {
  return place_step(s.many, s.runs_depth, run);
}

// Where a position of a run lies in dst, and where it is found in the images, those of the tile's
// lowest address being at 0.
constexpr WalkPlace place_position(const TileSchedule& s, uint32_t position) {
  const uint32_t digit =
      s.run_depth == 1 ? position
                       : position - divide(position, s.run[0].extent) * s.run[0].extent.divisor;
  WalkPlace place = place_step(s.run, s.run_depth, position);
  place.image += static_cast<int32_t>(skewed(s, digit));
  return place;
}
constexpr int32_t position_image(const TileSchedule& s, uint32_t position) {
  return place_position(s, position).image;
}

// The table begins and ends with entries of units that lie beyond the run and are never taken: a
// vector may begin before its run, and end behind it. (Copies of runs take them, but never further.)
constexpr uint32_t table_position(const TileSchedule& s, const TilePlace& place, uint32_t entry) {
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  const uint32_t last =
      (s.one_step ? static_cast<uint32_t>(place.run_units) : s.table_units - 2 * units) - 1;
  return entry < units ? 0 : entry - units > last ? last : entry - units;
}

// What a thread writes of the table: neighbouring entries.
struct TableShare {
  uint32_t first, end;
};
constexpr TableShare share_table(const TileSchedule& s, uint32_t thread) {
  const uint32_t part = (s.table_units + tile_threads - 1) / tile_threads;
  const uint32_t first = thread * part, end = first + part;
  return {first < s.table_units ? first : s.table_units, end < s.table_units ? end : s.table_units};
}
// All of them lie in the run, and at most one end of the innermost loop among them.
constexpr bool share_is_plain(const TileSchedule& s, const TilePlace& place,
                              const TableShare& share) {
  const auto units = static_cast<uint32_t>(vector_bytes / s.unit);
  return share.first >= units && share.end > share.first &&
         table_position(s, place, share.end - 1) == share.end - 1 - units && s.run_depth > 1 &&
         share.end - share.first <= s.run[0].extent.divisor;
}
// Positions that follow one another: the loops behind the innermost stand still, but for one step.
struct TableWalk {
  uint32_t digit;        // of the innermost loop
  int32_t image, after;  // of the others, before and after its end
};
constexpr TableWalk walk_table(const TileSchedule& s, uint32_t position) {
  const uint32_t rest = divide(position, s.run[0].extent);
  return {position - rest * s.run[0].extent.divisor,
          place_step(s.run + 1, s.run_depth - 1, rest).image,
          place_step(s.run + 1, s.run_depth - 1, rest + 1).image};
}
constexpr int32_t table_image(const TileSchedule& s, const TableWalk& walk, uint32_t i) {
  const uint32_t on = walk.digit + i, extent = s.run[0].extent.divisor;
  const uint32_t digit = on < extent ? on : on - extent;
  return (on < extent ? walk.image : walk.after) + static_cast<int32_t>(digit) * s.run[0].image +
         static_cast<int32_t>(skewed(s, digit));
}

// Where a vector's positions are found in the table: at entries from `entry` on, plus `image`.
struct PreparedVector {
  uint32_t entry;
  int32_t image;
};

// `first` may lie before the run by less than a vector.
constexpr PreparedVector find_vector(const TileSchedule& s, int32_t first) {
  const int32_t units = vector_bytes / s.unit;
  if (s.one_step) return {static_cast<uint32_t>(first + units), 0};
  const uint32_t position = static_cast<uint32_t>(first) + s.period.divisor;
  const uint32_t periods = divide(position, s.period);
  return {position - periods * s.period.divisor + units,
          (static_cast<int32_t>(periods) - 1) * s.period_image};
}

// words: what the run has of the word that begins `first` units behind its first. Nothing, all, or a stretch, which is at
// most a half and a byte, or the two bytes in the middle.
struct WordPart {
  bool whole, has_half, has_byte, has_third;
  int8_t half,
      byte;  // where they begin in the word; the third byte is the other of two in the middle
};
constexpr WordPart part_of_word(const TileSchedule& s, const TilePlace& place, int32_t first) {
  const int32_t units = 4 / s.unit, left = place.run_units - first;
  const int32_t begin = first < 0 ? -first * s.unit : 0,
                end = (left < units ? left : units) * s.unit;
  WordPart part{};
  if (begin >= end) return part;
  part.whole = begin == 0 && end == 4;
  const bool low = begin == 0 && end >= 2, high = begin <= 2 && end == 4;
  part.has_half = low != high;
  part.half = low ? 0 : 2;
  const int32_t rest = end - begin - (part.has_half ? 2 : 0);
  part.has_byte = !part.whole && rest % 4 != 0;
  part.byte = static_cast<int8_t>(low ? 2 : begin);
  part.has_third = begin == 1 && end == 3;
  return part;
}

// The vector and the run (in columns: the group of runs) that a thread starts with.
struct ThreadPlace {
  uint32_t vector, run;
};

constexpr ThreadPlace place_thread(uint32_t thread, const FastDivisor& lanes) {
  const uint32_t run = divide(thread, lanes);
  return {thread - run * lanes.divisor, run};
}
constexpr ThreadPlace place_thread(const TileSchedule& s, uint32_t thread) {
  return place_thread(thread, s.lanes);
}

// Single units: run and repeat `number` of a tile.
struct RepeatedRun {
  uint32_t run, repeat;
};
constexpr RepeatedRun find_repeat(const TileSchedule& s, const TilePlace& place, uint32_t number) {
  const uint32_t repeat = divide(number, s.by_runs[place.runs != s.runs[0]]);
  return {number - repeat * static_cast<uint32_t>(place.runs), repeat};
}

// So many places before a run that begins at `address` threads begin, so that they do at a sector.
constexpr int32_t places_before(const TileSchedule& s, uintptr_t address) {
  return static_cast<int32_t>(address & (sector_bytes - 1)) * s.per_place >> 16;
}

// Piece `number` of all that the runs of a tile touch in dst.
struct StagedPiece {
  int32_t from;  // the first of the two pieces of the copies that it is made of, in bytes from them
  int32_t at;    // where it lies in its run, in bytes; below 0 where it begins before
  int32_t shift;  // its first byte in the two
};
// `lead`: by how many bytes its run begins behind a multiple of a piece.
constexpr StagedPiece find_staged(const TileSchedule& s, uint32_t run, uint32_t number, int lead) {
  const uint32_t piece = number - run * s.out_pieces.divisor;
  const auto at = static_cast<int32_t>(piece) * s.out_bytes;
  return {static_cast<int32_t>(run * s.stage_vectors) * vector_bytes + at -
              (lead == 0 ? 0 : s.out_bytes),
          at - lead, -lead & (s.out_bytes - 1)};
}

// Repeats that begin alike are written in one turn.
constexpr int32_t repeat_turns(const TileSchedule& s, int32_t repeats) {
  return repeats < s.repeats_apart ? repeats : s.repeats_apart;
}
constexpr int32_t repeats_in_turn(const TileSchedule& s, int32_t repeats, int32_t turn) {
  return (repeats - turn + s.repeats_apart - 1) / s.repeats_apart;
}

// Linear gathering wants dst addresses that are multiples of the vector, columns also src addresses
// that are multiples of 4. When the bases are not, the same schedule runs as `prepared`.
constexpr Gather for_any_base(Gather gather) {
  return gather == Gather::linear || gather == Gather::columns ? Gather::prepared : gather;
}
constexpr bool bases_allow(Gather gather, uintptr_t dst, uintptr_t src) {
  if (gather == Gather::columns && src % 4 != 0) return false;
  return gather == for_any_base(gather) || dst % vector_bytes == 0;
}

}  // namespace infini::gpu
