// Runs of short units that begin anywhere, written by words of 4 bytes.
#pragma once

#include "backends/gpu/rearrange/tile/store.cuh"

namespace infini::gpu {

// The units around a word of a run: where they are found, and which of them belong to the run. A run that begins
// `lead` units behind a word has its words that much earlier.
template <int unit>
struct WordUnits {
  static constexpr int count = 4 / unit, around = 2 * count - 1, units = vector_bytes / unit;
  static constexpr uint32_t all_inside =
      (1u << around) - 1;  // as of all words but those at the ends of runs
  int32_t offset[around];
  uint32_t inside;  // a bit for each
  __device__ WordUnits(const TileStore<unit>& store, uint32_t word) : inside(0) {
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

// Every thread has some words, each in all of its runs.
template <int unit>
__device__ void store_words(const TileStore<unit>& store, const ThreadPlace& thread) {
  const TileSchedule& s = store.s;
  for (uint32_t word = thread.vector; word < s.out_pieces.divisor; word += s.lanes.divisor) {
    const WordUnits<unit> at(store, word);
    if (at.inside == 0) continue;
    if (s.runs_depth > 1) {
      for (uint32_t r = thread.run; r < store.place.runs; r += s.run_threads) {
        const WalkPlace run = store.listed[r];
        at.move(store, store.dst + run.step, word, store.from + run.image);
      }
      continue;
    }
    const int64_t step = s.many[0].step * s.run_threads;
    const int32_t run_image = s.many[0].image * static_cast<int32_t>(s.run_threads);
    char* run = store.dst + s.many[0].step * thread.run;
    const unsigned char* images = store.from + s.many[0].image * static_cast<int32_t>(thread.run);
    for (uint32_t r = thread.run; r < store.place.runs;
         r += s.run_threads, run += step, images += run_image)
      at.move(store, run, word, images);
  }
}

}  // namespace infini::gpu
