// How a tile's runs are written: the walks over what shared memory holds.
#pragma once

#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// What the walks that store share.
template <int unit>
struct TileStore {
  static constexpr int units = vector_bytes / unit;
  const TileSchedule& s;
  const TilePlace& place;
  char* dst;                  // of the tile
  const unsigned char* from;  // where the images have the tile's first element
  const int32_t* table;       // of positions
  const WalkPlace* listed;    // the runs, where they are listed
  int64_t repeat_step;        // from one repeat that begins alike to the next

  __device__ TileStore(const TileSchedule& schedule, const TilePlace& tile, char* base,
                       const char* src, const unsigned char* images)
      : s(schedule),
        place(tile),
        dst(base + tile.dst),
        from(images + before_row(reinterpret_cast<uintptr_t>(src + tile.src - tile.below)) +
             tile.below),
        table(reinterpret_cast<const int32_t*>(images + schedule.table_at)),
        listed(reinterpret_cast<const WalkPlace*>(images + schedule.runs_at)),
        repeat_step(schedule.repeat_step * schedule.repeats_apart) {}

  __device__ WalkPlace run_of(uint32_t r) const {
    if (s.runs_depth > 1) return listed[r];
    return {s.many[0].step * r, s.many[0].image * static_cast<int32_t>(r)};
  }

  // Gathers the vector that begins at position `first` of a run, and stores it; offset(k) is where
  // unit k is found, offset.again(k) says the same for a k that is not known when this is compiled.
  template <class Offset>
  __device__ void gather(char* run, int32_t first, const unsigned char* images,
                         const Offset& offset) const {
    char* to = run + static_cast<int64_t>(first) * unit;
    if (first >= 0 && first + units <= place.run_units) {
      Vector value;
#pragma unroll
      for (int k = 0; k < units; ++k) value.put<unit>(k, load_word<unit>(images + offset(k)));
      store_vector(to, value);
#pragma unroll 1
      for (int i = 1; i < place.repeats; ++i) store_vector(to += repeat_step, value);
    } else {
      gather_part(to, first, images, offset);
    }
  }

  // The units of a partial vector, one by one: of many units seldom, and in few instructions.
  template <class Offset>
  __device__ void gather_part(char* to, int32_t first, const unsigned char* images,
                              const Offset& offset) const {
    const int32_t left = place.run_units - first;
    const int begin = first < 0 ? -first : 0, end = left < units ? left : units;
    if constexpr (units <= 8) {
      Vector value{};
#pragma unroll
      for (int k = 0; k < units; ++k)
        if (k >= begin && k < end) value.put<unit>(k, load_word<unit>(images + offset(k)));
#pragma unroll 1
      for (int i = 0; i < place.repeats; ++i, to += repeat_step)
        store_part<unit>(to, value, begin * unit, end * unit);
    } else {
#pragma unroll 1
      for (int k = begin; k < end; ++k) {
        const Word<unit> value = load_word<unit>(images + offset.again(k));
#pragma unroll 1
        for (int i = 0; i < place.repeats; ++i)
          store_word<unit>(to + i * repeat_step + k * unit, value);
      }
    }
  }

  // All vectors of one thread, which stand at the same places of their periods.
  template <class Offset>
  __device__ void gather_all(const ThreadPlace& thread, int32_t first, int32_t moved,
                             const Offset& offset) const {
    const auto stride = static_cast<int32_t>(s.lanes.divisor) * units;
    if (s.runs_depth > 1) {
      for (uint32_t r = thread.run; r < place.runs; r += s.run_threads) {
        const WalkPlace run = place_run(s, r);
        int32_t image = moved + run.image;
        for (int32_t at = first; at < place.run_units; at += stride, image += s.lanes_image)
          gather(dst + run.step, at, from + image, offset);
      }
      return;
    }
    const int64_t step = s.many[0].step * s.run_threads;
    const int32_t run_image = s.many[0].image * static_cast<int32_t>(s.run_threads);
    const int32_t begin = moved + s.many[0].image * static_cast<int32_t>(thread.run);
    char* run = dst + s.many[0].step * thread.run;
    const unsigned char* images = from + begin;
    for (uint32_t r = thread.run; r < place.runs;
         r += s.run_threads, run += step, images += run_image) {
      const unsigned char* image = images;
      for (int32_t at = first; at < place.run_units; at += stride, image += s.lanes_image)
        gather(run, at, image, offset);
    }
  }

  struct Linear {
    int32_t step;
    __device__ int32_t operator()(int k) const { return k * step; }
    __device__ int32_t again(int k) const { return k * step; }
  };

  // Looked up in the table, once for all vectors that use them.
  struct LookedUp {
    int32_t offset[units];
    const int32_t* entries;
    int32_t image;
    __device__ LookedUp(const TileStore& store, int32_t first) {
      const PreparedVector at = find_vector(store.s, first);
      entries = store.table + at.entry;
      image = at.image;
#pragma unroll
      for (int k = 0; k < units; ++k) offset[k] = entries[k] + image;
    }
    __device__ int32_t operator()(int k) const { return offset[k]; }
    __device__ int32_t again(int k) const { return entries[k] + image; }
  };

  __device__ void linear(const ThreadPlace& thread) const {
    gather_all(thread, static_cast<int32_t>(thread.vector) * units,
               static_cast<int32_t>(thread.vector) * s.period_image, Linear{s.unit_image});
  }

  __device__ void prepared(const ThreadPlace& thread) const {
    const int lead = misalignment(dst + place_run(s, thread.run).step) / unit;
    const int32_t first = static_cast<int32_t>(thread.vector) * units - lead;
    if (first < place.run_units) gather_all(thread, first, 0, LookedUp(*this, first));
  }

  __device__ void each() const {
    const uint32_t count = place.runs * s.lanes.divisor;
    for (uint32_t i = threadIdx.x; i < count; i += tile_threads) {
      const ThreadPlace item = place_thread(s, i);
      const WalkPlace run = run_of(item.run);
      const int lead = misalignment(dst + run.step) / unit;
      const int32_t first = static_cast<int32_t>(item.vector) * units - lead;
      if (first < place.run_units)
        gather(dst + run.step, first, from + run.image, LookedUp(*this, first));
    }
  }

  // Words of 4 bytes hold 4 / unit neighbouring runs: their units are sorted in registers.
  __device__ void columns(const ThreadPlace& thread) const {
    constexpr int runs = 4 / unit;
    int32_t moved = static_cast<int32_t>(thread.vector) * s.period_image;
    for (int32_t first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
         first += static_cast<int32_t>(s.lanes.divisor) * units, moved += s.lanes_image)
      for (uint32_t r = thread.run * runs; r < place.runs; r += s.run_threads * runs) {
        char* run = dst + r * s.many[0].step;
        const unsigned char* images = from + moved + static_cast<int32_t>(r) * unit;
        if (first + units <= place.run_units) {
          sort_columns(run + static_cast<int64_t>(first) * unit, images);
        } else {
          for (int n = 0; n < runs; ++n)
            gather(run + n * s.many[0].step, first, images + n * unit, Linear{s.unit_image});
        }
      }
  }

  // Copies the runs into shared memory, where all of them begin at vectors: the offsets of a thread's
  // units serve it in all of its runs, wherever these begin in dst.
  __device__ void stage(const ThreadPlace& thread, unsigned char* copies) const {
    const auto stride = static_cast<int32_t>(s.lanes.divisor) * units;
    for (auto first = static_cast<int32_t>(thread.vector) * units; first < place.run_units;
         first += stride) {
      const LookedUp offset(*this, first);
      for (uint32_t r = thread.run; r < place.runs; r += s.run_threads) {
        const unsigned char* images = from + run_of(r).image;
        Vector value;
#pragma unroll
        for (int k = 0; k < units; ++k) value.put<unit>(k, load_word<unit>(images + offset(k)));
        store_vector(copies + (r * s.stage_vectors + first / units) * vector_bytes, value);
      }
    }
  }

  // Writes the copies to dst, each piece of it made of two: by vectors, or by words.
  template <class Piece>
  __device__ void unstage(const unsigned char* copies, const Piece& write) const {
    const uint32_t count = place.runs * s.out_pieces.divisor;
    const int32_t bytes = place.run_units * unit;
    for (uint32_t i = threadIdx.x; i < count; i += tile_threads) {
      const uint32_t number = divide(i, s.out_pieces);
      char* run = dst + run_of(number).step;
#pragma unroll 1
      for (int n = 0; n < place.repeats; ++n, run += s.repeat_step) {
        const StagedPiece piece = find_staged(s, number, i, misalignment(run) & (s.out_bytes - 1));
        if (piece.at < bytes)
          write(run + piece.at, copies + piece.from, piece.shift, piece.at < 0 ? -piece.at : 0,
                bytes - piece.at);
      }
    }
  }

  __device__ void unstage(const unsigned char* copies) const {
    if (s.out_bytes == vector_bytes)
      unstage(copies, [](char* to, const unsigned char* two, int shift, int begin, int left) {
        store_part<unit>(to,
                         shift_together(load_vector(two), load_vector(two + vector_bytes), shift),
                         begin, left < vector_bytes ? left : vector_bytes);
      });
    else
      unstage(copies, [](char* to, const unsigned char* two, int shift, int begin, int left) {
        const uint64_t pair =
            (static_cast<uint64_t>(load_word<4>(two + 4)) << 32) | load_word<4>(two);
        const auto value = static_cast<uint32_t>(pair >> (8 * shift));
        if (begin == 0 && left >= 4) return store_word<4>(to, value);
#pragma unroll
        for (int k = 0; k < 4; k += unit)
          if (k >= begin && k < left)
            store_word<unit>(to + k, static_cast<Word<unit>>(value >> (8 * k)));
      });
  }

  // Positions of a loop, run by run, threads side by side from a sector on: they share fewer of them.
  __device__ void single_by_sectors(const ThreadPlace& thread) const {
    const auto lanes = static_cast<int32_t>(s.lanes.divisor);
    const int64_t stride = s.run[0].step * lanes;
    const int32_t image_stride = s.run[0].image * lanes;
    for (uint32_t n = thread.run; n < place.runs * place.repeats; n += s.run_threads) {
      const RepeatedRun which = find_repeat(s, place, n);
      const WalkPlace run = run_of(which.run);
      char* to = dst + run.step + which.repeat * s.repeat_step;
      auto p =
          static_cast<int32_t>(thread.vector) - places_before(s, reinterpret_cast<uintptr_t>(to));
      to += p * s.run[0].step;
      const unsigned char* image = from + run.image + p * s.run[0].image;
      if (p < 0) p += lanes, to += stride, image += image_stride;
#pragma unroll 4
      for (; p < place.run_units; p += lanes, to += stride, image += image_stride)
        store_word<unit>(to, load_word<unit>(image));
    }
  }

  // A thread's positions, each in all of its runs: what it finds out of a position serves them all.
  __device__ void single(const ThreadPlace& thread) const {
    if (s.per_place != 0) return single_by_sectors(thread);
    for (auto p = thread.vector; p < place.run_units; p += s.lanes.divisor) {
      const WalkPlace at = place_position(s, p);
      if (s.runs_depth > 1 || place.repeats > 1) {
        for (uint32_t n = thread.run; n < place.runs * place.repeats; n += s.run_threads) {
          const RepeatedRun which = find_repeat(s, place, n);
          const WalkPlace run = run_of(which.run);
          store_word<unit>(dst + at.step + run.step + which.repeat * s.repeat_step,
                           load_word<unit>(from + at.image + run.image));
        }
        continue;
      }
      const int64_t step = s.many[0].step * s.run_threads;
      const int32_t run_image = s.many[0].image * static_cast<int32_t>(s.run_threads);
      char* to = dst + at.step + s.many[0].step * thread.run;
      const unsigned char* images =
          from + at.image + s.many[0].image * static_cast<int32_t>(thread.run);
#pragma unroll 4
      for (uint32_t r = thread.run; r < place.runs;
           r += s.run_threads, to += step, images += run_image)
        store_word<unit>(to, load_word<unit>(images));
    }
  }

  __device__ void sort_columns(char* to, const unsigned char* images) const {
    constexpr int runs = 4 / unit;
    Vector values[runs];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      uint32_t column[runs];
#pragma unroll
      for (int k = 0; k < runs; ++k)
        column[k] = load_word<4>(images + (word * runs + k) * s.unit_image);
      transpose_units<unit>(column);
#pragma unroll
      for (int r = 0; r < runs; ++r) values[r].word[word] = column[r];
    }
#pragma unroll
    for (int r = 0; r < runs; ++r) store_vector(to + r * s.many[0].step, values[r]);
  }
};

}  // namespace infini::gpu
