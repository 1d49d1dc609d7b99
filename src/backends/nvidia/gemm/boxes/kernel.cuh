// The box gemm kernel: asks for all boxes, multiplies each piece of k when it is there, adds what
// the groups of k have found, and writes its tile of C.
#pragma once

#include "backends/nvidia/gemm/boxes/schedule.h"
#include "backends/nvidia/gemm/copy_engine.cuh"
#include "backends/nvidia/gemm/small/kernel.cuh"

namespace infini::nvidia {

template <class T, int extent>
struct Box {
  static __device__ uint32_t place(int x, int k, bool k_inside) {
    return place_in_box(extent, x, k, k_inside);
  }
};

// Up to 32×32 elements of C for a warp.
template <class T, int m, int n>
using BoxUnits = MatrixUnits<T, m, n, (m > 32 ? m / 32 : 1), n / 32, Box>;

// The operands' descriptions for the engine, which fetches them by their addresses.
struct BoxMaps {
  CUtensorMap a, b;
};

// Thread i asks for piece i.
class BoxFetcher {
 public:
  __device__ BoxFetcher(const BoxGemm& s, const SmallPlace& place)
      : k_(static_cast<int>(threadIdx.x) * box_depth),
        row_(place.row),
        col_(place.col),
        a_batch_(s.a_batched ? place.batch : 0),
        b_batch_(s.b_batched ? place.batch : 0),
        a_k_inside_(s.a_k_inside),
        b_k_inside_(s.b_k_inside) {}

  __device__ uint32_t known() const {
    return static_cast<uint32_t>(k_ ^ row_ ^ col_ ^ a_batch_ ^ b_batch_);
  }

  __device__ void operator()(const BoxMaps& maps, uint32_t a, uint32_t b, uint32_t barrier,
                             uint32_t bytes) const {
    expect_bytes(barrier, bytes);
    fetch_box(a, maps.a, a_k_inside_ ? k_ : row_, a_k_inside_ ? row_ : k_, a_batch_, barrier);
    fetch_box(b, maps.b, b_k_inside_ ? k_ : col_, b_k_inside_ ? col_ : k_, b_batch_, barrier);
  }

 private:
  int k_, row_, col_, a_batch_, b_batch_;
  bool a_k_inside_, b_k_inside_;
};

// Adds the groups' sums of 8 neighbouring columns per thread and finishes them: alpha, beta and the
// one rounding.
template <class Arithmetic>
class VectorWriter {
 public:
  using T = typename Arithmetic::Element;

  __device__ VectorWriter(const BoxGemm& s, const SmallPlace& place, char* c, bool vectors)
      : col_step_(s.c_col_step), wide_(s.c_is_f32) {
    const int row = place.row + own_row(), col = place.col + own_col();
    to_ = c + place.batch * s.c_batch_step + row * s.c_row_step + col * s.c_col_step;
    count_ = own_row() < Arithmetic::rows && row < s.m ? max(0, min(width, s.n - col)) : 0;
    whole_ = vectors && count_ == width;
  }

  __device__ uint32_t known() const {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to_)) ^ count_;
  }

  __device__ void operator()(const float* sums, float alpha, float beta) const {
    if (count_ == 0) return;
    float values[width] = {};
    sums += own_row() * Arithmetic::pitch + own_col();
#pragma unroll
    for (int group = 0; group < Arithmetic::groups; ++group)
#pragma unroll
      for (int i = 0; i < width; i += 4) {
        const auto four = *reinterpret_cast<const float4*>(
            sums + group * Arithmetic::rows * Arithmetic::pitch + i);
        values[i] += four.x, values[i + 1] += four.y;
        values[i + 2] += four.z, values[i + 3] += four.w;
      }
    wide_ ? finish<float>(values, alpha, beta) : finish<T>(values, alpha, beta);
  }

 private:
  static constexpr int width = 8;
  static_assert(Arithmetic::rows * Arithmetic::cols <= width * Arithmetic::threads);
  static __device__ int own_row() {
    return static_cast<int>(threadIdx.x) / (Arithmetic::cols / width);
  }
  static __device__ int own_col() {
    return static_cast<int>(threadIdx.x) % (Arithmetic::cols / width) * width;
  }

  template <class Out>
  __device__ void finish(const float (&values)[width], float alpha, float beta) const {
    if (whole_)
      finish_vector<Out>(values, alpha, beta);
    else
      finish_singly<Out>(values, alpha, beta);
  }

  template <class Out>
  __device__ void finish_vector(const float (&values)[width], float alpha, float beta) const {
    struct alignas(16) Vector {
      Out element[width];
    } out;
    if (beta == 0) {
#pragma unroll
      for (int i = 0; i < width; ++i) out.element[i] = static_cast<Out>(scaled(values[i], alpha));
    } else {
      out = *reinterpret_cast<const Vector*>(to_);
#pragma unroll
      for (int i = 0; i < width; ++i)
        out.element[i] = static_cast<Out>(
            plus_scaled(scaled(values[i], alpha), beta, static_cast<float>(out.element[i])));
    }
    *reinterpret_cast<Vector*>(to_) = out;
  }

  template <class Out>
  __device__ void finish_singly(const float (&values)[width], float alpha, float beta) const {
    char* to = to_;
#pragma unroll
    for (int i = 0; i < width; ++i, to += col_step_) {
      if (i >= count_) return;
      float value = scaled(values[i], alpha);
      if (beta != 0) value = plus_scaled(value, beta, read_element<Out, float>(to));
      write_element<Out>(to, value);
    }
  }

  char* to_;
  int64_t col_step_;
  int count_;
  bool whole_, wide_;
};

// See multiply_small() for what is said to predecessor and successor, and when.
template <class Arithmetic>
__global__ void __launch_bounds__(Arithmetic::threads)
    multiply_boxes(const __grid_constant__ BoxMaps maps, const __grid_constant__ BoxGemm s, char* c,
                   float alpha, float beta, bool c_vectors) {
  constexpr unsigned few_blocks = 8;
  constexpr SmallTile tile{Arithmetic::rows, Arithmetic::cols};
  static_assert(Arithmetic::pitch == sum_pitch(tile));
  extern __shared__ __align__(16) char shared[];
  const uint32_t start = shared_address(shared),
                 boxes = (start + box_alignment - 1) / box_alignment * box_alignment,
                 barriers = boxes + barriers_at(tile, s.pieces);
  const auto own = static_cast<int>(threadIdx.x);
  if (own == 0) fetch_map(maps.a), fetch_map(maps.b);
  if (own < s.pieces) make_barrier(barriers + own * barrier_bytes);
  make_barriers_known();
  const SmallPlace place = place_tile(s, blockIdx.x, tile);
  const BoxFetcher fetch(s, place);
  const VectorWriter<Arithmetic> write(s, place, c, c_vectors);
  Arithmetic arithmetic(s.a_k_inside, s.b_k_inside);
  __syncthreads();
  if (gridDim.x <= few_blocks) gpu::let_successor_start();
  gpu::wait_when_known(fetch.known() ^ write.known() ^ arithmetic.known());
  gpu::let_successor_start();

  if (own < s.pieces) {
    const uint32_t piece = boxes + own * piece_bytes(tile);
    fetch(maps, piece, piece + box_bytes(tile.rows), barriers + own * barrier_bytes,
          piece_bytes(tile));
  }
  __syncwarp();
  arithmetic.as_they_lie([&](auto a_turned, auto b_turned) {
#pragma unroll 4
    for (int i = 0; i < s.pieces; ++i) {
      wait_for_round(barriers + i * barrier_bytes);
      const uint32_t piece = boxes + i * piece_bytes(tile);
      arithmetic.add_as(piece, piece + box_bytes(tile.rows), a_turned, b_turned);
    }
  });
  __syncthreads();
  auto* sums = reinterpret_cast<float*>(shared + (boxes - start));
  arithmetic.put(sums);
  __syncthreads();
  write(sums, alpha, beta);
}

}  // namespace infini::nvidia
