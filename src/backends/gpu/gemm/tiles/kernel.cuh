// Products by plain arithmetic: a block computes a tile of C, piece of k after piece of k, from tiles of A and B
// in shared memory. No matrix units and no warp functions: right on every chip, fast where there is nothing better.
#pragma once

#include "backends/gpu/fast_divide.h"
#include "backends/gpu/gemm/arithmetic.cuh"

namespace infini::gpu {

constexpr int product_threads = 256;  // 16 rows of 16 threads
constexpr int product_depth = 16;     // a piece of k

// Rows of shared memory are a piece's k, 16 bytes longer than a tile so that they begin in different banks.
template <class Sum, int tile>
constexpr int product_pitch = tile + 16 / static_cast<int>(sizeof(Sum));
template <class In, int tile>
constexpr size_t product_shared_bytes =
    2 * sizeof(SumOf<In>) * product_depth* product_pitch<SumOf<In>, tile>;

// One operand's way into shared memory. Neighbouring threads take neighbours in memory: along k, or along the side
// that the operand shares with C. A piece is held in registers while the one before it is multiplied.
template <class In, int tile>
class Feed {
 public:
  // `first` and `extent` are of the side: where the tile begins, and where the operand ends.
  __device__ Feed(const char* base, int64_t side_step, int64_t k_step, int64_t first,
                  int64_t extent) {
    const bool k_inside = extent == 1 || magnitude(k_step) <= magnitude(side_step);
    const int t = static_cast<int>(threadIdx.x);
    side_ = k_inside ? t / product_depth : t % tile;
    k_ = k_inside ? t % product_depth : t / tile;
    side_hop_ = k_inside ? product_threads / product_depth : 0;
    k_hop_ = k_inside ? 0 : product_threads / tile;
    side_end_ = extent - first;
    hop_step_ = side_hop_ * side_step + k_hop_ * k_step;
    piece_step_ = product_depth * k_step;
    next_ = base + (first + side_) * side_step + k_ * k_step;
  }

  // Of the next piece, of which k_end elements exist. What lies beyond an end counts as 0.
  __device__ void fetch(int64_t k_end) {
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
      const bool exists = side_ + i * side_hop_ < side_end_ && k_ + i * k_hop_ < k_end;
      held_[i] = exists ? *reinterpret_cast<const In*>(next_ + i * hop_step_) : In{};
    }
    next_ += piece_step_;
  }

  __device__ void put(SumOf<In>* shared) const {
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
      shared[(k_ + i * k_hop_) * product_pitch<SumOf<In>, tile> + side_ + i * side_hop_] =
          widened(held_[i]);
  }

 private:
  static constexpr int per_thread = tile * product_depth / product_threads;
  __device__ static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

  int side_, k_, side_hop_, k_hop_;
  int64_t side_end_, hop_step_, piece_step_;
  const char* next_;
  In held_[per_thread];
};

// The sums of one thread: 4×4 of every 64×64 of the tile.
template <class In, int tile>
class Sums {
 public:
  __device__ void add(const SumOf<In>* left, const SumOf<In>* right) {
#pragma unroll
    for (int k = 0; k < product_depth; ++k) {
      Row l[parts], r[parts];
#pragma unroll
      for (int part = 0; part < parts; ++part) {
        l[part] =
            *reinterpret_cast<const Row*>(left + k * pitch + 64 * part + 4 * (threadIdx.x / 16));
        r[part] =
            *reinterpret_cast<const Row*>(right + k * pitch + 64 * part + 4 * (threadIdx.x % 16));
      }
#pragma unroll
      for (int i = 0; i < side; ++i)
#pragma unroll
        for (int j = 0; j < side; ++j) sum_[i][j] += l[i / 4].v[i % 4] * r[j / 4].v[j % 4];
    }
  }

  __device__ void write(const GemmPlan& plan, char* c, int64_t batch, int64_t row, int64_t col,
                        SumOf<In> alpha, SumOf<In> beta) const {
#pragma unroll
    for (int i = 0; i < side; ++i)
#pragma unroll
      for (int j = 0; j < side; ++j) {
        const int64_t at = row + i / 4 * 64 + threadIdx.x / 16 * 4 + i % 4;
        const int64_t to = col + j / 4 * 64 + threadIdx.x % 16 * 4 + j % 4;
        if (at < plan.m && to < plan.n)
          finish_product<In>(plan, place_in(c, plan.c, batch, at, to), sum_[i][j], alpha, beta);
      }
  }

 private:
  static constexpr int parts = tile / 64, side = 4 * parts, pitch = product_pitch<SumOf<In>, tile>;
  using Row = Quad<SumOf<In>>;
  SumOf<In> sum_[side][side] = {};
};

// Tiles of all matrices of the batch in one row; a block takes every gridDim.x-th.
template <class In, int tile>
__global__ void __launch_bounds__(product_threads)
    multiply_tiles(const __grid_constant__ GemmPlan plan, char* c, const char* a, const char* b,
                   SumOf<In> alpha, SumOf<In> beta) {
  auto* left = reinterpret_cast<SumOf<In>*>(shared_memory());
  auto* right = left + product_depth * product_pitch<SumOf<In>, tile>;
  const int64_t rows = (plan.m + tile - 1) / tile, cols = (plan.n + tile - 1) / tile;
  for (int64_t at = blockIdx.x; at < plan.batch * rows * cols; at += gridDim.x) {
    const int64_t batch = at / (rows * cols), row = at / cols % rows * tile, col = at % cols * tile;
    Feed<In, tile> of_a(a + batch * plan.a.batch_step, plan.a.row_step, plan.a.col_step, row,
                        plan.m);
    Feed<In, tile> of_b(b + batch * plan.b.batch_step, plan.b.col_step, plan.b.row_step, col,
                        plan.n);
    Sums<In, tile> sums;
    of_a.fetch(plan.k);
    of_b.fetch(plan.k);
    for (int64_t k = 0; k < plan.k; k += product_depth) {
      of_a.put(left);
      of_b.put(right);
      __syncthreads();
      of_a.fetch(plan.k - k - product_depth);
      of_b.fetch(plan.k - k - product_depth);
      sums.add(left, right);
      __syncthreads();
    }
    sums.write(plan, c, batch, row, col, alpha, beta);
  }
}

template <class Out>
__global__ void finish(const __grid_constant__ GemmPlan plan, char* c, const float* sums,
                       int64_t sum_row, SumOf<Out> alpha, SumOf<Out> beta) {
  const int64_t count = plan.batch * plan.m * plan.n, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int64_t line = i / plan.n, col = i % plan.n;
    finish_element<Out>(place_in(c, plan.c, line / plan.m, line % plan.m, col),
                        sums ? SumOf<Out>(sums[line * sum_row + col]) : SumOf<Out>(0), alpha, beta);
  }
}

// The same for fewer than 2^31 groups of `width` columns, which begin at multiples of their size in C.
template <class Out, int width>
__global__ void finish_groups(const __grid_constant__ GemmPlan plan, char* c, const float* sums,
                              int64_t sum_row, float alpha, float beta, const FastDivisor groups,
                              const FastDivisor rows) {
  struct alignas(width * sizeof(Out)) Group {
    Out v[width];
  };
  struct alignas(width * sizeof(float)) Sums {
    float v[width];
  };
  const auto count = static_cast<uint32_t>(plan.batch) * rows.divisor * groups.divisor;
  wait_when_known(count);
  let_successor_start();
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    uint32_t line = i;
    const int64_t column = int64_t{take_digit(line, groups)} * width;
    const auto sum = *reinterpret_cast<const Sums*>(sums + line * sum_row + column);
    const uint32_t row = take_digit(line, rows);
    auto* place = reinterpret_cast<Group*>(place_in(c, plan.c, line, row, column));
    Group group = *place;
#pragma unroll
    for (int j = 0; j < width; ++j)
      finish_element<Out>(reinterpret_cast<char*>(&group.v[j]), sum.v[j], alpha, beta);
    *place = group;
  }
}

}  // namespace infini::gpu
