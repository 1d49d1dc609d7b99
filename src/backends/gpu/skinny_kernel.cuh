// Products with few rows: each element of B is used so seldom that tiles would only be waited for. Threads read B
// where it lies, neighbours in memory side by side, and share the k of a column between them.
#pragma once

#include "backends/gpu/product_arithmetic.cuh"

namespace infini::gpu {

constexpr int skinny_threads = 256;
constexpr int skinny_batch = 8;  // elements of B that a thread has in flight

// How a block is laid over B: columns side by side, and threads that share a column's k.
struct SkinnyShape {
  int columns, slices;
};
constexpr SkinnyShape across_columns{32, 8}, along_columns{8, 32};

// The sums of one thread: of every `slices`-th k of one column.
template <class In, int rows>
struct SkinnySums {
  SumOf<In> sum[rows] = {};

  __device__ void add(const GemmPlan& plan, const char* a, const char* b, int64_t k, int64_t slices) {
    In held[skinny_batch];
#pragma unroll
    for (int i = 0; i < skinny_batch; ++i) {
      const int64_t at = k + i * slices;
      held[i] = at < plan.k ? *reinterpret_cast<const In*>(b + at * plan.b.row_step) : In{};
    }
#pragma unroll
    for (int i = 0; i < skinny_batch; ++i) {
      const int64_t at = k + i * slices;
      if (at >= plan.k) break;
#pragma unroll
      for (int row = 0; row < rows; ++row)
        if (row < plan.m)
          sum[row] += widened(*reinterpret_cast<const In*>(a + row * plan.a.row_step + at * plan.a.col_step)) *
                      widened(held[i]);
    }
  }
};

// Blocks take groups of columns of all matrices of the batch. Precondition: plan.m <= rows.
template <class In, int rows>
__global__ void __launch_bounds__(skinny_threads)
    multiply_skinny(const __grid_constant__ GemmPlan plan, const SkinnyShape shape, char* c, const char* a,
                    const char* b, float alpha, float beta) {
  auto* partial = reinterpret_cast<SumOf<In>*>(shared_memory());  // [slice][row][column]
  const int t = static_cast<int>(threadIdx.x);
  const bool across = shape.columns > shape.slices;
  const int column = across ? t % shape.columns : t / shape.slices;
  const int slice = across ? t / shape.columns : t % shape.slices;
  const int64_t groups = (plan.n + shape.columns - 1) / shape.columns;
  for (int64_t at = blockIdx.x; at < plan.batch * groups; at += gridDim.x) {
    const int64_t batch = at / groups, col = at % groups * shape.columns + column;
    SkinnySums<In, rows> sums;
    const char* from_a = a + batch * plan.a.batch_step;
    const char* from_b = b + batch * plan.b.batch_step + col * plan.b.col_step;
    if (col < plan.n)
      for (int64_t k = slice; k < plan.k; k += int64_t{skinny_batch} * shape.slices)
        sums.add(plan, from_a, from_b, k, shape.slices);
    for (int row = 0; row < rows; ++row) partial[(slice * rows + row) * shape.columns + column] = sums.sum[row];
    __syncthreads();
    for (int row = slice; row < plan.m && col < plan.n; row += shape.slices) {
      SumOf<In> sum = 0;
      for (int s = 0; s < shape.slices; ++s) sum += partial[(s * rows + row) * shape.columns + column];
      finish_product<In>(plan, place_in(c, plan.c, batch, row, col), sum, alpha, beta);
    }
    __syncthreads();
  }
}

}  // namespace infini::gpu
