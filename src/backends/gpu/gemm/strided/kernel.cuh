// Products with few rows and a B without lines, in which no two elements are neighbours: threads read single ones,
// the nearest ones side by side, and share the k of a column between them.
#pragma once

#include "backends/gpu/gemm/arithmetic.cuh"

namespace infini::gpu {

constexpr int strided_threads = 256;
constexpr int strided_batch = 8;  // elements of B that a thread has in flight

// How a block is laid over B: columns side by side, and threads that share a column's k.
struct StridedShape {
  int columns, slices;
};
constexpr StridedShape across_columns{32, 8}, along_columns{8, 32};

// The sums of one thread: of every `slices`-th k of one column. All of a batch is asked for before any of it is used.
template <class In, int rows>
class StridedSums {
 public:
  // a and b: where A's first row and B's column have this thread's first k; steps lead to its next.
  __device__ void add(const char* a, const char* b, int64_t a_step, int64_t b_step,
                      const GemmPlan& plan, int64_t left) {
    for (; left >= strided_batch; left -= strided_batch) {
      add_batch(a, b, a_step, b_step, plan, strided_batch);
      a += strided_batch * a_step;
      b += strided_batch * b_step;
    }
    if (left > 0) add_batch(a, b, a_step, b_step, plan, static_cast<int>(left));
  }
  __device__ SumOf<In> operator[](int row) const { return sum_[row]; }

 private:
  __device__ static In load(const char* base, int64_t step, int i, int count) {
    return i < count ? *reinterpret_cast<const In*>(base + i * step) : In{};
  }
  __device__ void add_batch(const char* a, const char* b, int64_t a_step, int64_t b_step,
                            const GemmPlan& plan, int count) {
    In of_b[strided_batch], of_a[strided_batch];
#pragma unroll
    for (int i = 0; i < strided_batch; ++i) of_b[i] = load(b, b_step, i, count);
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      if (row >= plan.m) break;
#pragma unroll
      for (int i = 0; i < strided_batch; ++i)
        of_a[i] = load(a + row * plan.a.row_step, a_step, i, count);
#pragma unroll
      for (int i = 0; i < strided_batch; ++i) sum_[row] += widened(of_a[i]) * widened(of_b[i]);
    }
  }

  SumOf<In> sum_[rows] = {};
};

// Blocks take groups of columns of all matrices of the batch. Precondition: plan.m <= rows.
template <class In, int rows>
__global__ void __launch_bounds__(strided_threads)
    multiply_strided(const __grid_constant__ GemmPlan plan, const StridedShape shape, char* c,
                     const char* a, const char* b, SumOf<In> alpha, SumOf<In> beta) {
  auto* partial = reinterpret_cast<SumOf<In>*>(shared_memory());  // [slice][row][column]
  const int t = static_cast<int>(threadIdx.x);
  const bool across = shape.columns > shape.slices;
  const int column = across ? t % shape.columns : t / shape.slices;
  const int slice = across ? t / shape.columns : t % shape.slices;
  const int64_t groups = (plan.n + shape.columns - 1) / shape.columns;
  for (int64_t at = blockIdx.x; at < plan.batch * groups; at += gridDim.x) {
    const int64_t batch = at / groups, col = at % groups * shape.columns + column;
    StridedSums<In, rows> sums;
    const char* from_a = a + batch * plan.a.batch_step + slice * plan.a.col_step;
    const char* from_b =
        b + batch * plan.b.batch_step + col * plan.b.col_step + slice * plan.b.row_step;
    if (col < plan.n)
      sums.add(from_a, from_b, shape.slices * plan.a.col_step, shape.slices * plan.b.row_step, plan,
               (plan.k - slice + shape.slices - 1) / shape.slices);
    for (int row = 0; row < rows; ++row)
      partial[(slice * rows + row) * shape.columns + column] = sums[row];
    __syncthreads();
    for (int row = slice; row < plan.m && col < plan.n; row += shape.slices) {
      SumOf<In> sum = 0;
      for (int s = 0; s < shape.slices; ++s)
        sum += partial[(s * rows + row) * shape.columns + column];
      finish_product<In>(plan, place_in(c, plan.c, batch, row, col), sum, alpha, beta);
    }
    __syncthreads();
  }
}

}  // namespace infini::gpu
