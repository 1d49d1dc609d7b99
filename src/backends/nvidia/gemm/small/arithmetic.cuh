// The arithmetic of small gemm tiles: matrix units for 16-bit elements, plain multiply-adds for f32
// and f64. Each takes a stage (a piece of k of both operands in shared memory) at a time.
//
// Warps or groups of threads that share a part of C divide k among them; the kernel adds their
// sums.
#pragma once

#include <type_traits>

#include "backends/nvidia/gemm/matrix_units.cuh"
#include "backends/nvidia/gemm/small/schedule.h"

namespace infini::nvidia {

// An operand's piece of k as it lies in shared memory: lines of x or of k, 16 bytes between them so
// that neighbouring lines begin in different banks.
template <class T, int extent>
struct Piece {
  static constexpr int depth = small_line_bytes / int{sizeof(T)};  // elements of k
  static constexpr int gap = 16;
  static constexpr int pitch_k_inside = small_line_bytes + gap;
  static constexpr int pitch_x_inside = extent * int{sizeof(T)} + gap;
  static constexpr int bytes = extent * pitch_k_inside > depth* pitch_x_inside
                                   ? extent* pitch_k_inside
                                   : depth* pitch_x_inside;
  static __device__ int pitch(bool k_inside) { return k_inside ? pitch_k_inside : pitch_x_inside; }
  // The offset of element (x, k).
  static __device__ uint32_t place(int x, int k, bool k_inside) {
    return k_inside ? x * pitch_k_inside + k * int{sizeof(T)}
                    : k * pitch_x_inside + x * int{sizeof(T)};
  }
};

// warps_m × warps_n warps share C's tile, four groups of them share k. P says where an operand's
// elements lie in shared memory.
template <class T, int m, int n, int warps_m, int warps_n, template <class, int> class P>
class MatrixUnits {
 public:
  using Element = T;
  using Sum = float;
  static constexpr int rows = m, cols = n, groups = k_groups_16_bit;
  static constexpr int threads = 32 * warps_m * warps_n * groups;
  static constexpr bool short_pieces = true;  // a few instructions each
  static constexpr int pitch = cols + 8;  // of a group's sums; rows g and g + 1 in different banks

  __device__ MatrixUnits(bool a_k_inside, bool b_k_inside)
      : a_turned_(!a_k_inside), b_turned_(!b_k_inside) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    group_ = warp / (warps_m * warps_n);
    row_ = warp / warps_n % warps_m * warp_rows;
    col_ = warp % warps_n * warp_cols;
    const int low = lane % 8, middle = lane / 8 % 2 * 8, high = lane / 16 * 8;
    const int k = 16 * group_;
#pragma unroll
    for (int r = 0; r < warp_rows / 16; ++r)
      a_at_[r] = a_turned_ ? P<T, rows>::place(row_ + 16 * r + middle, k + high + low, false)
                           : P<T, rows>::place(row_ + 16 * r + low + middle, k + high, true);
#pragma unroll
    for (int c = 0; c < warp_cols / 16; ++c)
      b_at_[c] = b_turned_ ? P<T, cols>::place(col_ + 16 * c + high, k + middle + low, false)
                           : P<T, cols>::place(col_ + 16 * c + high + low, k + middle, true);
  }

  __device__ uint32_t known() const { return a_at_[0] ^ b_at_[0]; }

  // Adds the products of one piece of k; a and b are where it lies in shared memory.
  __device__ void add(uint32_t a, uint32_t b) { add_as(a, b, a_turned_, b_turned_); }

  // Calls work(a_turned, b_turned) with constants, for add_as(): whoever adds many pieces in a row
  // decides once.
  template <class Work>
  __device__ void as_they_lie(const Work& work) {
    using Yes = std::true_type;
    using No = std::false_type;
    if (a_turned_)
      b_turned_ ? work(Yes{}, Yes{}) : work(Yes{}, No{});
    else
      b_turned_ ? work(No{}, Yes{}) : work(No{}, No{});
  }

  __device__ void add_as(uint32_t a, uint32_t b, bool a_turned, bool b_turned) {
    uint32_t left[warp_rows / 16][4], right[warp_cols / 16][4];
#pragma unroll
    for (int r = 0; r < warp_rows / 16; ++r) load_matrices(left[r], a + a_at_[r], a_turned);
#pragma unroll
    for (int c = 0; c < warp_cols / 16; ++c) load_matrices(right[c], b + b_at_[c], b_turned);
#pragma unroll
    for (int r = 0; r < warp_rows / 16; ++r)
#pragma unroll
      for (int c = 0; c < warp_cols / 8; ++c)
        multiply_add(sums_[r][c], left[r], right[c / 2][c % 2 * 2], right[c / 2][c % 2 * 2 + 1],
                     T{});
  }

  // Writes the sums of this thread's group to groups × rows × pitch places.
  __device__ void put(float* sums) const {
    const int lane = threadIdx.x % 32;
    float* own = sums + (group_ * rows + row_ + lane / 4) * pitch + col_ + lane % 4 * 2;
#pragma unroll
    for (int r = 0; r < warp_rows / 16; ++r)
#pragma unroll
      for (int c = 0; c < warp_cols / 8; ++c)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<float2*>(own + (16 * r + 8 * half) * pitch + 8 * c) =
              make_float2(sums_[r][c][2 * half], sums_[r][c][2 * half + 1]);
  }

 private:
  static constexpr int warp_rows = rows / warps_m, warp_cols = cols / warps_n;
  static_assert(warp_rows % 16 == 0 && warp_cols % 16 == 0);
  static_assert(small_line_bytes == 16 * groups * sizeof(T), "a group has one step of each piece");

  float sums_[warp_rows / 16][warp_cols / 8][4] = {};
  int group_, row_, col_;
  bool a_turned_, b_turned_;
  uint32_t a_at_[warp_rows / 16], b_at_[warp_cols / 16];
};

// A thread has 4×4 elements of C; `groups` groups of threads share k, a vector at a time.
template <class T, int m, int n, int groups_of_k>
class MultiplyAdds {
 public:
  using Element = T;
  using Sum = T;
  static constexpr int rows = m, cols = n, groups = groups_of_k;
  static constexpr int threads = rows / 4 * (cols / 4) * groups;
  static constexpr bool short_pieces = false;
  static constexpr int pitch = cols + 16 / int{sizeof(T)};

  __device__ MultiplyAdds(bool a_k_inside, bool b_k_inside) : a_k_(a_k_inside), b_k_(b_k_inside) {
    group_ = threadIdx.x / (rows / 4 * (cols / 4));
    y_ = threadIdx.x / (cols / 4) % (rows / 4);
    x_ = threadIdx.x % (cols / 4);
  }

  __device__ uint32_t known() const { return static_cast<uint32_t>(x_ ^ y_ ^ group_); }

  __device__ void add(uint32_t a, uint32_t b) {
    if (a_k_)
      b_k_ ? add_as<true, true>(a, b) : add_as<true, false>(a, b);
    else
      b_k_ ? add_as<false, true>(a, b) : add_as<false, false>(a, b);
  }

  __device__ void put(T* sums) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
        sums[(group_ * rows + place<rows>(y_, i, a_k_)) * pitch + place<cols>(x_, j, b_k_)] =
            sums_[i][j];
  }

 private:
  static constexpr int vector = 16 / int{sizeof(T)};
  static constexpr int vectors = small_line_bytes / 16;
  static_assert(vectors % groups == 0);
  struct alignas(16) Vector {
    T element[vector];
  };

  static __device__ Vector shared_vector(uint32_t at) {
    return *static_cast<const Vector*>(__cvta_shared_to_generic(at));
  }

  // Which of `extent` rows (or columns) is the i-th of thread t: neighbouring ones where they are
  // neighbours in shared memory, else those that lie in different banks.
  template <int extent>
  static __device__ int place(int t, int i, bool k_inside) {
    return k_inside ? t + i * (extent / 4) : 4 * t + i;
  }

  // The four elements of thread t for each k of the given vector.
  template <int extent, bool k_inside>
  static __device__ void load(T (&x)[vector][4], uint32_t piece, int t, int k) {
    using P = Piece<T, extent>;
    if constexpr (k_inside) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto v =
            shared_vector(piece + place<extent>(t, i, true) * P::pitch_k_inside + k * 16);
#pragma unroll
        for (int e = 0; e < vector; ++e) x[e][i] = v.element[e];
      }
    } else {
#pragma unroll
      for (int e = 0; e < vector; ++e)
#pragma unroll
        for (int i = 0; i < 4; i += vector) {
          const auto v = shared_vector(piece + (k * vector + e) * P::pitch_x_inside +
                                       (4 * t + i) * int{sizeof(T)});
#pragma unroll
          for (int j = 0; j < vector; ++j) x[e][i + j] = v.element[j];
        }
    }
  }

  template <bool a_k, bool b_k>
  __device__ void add_as(uint32_t a, uint32_t b) {
#pragma unroll 2
    for (int turn = 0; turn < vectors / groups; ++turn) {
      const int at = turn * groups + group_;
      T left[vector][4], right[vector][4];
      load<rows, a_k>(left, a, y_, at);
      load<cols, b_k>(right, b, x_, at);
#pragma unroll
      for (int e = 0; e < vector; ++e)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) sums_[i][j] += left[e][i] * right[e][j];
    }
  }

  T sums_[4][4] = {};
  int group_, y_, x_;
  bool a_k_, b_k_;
};

}  // namespace infini::nvidia
