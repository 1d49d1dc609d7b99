// The transpose kernel: runs a transpose schedule, one block per tile.
#pragma once

#include "backends/gpu/rearrange/transpose/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// One tile on its way through shared memory.
template <int unit, bool rows_even>
class TransposeTile {
 public:
  __device__ TransposeTile(const TransposeSchedule& s, unsigned char* images, char* dst,
                           const char* src)
      : s_(s),
        place_(place_transpose(s, blockIdx.x)),
        images_(images),
        row_steps_(reinterpret_cast<int64_t*>(images + s.rows_at)),
        row_images_(reinterpret_cast<RowImage*>(images + s.places_at)),
        run_steps_(reinterpret_cast<int64_t*>(images + s.runs_at)),
        src_(src),
        first_row_(src + place_.src + static_cast<int64_t>(place_.first_column) * unit +
                   (s.position_depth == 1 ? first_position() * s.position[0].step : 0)),
        dst_(dst + place_.dst) {}

  // Writes down where rows and runs lie when that takes more than one loop, once for all threads.
  __device__ void make_steps() {
    if (s_.column_depth > 1)
      for (uint32_t c = threadIdx.x; c < place_.columns; c += transpose_threads)
        run_steps_[c] = chain_step(s_.column, s_.column_depth, place_.first_column + c);
    if (s_.position_depth == 1) return;
    for (uint32_t row = threadIdx.x; row < transpose_rows(s_); row += transpose_threads) {
      row_steps_[row] = row < place_.row_begin || row >= place_.row_end
                            ? 0
                            : chain_step(s_.position, s_.position_depth,
                                         static_cast<uint32_t>(first_position()) + row);
      if (lists_images)
        row_images_[row] = place_row_image(
            s_, place_, row, reinterpret_cast<uintptr_t>(first_row_ + row_steps_[row]));
    }
    __syncthreads();
  }

  __device__ void load() const {
    if (reads_stay_inside(s_, place_))
      load_rows<true>();
    else
      load_rows<false>();
  }

  __device__ void store() const {
    const ThreadPlace thread = place_thread(threadIdx.x, s_.run_lanes);
    if (thread.run >= s_.run_threads) return;
    if (s_.lead_rows == 0)
      store_even(thread);
    else if (!s_.pieces_long)
      store_skewed(thread, [&](uint32_t row) { return Anyhow{this, row}; });
    else if (lists_images && s_.position_depth == 1)
      s_.group_skew == 0
          ? store_plain(thread)
          : store_parts(thread, [&](uint32_t row) { return skewed_parts(s_, row, shift_of(0)); });
    else if (lists_images && s_.group_skew == 0)
      store_parts(thread, [&](uint32_t row) {
        return listed_parts(s_, row, [&](uint32_t i) { return row_images_[i]; });
      });
    else if (rows_even || s_.position_depth == 1)
      store_skewed(thread, [&](uint32_t row) { return one_piece(row); });
    else
      store_skewed(thread, [&](uint32_t row) { return two_pieces(row); });
  }

  // As store(), but a thread takes the runs of a whole word: their units are sorted in registers.
  __device__ void store_by_words() const {
    constexpr uint32_t runs = 4 / unit;
    const ThreadPlace thread = place_thread(threadIdx.x, s_.run_lanes);
    if (thread.run >= s_.run_threads) return;
    const uint32_t row = thread.vector * units, stride = s_.run_threads * runs;
    const uint32_t first = place_.window_begin + row;
    const unsigned char* from = images_ + transpose_image(s_, row);
    for (uint32_t c = thread.run * runs; c < place_.columns; c += stride) {
      if (first + units <= s_.positions) {
        Vector values[runs];
        gather_words(from + c * unit, values);
#pragma unroll
        for (uint32_t r = 0; r < runs; ++r) store_vector(run_of(c + r) + first * unit, values[r]);
      } else {
        for (uint32_t r = 0; r < runs; ++r)
          for (uint32_t k = 0; first + k < s_.positions; ++k)
            store_word<unit>(run_of(c + r) + (first + k) * unit,
                             load_word<unit>(from + k * s_.row_pitch + (c + r) * unit));
      }
    }
  }

 private:
  static constexpr int units = vector_bytes / unit;
  static constexpr bool lists_images = !rows_even && unit < 4;

  __device__ char* run_of(uint32_t column) const {
    return dst_ + (s_.column_depth > 1 ? run_steps_[column]
                                       : (place_.first_column + column) * s_.column[0].step);
  }

  template <int runs>
  __device__ void gather_words(const unsigned char* from, Vector (&values)[runs]) const {
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      uint32_t columns[runs];
#pragma unroll
      for (int k = 0; k < runs; ++k)
        columns[k] = load_word<4>(from + (word * runs + k) * s_.row_pitch);
      transpose_units<unit>(columns);
#pragma unroll
      for (int r = 0; r < runs; ++r) values[r].word[word] = columns[r];
    }
  }

  __device__ int64_t first_position() const {
    return static_cast<int64_t>(place_.window_begin) - s_.lead_rows;
  }

  __device__ const char* row_start(uint32_t row) const {
    return first_row_ + (s_.position_depth == 1 ? row * s_.position[0].step : row_steps_[row]);
  }

  // Where a row's image begins in its 16 bytes, beyond transpose_image().
  __device__ uint32_t shift_of(uint32_t row) const {
    return rows_even ? 0 : image_shift(s_, row, reinterpret_cast<uintptr_t>(row_start(row)));
  }

  template <bool inside>
  __device__ void load_rows() const {
    const ThreadPlace thread = place_thread(threadIdx.x, s_.row_lanes);
    if (thread.run >= s_.row_threads) return;
    const auto lane = static_cast<int32_t>(thread.vector) * vector_bytes;
    uint32_t row = thread.run;
    while (row < place_.row_begin) row += s_.row_threads;
    if (s_.position_depth > 1) {
      for (; row < place_.row_end; row += s_.row_threads) {
        const char* start = first_row_ + row_steps_[row];
        load_row_part<inside>(
            lists_images ? row_images_[row].at : transpose_image(s_, row) + shift_of(row), start,
            lane);
      }
      return;
    }
    const int64_t stride = s_.row_threads * s_.position[0].step;
    const uint32_t shift = shift_of(0);  // that of all rows: see image_shift()
    const char* start = first_row_ + row * s_.position[0].step;
    for (; row < place_.row_end; row += s_.row_threads, start += stride)
      load_row_part<inside>(transpose_image(s_, row) + shift, start, lane);
  }

  template <bool inside>
  __device__ void load_row_part(uint32_t image, const char* start, int32_t lane) const {
    const int32_t bytes = static_cast<int32_t>(place_.columns) * unit;
    const int32_t at = lane - (rows_even ? 0 : misalignment(start));
    if (at < bytes)
      load_vector<inside>(images_ + static_cast<int32_t>(image) + at, start + at, -at, bytes - at);
  }

  // One vector of a row's image; at the ends of the source only what belongs to the row.
  template <bool inside>
  __device__ void load_vector(unsigned char* to, const char* from, int32_t begin,
                              int32_t end) const {
    if (inside || (from >= src_ + s_.src_begin && from + vector_bytes <= src_ + s_.src_end)) {
      stage_vector(to, from, s_.whole_lines != 0);
    } else {
      for (int k = 0; k < vector_bytes; k += unit)
        if (k >= begin && k < end) store_word<unit>(to + k, load_word<unit>(from + k));
    }
  }

  // Calls body(run, column) for the runs of a thread.
  template <class Body>
  __device__ void walk_runs(uint32_t first, const Body& body) const {
    const int64_t step = s_.column[0].step;
    char* run = dst_ + (place_.first_column + first) * step;
    for (uint32_t c = first; c < place_.columns;
         c += s_.run_threads, run += s_.run_threads * step) {
      if (s_.column_depth > 1) run = dst_ + run_steps_[c];
      body(run, c);
    }
  }
  // The same, with one loop around the body for each way to find a run.
  template <class Body>
  __device__ void walk_runs_apart(uint32_t first, const Body& body) const {
    if (s_.column_depth > 1) {
      for (uint32_t c = first; c < place_.columns; c += s_.run_threads)
        body(dst_ + run_steps_[c], c);
      return;
    }
    const int64_t stride = s_.run_threads * s_.column[0].step;
    char* run = dst_ + (place_.first_column + first) * s_.column[0].step;
    for (uint32_t c = first; c < place_.columns; c += s_.run_threads, run += stride) body(run, c);
  }

  // All runs begin at vectors: a thread's rows are the same in all of them.
  __device__ void store_even(const ThreadPlace& thread) const {
    const uint32_t row = thread.vector * units;
    const auto first = static_cast<int32_t>(place_.window_begin + row);
    const Prepared prepared(*this, row);
    walk_runs(thread.run,
              [&](char* run, uint32_t c) { gather(run, first, images_ + c * unit, prepared); });
  }

  // Uneven rows of short units. Of one loop that no skew interrupts: their images are shifted alike, since pitches are the
  // loop's step modulo 16, and lie one pitch after the other.
  struct Plain {
    int32_t pitch;
    __device__ int32_t operator()(int k) const { return k * pitch; }
    __device__ int32_t again(int k) const { return k * pitch; }
  };
  __device__ void store_plain(const ThreadPlace& thread) const {
    const Plain offset{static_cast<int32_t>(s_.row_pitch)};
    const uint32_t vector = thread.vector * units;
    const auto window = static_cast<int32_t>(place_.window_begin + vector);
    const unsigned char* rows = images_ + shift_of(0) + (vector + s_.lead_rows) * s_.row_pitch;
    walk_runs_apart(thread.run, [&](char* run, uint32_t c) {
      const auto lead = static_cast<int32_t>(window_lead(s_, reinterpret_cast<uintptr_t>(run)));
      gather(run, window - lead, rows - lead * offset.pitch + c * unit, offset);
    });
  }
  // Of others, by their parts.
  template <class Find>
  __device__ void store_parts(const ThreadPlace& thread, const Find& find) const {
    const auto window = static_cast<int32_t>(place_.window_begin + thread.vector * units);
    const uint32_t row = thread.vector * units + s_.lead_rows;
    walk_runs_apart(thread.run, [&](char* run, uint32_t c) {
      const uint32_t lead = window_lead(s_, reinterpret_cast<uintptr_t>(run));
      gather(run, window - static_cast<int32_t>(lead), images_ + c * unit, find(row - lead));
    });
  }

  // The window of a run begins at the run's own sector; offsets(row) says how the units of the
  // vector that begins with this row are found. Few offsets are kept until a run begins elsewhere
  // in its sector; many would cost blocks their registers.
  template <class Offsets>
  __device__ void store_skewed(const ThreadPlace& thread, const Offsets& offsets) const {
    auto placed = ~0u;
    Listed kept;
    walk_runs(thread.run, [&](char* run, uint32_t c) {
      const uint32_t lead = window_lead(s_, reinterpret_cast<uintptr_t>(run));
      const uint32_t row = thread.vector * units + s_.lead_rows - lead;
      const auto first = static_cast<int32_t>(place_.window_begin + thread.vector * units - lead);
      if constexpr (units > 4) {
        gather(run, first, images_ + c * unit, offsets(row));
      } else {
        if (lead != placed) kept.list(offsets(row));
        placed = lead;
        gather(run, first, images_ + c * unit, kept);
      }
    });
  }

  struct Listed {
    int32_t offset[units];
    template <class Offset>
    __device__ void list(const Offset& of) {
#pragma unroll
      for (int k = 0; k < units; ++k) offset[k] = of(k);
    }
    __device__ int32_t operator()(int k) const { return offset[k]; }
    __device__ int32_t again(int k) const {  // of a k that is not known when this is compiled
      int32_t at = offset[0];
#pragma unroll
      for (int i = 1; i < units; ++i) at = k == i ? offset[i] : at;
      return at;
    }
  };

  // Rows that lie anyhow.
  struct Anyhow {
    const TransposeTile* tile;
    uint32_t row;
    __device__ int32_t operator()(int k) const {
      return static_cast<int32_t>(transpose_image(tile->s_, row + k) + tile->shift_of(row + k));
    }
    __device__ int32_t again(int k) const { return (*this)(k); }
  };

  // The same, found once for all runs.
  struct Prepared {
    int32_t offset[units];
    Anyhow rows;
    __device__ Prepared(const TransposeTile& tile, uint32_t row) : rows{&tile, row} {
#pragma unroll
      for (int k = 0; k < units; ++k) offset[k] = rows(k);
    }
    __device__ int32_t operator()(int k) const { return offset[k]; }
    __device__ int32_t again(int k) const { return rows(k); }
  };

  // Rows that lie one pitch apart, but for the skew of groups.
  struct OnePiece {
    int32_t base, pitch, skewed_from, skew;
    __device__ int32_t operator()(int k) const {
      return base + k * pitch + (k >= skewed_from ? skew : 0);
    }
    __device__ int32_t again(int k) const { return (*this)(k); }
  };
  __device__ OnePiece one_piece(uint32_t row) const {
    return {static_cast<int32_t>(transpose_image(s_, row) + shift_of(row)),
            static_cast<int32_t>(s_.row_pitch), static_cast<int32_t>(units - (row & (units - 1))),
            static_cast<int32_t>(s_.group_skew)};
  }

  // The same with one end of the innermost loop among them, where shifts change.
  struct TwoPieces {
    OnePiece rows;
    int32_t turned_from, turn;
    __device__ int32_t operator()(int k) const { return rows(k) + (k >= turned_from ? turn : 0); }
    __device__ int32_t again(int k) const { return (*this)(k); }
  };
  __device__ TwoPieces two_pieces(uint32_t row) const {
    const uint32_t turn = rows_to_turn(s_, place_, row);
    const uint32_t next = turn < units && row + turn < transpose_rows(s_) ? row + turn : row;
    return {one_piece(row), static_cast<int32_t>(turn),
            static_cast<int32_t>(shift_of(next)) - static_cast<int32_t>(shift_of(row))};
  }

  // Gathers the vector at position `first` of a run, and stores it; of a partial one the units one
  // by one: seldom, and in few instructions.
  template <class Offset>
  __device__ void gather(char* run, int32_t first, const unsigned char* from,
                         const Offset& offset) const {
    char* to = run + static_cast<int64_t>(first) * unit;
    const auto positions = static_cast<int32_t>(s_.positions);
    if (first >= 0 && first + units <= positions) {
      Vector value;
#pragma unroll
      for (int k = 0; k < units; ++k) value.put<unit>(k, load_word<unit>(from + offset(k)));
      store_vector(to, value);
    } else {
      const int end = positions - first < units ? positions - first : units;
      const int begin = first < 0 ? -first : 0;
      if constexpr (unit < 4)
        if (s_.ends_by_words) return gather_end(to, begin, end, from, offset);
#pragma unroll 1
      for (int k = begin; k < end; ++k)
        store_word<unit>(to + k * unit, load_word<unit>(from + offset.again(k)));
    }
  }

  // Units [begin, end) of a vector, by words where it has whole ones.
  template <class Offset>
  __device__ void gather_end(char* to, int begin, int end, const unsigned char* from,
                             const Offset& offset) const {
    constexpr int count = 4 / unit;
#pragma unroll 1
    for (int k = begin / count * count; k < end; k += count) {
      uint32_t value = 0;
#pragma unroll
      for (int i = 0; i < count; ++i)
        if (k + i >= begin && k + i < end)
          value |= static_cast<uint32_t>(load_word<unit>(from + offset.again(k + i)))
                   << (8 * unit * i);
      store_word_part<unit>(to + k * unit, value, begin - k, end - k);
    }
  }

  const TransposeSchedule& s_;
  TransposePlace place_;
  unsigned char* images_;
  int64_t* row_steps_;
  RowImage* row_images_;
  int64_t* run_steps_;
  const char *src_, *first_row_;  // first_row_: of row 0 with one loop, else of position 0
  char* dst_;
};

template <int unit, bool rows_even, bool by_words = false>
__global__ void __launch_bounds__(transpose_threads,
                                  resident_blocks(unit == 1 && !rows_even ? 5 : 6,
                                                  transpose_threads))
    move_transposed(const __grid_constant__ TransposeSchedule s, char* dst, const char* src) {
  TransposeTile<unit, rows_even> tile(s, shared_memory(), dst, src);
  tile.make_steps();
  wait_for_predecessor();
  tile.load();
  stage_wait();
  __syncthreads();
  if constexpr (by_words)
    tile.store_by_words();
  else
    tile.store();
}

}  // namespace infini::gpu
