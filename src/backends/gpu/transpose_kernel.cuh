// The transpose kernel: runs a transpose schedule, one block per tile.
#pragma once

#include "backends/gpu/transpose_schedule.h"
#include "backends/gpu/words.cuh"

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
    for (uint32_t row = place_.row_begin + threadIdx.x; row < place_.row_end;
         row += transpose_threads)
      row_steps_[row] =
          chain_step(s_.position, s_.position_depth, static_cast<uint32_t>(first_position()) + row);
    __syncthreads();
  }

  __device__ void load() const {
    if (reads_stay_inside(s_, place_))
      load_rows<true>();
    else
      load_rows<false>();
  }

  __device__ void store() const {
    const ThreadPlace thread = split_thread(s_, threadIdx.x);
    const uint32_t stride = transpose_threads >> s_.v_bits;
    const int64_t step = s_.column[0].step;
    char* run = dst_ + (place_.first_column + thread.run) * step;
    Window window;
    for (uint32_t c = thread.run; c < place_.columns; c += stride, run += stride * step) {
      if (s_.column_depth > 1) run = dst_ + run_steps_[c];
      const uint32_t lead = window_lead(s_, reinterpret_cast<uintptr_t>(run));
      if (lead != window.lead) place_window(window, thread.vector, lead);
      store_window(run + window.begin, window, images_ + c * unit);
    }
  }

  // As store(), but a thread takes the runs of a whole word: their units are sorted in registers.
  __device__ void store_by_words() const {
    constexpr uint32_t runs = 4 / unit;
    const ThreadPlace thread = split_thread(s_, threadIdx.x);
    const uint32_t row = thread.vector * units, stride = (transpose_threads >> s_.v_bits) * runs;
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

  // A thread's vector of a run's window.
  struct Window {
    uint32_t lead = ~0u;
    bool whole;
    int64_t begin;          // its bytes in the run
    int32_t offset[units];  // where the images have its units, for column 0
  };

  __device__ int64_t first_position() const {
    return static_cast<int64_t>(place_.window_begin) - s_.lead_rows;
  }

  template <bool inside>
  __device__ void load_rows() const {
    const int32_t bytes = static_cast<int32_t>(place_.columns) * unit;
    const int32_t at = (threadIdx.x & ((1u << s_.row_lane_bits) - 1)) * vector_bytes;
    const uint32_t stride = transpose_threads >> s_.row_lane_bits;
    uint32_t row = threadIdx.x >> s_.row_lane_bits;
    const int64_t step = s_.position[0].step;
    const char* start = first_row_ + row * step;
    for (; row < place_.row_end; row += stride, start += stride * step) {
      if (row < place_.row_begin) continue;
      if (s_.position_depth > 1) start = first_row_ + row_steps_[row];
      const int shift = rows_even ? 0 : misalignment(start);
      if (at < shift + bytes)
        load_vector<inside>(images_ + transpose_image(s_, row) + at, start - shift + at, shift - at,
                            shift + bytes - at);
    }
  }

  // One vector of a row's image; at the ends of the source only what belongs to the row.
  template <bool inside>
  __device__ void load_vector(unsigned char* to, const char* from, int32_t begin,
                              int32_t end) const {
    if (inside || (from >= src_ + s_.src_begin && from + vector_bytes <= src_ + s_.src_end)) {
      stage_vector(to, from);
    } else {
      for (int k = 0; k < vector_bytes; k += unit)
        if (k >= begin && k < end) store_word<unit>(to + k, load_word<unit>(from + k));
    }
  }

  __device__ void place_window(Window& window, uint32_t vector, uint32_t lead) const {
    const int64_t first = static_cast<int64_t>(place_.window_begin) + vector * units - lead;
    window.lead = lead;
    window.begin = first * unit;
    window.whole = first >= 0 && first + units <= s_.positions;
    const uint32_t row = vector * units + s_.lead_rows - lead;
#pragma unroll
    for (int k = 0; k < units; ++k)
      window.offset[k] = static_cast<int32_t>(transpose_image(s_, row + k)) + shift_of(row + k);
  }

  // Where a row begins in its 16 bytes; of rows outside the run anything.
  __device__ int32_t shift_of(uint32_t row) const {
    if (rows_even) return 0;
    const auto step =
        static_cast<uint32_t>(s_.position_depth == 1 ? row * s_.position[0].step : row_steps_[row]);
    return (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(first_row_)) + step) &
           (vector_bytes - 1);
  }

  __device__ void store_window(char* to, const Window& window, const unsigned char* from) const {
    if (window.whole) {
      Vector value;
#pragma unroll
      for (int k = 0; k < units; ++k) value.put<unit>(k, load_word<unit>(from + window.offset[k]));
      store_vector(to, value);
    } else {
      const int64_t first = window.begin / unit;
#pragma unroll
      for (int k = 0; k < units; ++k)
        if (first + k >= 0 && first + k < s_.positions)
          store_word<unit>(to + k * unit, load_word<unit>(from + window.offset[k]));
    }
  }

  const TransposeSchedule& s_;
  TransposePlace place_;
  unsigned char* images_;
  int64_t *row_steps_, *run_steps_;
  const char *src_, *first_row_;  // first_row_: of row 0 with one loop, else of position 0
  char* dst_;
};

template <int unit, bool rows_even, bool by_words = false>
__global__ void __launch_bounds__(transpose_threads, resident_blocks(6, transpose_threads))
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
