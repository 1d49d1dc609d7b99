// Facts about a processor: what it is, what its caches hold, and how fast bytes move. The choice of a kernel rests on
// these and on the plan alone, so that what differs between processors is a number here and not a rule elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/cpu/machine/product_cycles.h"
#include "base/export.h"

namespace infini::cpu {

// Bytes per nanosecond: of one thread alone, and of all of them together.
struct Rate {
  double one = 1, all = 1;
  double of(int threads) const { return one * threads < all || threads == 1 ? one * threads : all; }
};

struct Machine {
  std::string name;    // what the processor calls itself, with its family and model
  std::string kind;    // the profile that its facts begin with
  std::string origin;  // the profile's name, "measured", or the file that the facts were kept in

  double threads = 1;  // that moved bytes together when the rates were measured
  // What a thread has for itself, and what all of them find together in the last cache.
  double l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;
  // Ordinary loads and stores of whole lines that lie in a cache or in memory, and copies by memcpy, in bytes of dst.
  // A store has its line fetched first.
  Rate l2_load, l2_store, l2_copy, l3_load, l3_store, l3_copy;
  Rate memory_load, memory_store, memory_copy;
  // Non-temporal stores, which go past the caches: alone, and as a copy in the better of two ways.
  Rate streamed_store, streamed_copy;
  // Of a streamed copy: so many places of a page or more apart in turns, each line asked for so many bytes before.
  double copy_places = 4, copy_ahead = 256;
  // Nanoseconds in which a thread transposes a line from rows pages apart to columns pages apart, past the caches: by single
  // lines, and by two side by side.
  double far_line_ns = 4, far_pair_ns = 4;
  double store_pages =
      1024;  // that such stores may go to in turns before each takes a quarter longer
  // Rows that are read side by side at nearly the speed of few; more of them go through a tile in L1.
  double followed_rows = 16;
  // Bytes of such rows that are better asked for by prefetches, all of them, than left to the hardware.
  double prefetched_strip = 2048;
  // That a line in the last cache waits for its place in L1, where many lie whole pages apart and are moved in turns.
  double crowded_line_ns = 0.5;
  // Of a vector of 64 bytes in L1: moving it; one load and shuffle of it; an exchange between two of them in registers; a
  // window of a shuffle program. Of a call that moves a row or a panel. Of one element that is moved by itself.
  double vector_ns = 0.6, shuffle_ns = 0.4, exchange_ns = 0.4 / 3, pick_ns = 0.32;
  double call_ns = 4, element_ns = 0.35;
  double region_ns = 5000;  // to open a parallel region and close it again
  // Arithmetic of one core: cycles in a nanosecond, and bytes of vectors that it multiplies and adds in a cycle.
  double clock_ghz = 3, fma_bytes = 64;
  // Of a line that is read in a short piece of a row, each in another page, or of one of many rows side by side: in the
  // last cache, and in memory.
  double near_piece_ns = 9, far_piece_ns = 11, near_row_ns = 6, far_row_ns = 11;
  // Where it has them: products of bf16 in pairs (AVX512-BF16) for each one of f32, and the time of a product of two tiles
  // of the matrix unit (AMX) with what it loads.
  double pair_rate = 0.5, tile_ns = 30;
  const ProductCycles* products = &zen4_products;
  // Multiply-adds in a nanosecond of one thread by oneDNN and OpenBLAS; 1 where nobody measured them.
  double onednn_rate = 1, openblas_rate = 1;
};

// Every fact, for printing and keeping: a number, or a rate; and what it is in a few words.
struct Fact {
  const char* name;
  const char* unit;
  double Machine::*number;
  Rate Machine::*rate;
  const char* meaning;
};
INFINI_TOOL_EXPORT std::span<const Fact> facts();

// This process's: a profile, or what was measured on this processor and kept. INFINI_TUNE=0: the profile; 1: measured now
// (about a second); a file's name: what it holds. Found when first asked for.
INFINI_TOOL_EXPORT const Machine& machine();

// The profile of a name (ice_lake, sapphire_rapids, zen4, zen5, generic) as it is; of another one generic.
Machine profile(const std::string& name);
std::span<const char* const> profile_names();
// Which of them fits this processor, with the sizes of its caches.
INFINI_TOOL_EXPORT Machine profile_of_this_processor();

// Every fact by experiment, from a guess. Takes about a second.
INFINI_TOOL_EXPORT Machine measure_machine(const Machine& guess);

// Facts in a file: one each line, after the version and the processor they are of. Reading gives false, and says why,
// where the file is not there, not ours, or of another processor or version.
// Where they are kept: $XDG_CACHE_HOME or ~/.cache, /infini/; empty: nowhere.
INFINI_TOOL_EXPORT std::string machine_file();
bool read_machine(const std::string& path, Machine& machine, std::string& why_not);
INFINI_TOOL_EXPORT bool write_machine(const std::string& path, const Machine& machine,
                                      std::string& why_not);
// What was found in a file's place and not used, for people; empty: nothing.
INFINI_TOOL_EXPORT std::string machine_remark();

// For people.
INFINI_TOOL_EXPORT std::string to_string(const Machine& machine);

}  // namespace infini::cpu
