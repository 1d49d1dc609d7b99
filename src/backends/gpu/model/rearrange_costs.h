// What Rearrange's kernels cost beside what a chip says of itself: weights fitted to measurements, one profile for each
// kind of chip on which that was done. The formulas are in rearrange/costs.cpp, rearrange/tile/cost.cpp and
// rearrange/transpose/cost.cpp; every number of theirs that is not one of these is a count.
#pragma once

namespace infini::gpu {

// Of every launch.
struct LaunchCosts {
  double start_ns;          // from one launch to the next, when nothing else is to be done
  double driver_copy_ns;    // that the driver's own copy takes longer to start than a kernel
  double tiny_saved_ns;     // that `tiny` starts faster than other kernels
  double issues_per_cycle;  // instructions of warps that one processor issues
  double copy_of_bus;       // of what the bus can carry: a plain copy
  double floor_of_copy;     // of a plain copy's time: what no kernel comes below
  double beside_longer;     // what is seen of the shorter of memory and instructions
};

// A warp's instructions for a unit (a vector): always, for each loop that it is in, for each sector that the warp touches.
struct PlaceCosts {
  double once, loop, sector;
};

// Kernels that move bytes without a detour through shared memory.
struct PlainCosts {
  PlaceCosts tiny, rows, scatter, generic;
  double row_one_by_one;  // instructions of a unit of `rows`, where rows are moved unit by unit
  double rows_even;       // of a copy's time, where both sides' rows lie alike in their vectors;
  double rows_shifted;    // where they do not
  // In bytes of the row, what the parts of vectors at its ends cost, in units of 1, 2, and 4 or 8 bytes.
  double row_end_bytes[3];
  // Times that a byte is moved which src repeats, as above.
  double repeated_even, repeated_shifted;
  // Of what lies beside a short row in its sectors: no longer in a cache when it is wanted.
  double row_sectors_lost;
  double planes;              // of a copy's time: all accesses of `planes` are whole vectors
  double planes_once;         // instructions of a vector of `planes`: always,
  double planes_unit_bytes;   // and so many by the bytes of a unit
  double scatter_short;       // instructions of a unit of `scatter`, where a block has one row
  double generic_of_sectors;  // of the time that sectors and instructions of `generic` say
  double sectors_joined;      // of sectors that several warps touch: what the caches join
};

// `fill`, in instructions of a warp, counted in the machine code, not fitted.
struct FillCosts {
  double vector;         // for a vector of each thread,
  double run, run_loop;  // to list a run for each thread, for each loop that it is in,
  double end;            // where some threads have the end of a stretch
};

// One processor that runs tiles (`tile`, `staged`, `words`, `single`, `transpose`).
struct TileCosts {
  double bus_share;   // of the processor's share of the bus, since not all processors wait at once;
                      // in bytes, what else takes time:
  double row_place;   // another row to read,
  double row_line;    // the rest of its first and last line,
  double run_place;   // another place to write to,
  double far_place;   // far away from the last,
  double far_bytes;   // which is beyond so many bytes,
  double split_line;  // a line that two runs share,
  double split_sector;  // a sector,
  double split_vector;  // a vector.
  // Instructions of a warp:
  double block_start, grid_loop;
  double row_loop;               // for each thread's row,
  double listed_row_loops;       // of which a row that all threads find together takes so many;
  double table_loop, look_up;    // for 32 entries of a table, for an offset from it
  double part_byte, part_unit;   // for each unit of a partial vector
  double repeat;                 // to write a vector once more
  double single, single_turned;  // for a unit of `single`: in one loop, in several
  double single_run;  // and for each of its runs where these are found from the first, else
  double single_place, single_loop;  // for each of its places, for each loop of those
  double word, word_unit;            // for a word of `words`, for each unit of it,
  double word_alike;                 // of that, where the runs of a thread begin alike
  double word_again;  // for each time it is written again with what is in the registers
  double word_table_entry, word_entry;  // for an entry of its table, for an offset of a word's unit
  double staged_words;                  // words that `staged` reads for a vector, to shift it
  double staged_vector, staged_other;   // for a shifted vector, a shifted word or part of one
  // For one vector: for itself and for each of its units, by how the units are found.
  struct Gather {
    double once, unit;
  } each, prepared, linear, staged, words;
  // Cycles:
  double bank;                    // for a word of each of 32 threads
  double vector_wait, word_wait;  // until a vector is there, for each word
  // For a warp's store of units of 1, 2, 4 bytes and more to 1, 2, 4 places and more; times as long where a unit shorter
  // than a word does not begin at its place.
  double single_stores[3][3], single_askew;
  double beside_longest;      // what is seen of what goes on beside the longest
  double tail;                // of the last blocks
  double large, large_bytes;  // of blocks that take so many bytes of shared memory
  double block_shared_bytes;  // that a block takes beside its own
  // Blocks of which a processor's registers hold all at once: tiles, those that look up bytes, words.
  double resident, resident_bytes, resident_words;
  // Of what the model says, which was fitted to tiles of vectors: measured with the other kinds of stores, `words` in units
  // of 1, 2 and 4 bytes. Single units never come nearer to the floor than so many times.
  double of_staged, of_words[3], of_single, single_of_floor;
};

struct TransposeCosts {
  // Instructions for one vector: by words; whole vectors; runs that begin alike in their sectors; pieces of rows that are
  // shorter than a vector; even rows, or rows of one loop; others.
  double words;
  TileCosts::Gather vectors, alike, short_pieces, even, others;
  // Of uneven rows of short units: of one loop, the same where they are skewed, of several loops; and what finding a row
  // costs, of a loop's. What was fitted to earlier kernels, by the instructions that are left of theirs.
  TileCosts::Gather plain, skewed, listed;
  double listed_row_loops;
  // As for tiles: even vectors, words or uneven rows, uneven bytes.
  double resident, resident_uneven, resident_bytes;
  double of_words, of_vectors;  // of what the model of tiles says
};

struct RearrangeCosts {
  const char* fitted_on;
  LaunchCosts launch;
  PlainCosts plain;
  TileCosts tile;
  TransposeCosts transpose;
  FillCosts fill;
};

// H200, driver 580. Tiles: 24,000 tilings of 266 layouts; what is chosen by them takes 3 % longer than the best of some 130
// tilings (geometric mean), of which 1 to 2 % is noise. The others: docs/lab/gpu-choice.md. Chips that nobody fitted costs to
// take these; what chips differ in most is in the device's model.
extern const RearrangeCosts hopper;

}  // namespace infini::gpu
