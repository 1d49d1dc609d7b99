// Runs of short units that begin anywhere, written by words of 4 bytes.
#pragma once

#include "backends/gpu/rearrange/tile/store.cuh"

namespace infini::gpu {

// The units around a word of a run: where they are found, and which of them belong to the run. A run that begins
// `lead` units behind a word has its words that much earlier.
template <int unit>
struct WordAround {
  static constexpr int count = 4 / unit, around = 2 * count - 1, units = vector_bytes / unit;
  static constexpr uint32_t all_inside =
      (1u << around) - 1;  // as of all words but those at the ends of runs
  int32_t offset[around];
  uint32_t inside;  // a bit for each
  __device__ WordAround(const TileStore<unit>& store, uint32_t word) : inside(0) {
    const int32_t first = static_cast<int32_t>(word) * count - (count - 1);
    const int32_t* entries = store.table + first + units;
#pragma unroll
    for (int k = 0; k < around; ++k) {
      offset[k] = entries[k];
      if (first + k >= 0 && first + k < store.place.run_units) inside |= 1u << k;
    }
  }
  // Threads side by side may be at runs that begin differently: offsets are selected, not branched for.
  __device__ void move(const TileStore<unit>& store, char* run, uint32_t word,
                       const unsigned char* images) const {
    const uint32_t lead = (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(run)) & 3) / unit;
    int32_t at[around];
#pragma unroll
    for (int k = 0; k < around; ++k) at[k] = offset[k];
    if constexpr (count > 2) {
#pragma unroll
      for (int k = 0; k < count + 1; ++k) at[k] = lead & 2 ? at[k] : at[k + 2];
    }
    if constexpr (count > 1) {
#pragma unroll
      for (int k = 0; k < count; ++k) at[k] = lead & 1 ? at[k] : at[k + 1];
    }
    uint32_t value = 0;
#pragma unroll
    for (int k = 0; k < count; ++k)
      value |= static_cast<uint32_t>(load_word<unit>(images + at[k])) << (8 * unit * k);
    char* to = run - lead * unit + word * 4;  // runs are shorter than a tile
    if (inside == all_inside) {
      store_word<4>(to, value);
#pragma unroll 1
      for (int i = 1; i < store.place.repeats; ++i) store_word<4>(to += store.repeat_step, value);
      return;
    }
    const uint32_t wanted = inside >> (count - 1 - lead) & ((1u << count) - 1);
    store_units(to, value, wanted);
#pragma unroll 1
    for (int i = 1; i < store.place.repeats; ++i)
      store_units(to += store.repeat_step, value, wanted);
  }
  static __device__ void store_units(char* to, uint32_t value, uint32_t wanted) {
    if (wanted == (1u << count) - 1) return store_word<4>(to, value);
#pragma unroll
    for (int k = 0; k < count; ++k)
      if (wanted >> k & 1)
        store_word<unit>(to + k * unit, static_cast<Word<unit>>(value >> (8 * unit * k)));
  }
};

// A word of the runs of one thread that begin alike in their words: where its units are found, and which of them belong to
// the run. A run that begins `lead` units behind a word has its words that much earlier.
template <int unit>
struct WordUnits {
  static constexpr int count = 4 / unit, units = vector_bytes / unit;
  int32_t offset[count];
  int32_t at;  // of the word in its run, in bytes
  WordPart part;
  __device__ WordUnits(const TileStore<unit>& store, uint32_t word, uint32_t lead) {
    const auto first = static_cast<int32_t>(word) * count - static_cast<int32_t>(lead);
    at = first * unit;
    part = part_of_word(store.s, store.place, first);
#pragma unroll
    for (int k = 0; k < count; ++k) offset[k] = store.table[first + units + k];
  }
};

template <int unit>
__device__ uint32_t word_lead(const char* run) {
  return (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(run)) & 3) / unit;
}

// A word of all of a thread's runs, which begin alike and are written once.
template <int unit>
__device__ void store_alike(const TileStore<unit>& store, const WordUnits<unit>& units,
                            uint32_t run) {
  constexpr int count = WordUnits<unit>::count;
  const TileSchedule& s = store.s;
  const bool whole = units.part.whole, low = units.part.has_half && units.part.half == 0;
  const bool high = units.part.has_half && units.part.half == 2, one = units.part.has_byte;
  const int byte = units.part.byte, shift = 8 * byte;
  const auto runs = static_cast<uint32_t>(store.place.runs);
  const auto move = [&](char* to, const unsigned char* from) {
    uint32_t value = 0;
#pragma unroll
    for (int k = 0; k < count; ++k)
      value |= static_cast<uint32_t>(load_word<unit>(from + units.offset[k])) << (8 * unit * k);
    if (whole) store_word<4>(to, value);
    if (count > 1 && low) store_word<2>(to, static_cast<uint16_t>(value));
    if (count > 1 && high) store_word<2>(to + 2, static_cast<uint16_t>(value >> 16));
    if (count > 2 && one) store_word<1>(to + byte, static_cast<uint8_t>(value >> shift));
  };
  if (s.runs_depth > 1) {
#pragma unroll 1
    for (uint32_t r = run; r < runs; r += s.run_threads)
      move(store.dst + units.at + store.listed[r].step, store.from + store.listed[r].image);
    return;
  }
  const int32_t image_step = s.many[0].image * static_cast<int32_t>(s.run_threads);
  const int64_t step = s.many[0].step * s.run_threads;
  char* to = store.dst + units.at + s.many[0].step * run;
  const unsigned char* from = store.from + s.many[0].image * static_cast<int32_t>(run);
#pragma unroll 1
  for (uint32_t r = run; r < runs; r += s.run_threads, to += step, from += image_step)
    move(to, from);
}

// Every thread has some words, each in all of its runs.
template <int unit>
__device__ void store_words(const TileStore<unit>& store, const ThreadPlace& thread) {
  const TileSchedule& s = store.s;
  const auto runs = static_cast<uint32_t>(store.place.runs);
  if (thread.run >= runs) return;
  if (s.runs_alike && store.place.repeats == 1 && store.place.run_units * unit > 2) {
    const uint32_t lead = word_lead<unit>(store.dst + store.run_of(thread.run).step);
    for (uint32_t word = thread.vector; word < s.out_pieces.divisor; word += s.lanes.divisor)
      store_alike(store, WordUnits<unit>(store, word, lead), thread.run);
    return;
  }
  for (uint32_t word = thread.vector; word < s.out_pieces.divisor; word += s.lanes.divisor) {
    const WordAround<unit> at(store, word);
    if (at.inside == 0) continue;
    for (uint32_t r = thread.run; r < runs; r += s.run_threads) {
      const WalkPlace run = store.run_of(r);
      at.move(store, store.dst + run.step, word, store.from + run.image);
    }
  }
}

}  // namespace infini::gpu
