// Writing C straight from the registers of a warpgroup: alpha, beta and the one rounding.
#pragma once

#include <cstring>

#include "backends/nvidia/gemm/element.cuh"
#include "backends/nvidia/gemm/ring/schedule.h"

namespace infini::nvidia {

// Four threads side by side exchange 4×4 words: word i of thread j becomes word j of thread i.
__device__ inline void turn_quad(uint32_t (&words)[4]) {
  const auto own = threadIdx.x;
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      uint32_t &low = words[i], &high = words[i | bit];
      const uint32_t given = __shfl_xor_sync(~0u, own & bit ? low : high, bit);
      (own & bit ? low : high) = given;
    }
}

// How a warp's sums lie: see multiply_add() of warpgroup_units.cuh.
template <class T>
class RingWriter {
 public:
  __device__ RingWriter(const RingGemm& s, const SmallPlace& at, char* c, int warp)
      : row_step_(s.c_row_step), col_step_(s.c_col_step), wide_(s.c_is_f32) {
    const int row = at.row + warp * 16 + static_cast<int>(threadIdx.x) % 32 / 4;
    rows_left_ = s.m - row;
    cols_left_ = s.n - at.col;
    to_ = c + at.batch * s.c_batch_step + row * row_step_ + at.col * col_step_;
  }

  __device__ uint32_t known() const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to_)) ^ rows_left_ ^ cols_left_;
  }

  template <int count>
  __device__ void operator()(const float (&sums)[count], float alpha, float beta,
                             bool vectors) const {
    if (vectors && !wide_)
      beta == 0 ? write_vectors<false>(sums, alpha, beta) : write_vectors<true>(sums, alpha, beta);
    else
      write_each(sums, alpha, beta);
  }
  template <int count>
  __device__ void write_each(const float (&sums)[count], float alpha, float beta) const {
    wide_ ? write_singly<float>(sums, alpha, beta) : write_singly<T>(sums, alpha, beta);
  }

 private:
  static __device__ int quad() { return static_cast<int>(threadIdx.x) % 4; }

  // Of 32 columns a thread has two of every eight; it reads and writes eight side by side. Two vectors of C are asked
  // for before either of them is used: left to itself, the compiler keeps reads behind the writes before them. (More
  // of them would take registers that a second block on the processor needs: of 288 threads with more than 96 each there
  // is room for one block only, because a quarter of the processor must hold five of the warps.)
  template <bool adds, int count>
  __device__ void write_vectors(const float (&sums)[count], float alpha, float beta) const {
    constexpr int vectors = count / 16, held = vectors < 2 ? vectors : 2;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int first = 0; first < vectors; first += held) {
        uint4 c[held];
#pragma unroll
        for (int j = 0; j < held; ++j)
          c[j] = adds && has(half, first + j) ? *place(half, first + j) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < held; ++j)
          write_vector<adds>(c[j], half, first + j, &sums[16 * (first + j) + 2 * half], alpha,
                             beta);
      }
  }
  template <bool adds>
  __device__ void write_vector(const uint4& c, int half, int j, const float* sums, float alpha,
                               float beta) const {
    uint32_t own[4] = {c.x, c.y, c.z, c.w};
    if constexpr (adds) turn_quad(own);
#pragma unroll
    for (int i = 0; i < 4; ++i) finish_two<adds>(own[i], &sums[4 * i], alpha, beta);
    turn_quad(own);
    if (has(half, j)) *place(half, j) = make_uint4(own[0], own[1], own[2], own[3]);
  }
  // The j-th vector of the thread's row, or of the one eight below.
  __device__ bool has(int half, int j) const {
    return 8 * half < rows_left_ && 8 * (4 * j + quad()) < cols_left_;
  }
  __device__ uint4* place(int half, int j) const {
    return reinterpret_cast<uint4*>(to_ + 8 * half * row_step_ +
                                    8 * (4 * j + quad()) * int{sizeof(T)});
  }

  template <bool adds>
  static __device__ void finish_two(uint32_t& word, const float* sums, float alpha, float beta) {
    struct alignas(4) Two {
      T element[2];
    } two;
    memcpy(&two, &word, sizeof two);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float value = scaled(sums[e], alpha);
      if constexpr (adds) value = plus_scaled(value, beta, static_cast<float>(two.element[e]));
      two.element[e] = static_cast<T>(value);
    }
    memcpy(&word, &two, sizeof two);
  }

  // Any steps. A loop over many numbered registers would be code by the kilobyte, which the others would
  // have to jump over: it goes over a copy in memory.
  template <class Out, int count>
  __device__ void write_singly(const float (&sums)[count], float alpha, float beta) const {
    float copy[count];
#pragma unroll
    for (int i = 0; i < count; ++i) copy[i] = scaled(sums[i], alpha);
#pragma unroll(count <= 8 ? count : 1)
    for (int i = 0; i < count; ++i) {
      const int row = i / 2 % 2 * 8, col = i / 4 * 8 + 2 * quad() + i % 2;
      if (row >= rows_left_ || col >= cols_left_) continue;
      char* to = to_ + row * row_step_ + col * col_step_;
      float value = copy[i];
      if (beta != 0) value = plus_scaled(value, beta, read_element<Out, float>(to));
      write_element<Out>(to, value);
    }
  }

  char* to_;  // the thread's first row of the tile
  int64_t row_step_, col_step_;
  int rows_left_, cols_left_;
  bool wide_;
};

}  // namespace infini::nvidia
