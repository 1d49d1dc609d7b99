// Gemm without a library: any strides, types and extents. It is the answer where cuBLASLt is absent
// or declines, not a competitor: plain tiles in shared memory, f32 (or f64) sums in the order of k.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "backends/gpu/check.h"
#include "gemm.h"

namespace infini::nvidia {
namespace {

constexpr int tile = 64, depth = 16, threads = 256, per_thread = 4;
constexpr int64_t most_blocks = 1 << 20;

template <class T>
struct Arithmetic { using Type = float; };
template <>
struct Arithmetic<double> { using Type = double; };

template <class T>
__device__ T rounded(float value) { return static_cast<T>(value); }
template <>
__device__ __half rounded<__half>(float value) { return __float2half_rn(value); }
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) { return __float2bfloat16_rn(value); }
template <class T>
__device__ T rounded(double value) { return static_cast<T>(value); }

template <class T>
__device__ typename Arithmetic<T>::Type read(const char* p) {
  return static_cast<typename Arithmetic<T>::Type>(*reinterpret_cast<const T*>(p));
}

template <class Out, class Sum>
__device__ void write(char* place, Sum sum, Sum alpha, Sum beta) {
  Sum value = alpha * sum;
  if (beta != 0) value += beta * static_cast<Sum>(*reinterpret_cast<const Out*>(place));
  *reinterpret_cast<Out*>(place) = rounded<Out>(value);
}

// Tiles of all matrices of the batch in one row; a block takes every gridDim.x-th.
template <class T, class Out>
__global__ void multiply_tiles(GemmPlan plan, char* c, const char* a, const char* b, float alpha,
                               float beta) {
  using Sum = typename Arithmetic<T>::Type;
  __shared__ Sum left[depth][tile + 1], right[depth][tile + 1];
  const int64_t rows = (plan.m + tile - 1) / tile, cols = (plan.n + tile - 1) / tile;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int64_t at = blockIdx.x; at < plan.batch * rows * cols; at += gridDim.x) {
    const int64_t batch = at / (rows * cols), row = at / cols % rows * tile, col = at % cols * tile;
    Sum sum[per_thread][per_thread] = {};
    for (int64_t k = 0; k < plan.k; k += depth) {
      for (int i = threadIdx.x; i < tile * depth; i += threads) {
        const int64_t r = row + i / depth, p = k + i % depth, q = k + i / tile, s = col + i % tile;
        left[i % depth][i / depth] =
            r < plan.m && p < plan.k
                ? read<T>(a + batch * plan.a.batch_step + r * plan.a.row_step + p * plan.a.col_step)
                : Sum(0);
        right[i / tile][i % tile] =
            q < plan.k && s < plan.n
                ? read<T>(b + batch * plan.b.batch_step + q * plan.b.row_step + s * plan.b.col_step)
                : Sum(0);
      }
      __syncthreads();
      for (int p = 0; p < depth; ++p)
        for (int i = 0; i < per_thread; ++i)
          for (int j = 0; j < per_thread; ++j)
            sum[i][j] += left[p][ty + 16 * i] * right[p][tx + 16 * j];
      __syncthreads();
    }
    for (int i = 0; i < per_thread; ++i)
      for (int j = 0; j < per_thread; ++j) {
        const int64_t r = row + ty + 16 * i, s = col + tx + 16 * j;
        if (r < plan.m && s < plan.n)
          write<Out, Sum>(c + batch * plan.c.batch_step + r * plan.c.row_step + s * plan.c.col_step,
                          sum[i][j], Sum(alpha), Sum(beta));
      }
  }
}

template <class Out>
__global__ void finish(GemmPlan plan, char* c, const float* sums, int64_t sum_row, float alpha,
                       float beta) {
  using Sum = typename Arithmetic<Out>::Type;
  const int64_t count = plan.batch * plan.m * plan.n, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int64_t line = i / plan.n, col = i % plan.n, batch = line / plan.m, row = line % plan.m;
    write<Out, Sum>(c + batch * plan.c.batch_step + row * plan.c.row_step + col * plan.c.col_step,
                    sums ? Sum(sums[line * sum_row + col]) : Sum(0), Sum(alpha), Sum(beta));
  }
}

using MultiplyKernel = void (*)(GemmPlan, char*, const char*, const char*, float, float);
using FinishKernel = void (*)(GemmPlan, char*, const float*, int64_t, float, float);

MultiplyKernel multiply_for(infiniDtype_t in, infiniDtype_t out) {
  const bool wide = out == INFINI_DTYPE_F32;
  switch (in) {
    case INFINI_DTYPE_F16: return wide ? multiply_tiles<__half, float> : multiply_tiles<__half, __half>;
    case INFINI_DTYPE_BF16:
      return wide ? multiply_tiles<__nv_bfloat16, float> : multiply_tiles<__nv_bfloat16, __nv_bfloat16>;
    case INFINI_DTYPE_F32: return multiply_tiles<float, float>;
    default: return multiply_tiles<double, double>;
  }
}

FinishKernel finish_for(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return finish<__half>;
    case INFINI_DTYPE_BF16: return finish<__nv_bfloat16>;
    case INFINI_DTYPE_F32: return finish<float>;
    default: return finish<double>;
  }
}

class Generic final : public NvidiaGemm {
 public:
  using NvidiaGemm::NvidiaGemm;
  const char* candidate() const override { return "generic"; }

 protected:
  void multiply(const Call& call) const override {
    launch_generic(plan_, call.c, call.a, call.b, call.alpha, call.beta, call.stream);
  }
};

}  // namespace

void launch_generic(const GemmPlan& plan, void* c, const void* a, const void* b, float alpha,
                    float beta, gpu::Stream stream) {
  const int64_t rows = (plan.m + tile - 1) / tile, cols = (plan.n + tile - 1) / tile;
  const int64_t blocks = std::min(plan.batch * rows * cols, most_blocks);
  const void* arguments[] = {&plan, &c, &a, &b, &alpha, &beta};
  gpu::check(gpu::launch(reinterpret_cast<const void*>(multiply_for(plan.a.dtype, plan.c.dtype)),
                         static_cast<unsigned>(blocks), threads, arguments, 0, stream),
             "cannot launch gemm candidate generic");
}

void launch_finish(const GemmPlan& plan, void* c, const float* sums, int64_t sum_row, float alpha,
                   float beta, gpu::Stream stream) {
  const int64_t blocks = std::min((plan.batch * plan.m * plan.n + 255) / 256, most_blocks);
  const void* arguments[] = {&plan, &c, &sums, &sum_row, &alpha, &beta};
  gpu::check(gpu::launch(reinterpret_cast<const void*>(finish_for(plan.c.dtype)),
                         static_cast<unsigned>(blocks), 256, arguments, 0, stream),
             "cannot launch the finishing of c");
}

std::unique_ptr<GemmKernel> make_generic(const GemmContext& context, const GemmPlan& plan) {
  return std::make_unique<Generic>(context.device, plan);
}

}  // namespace infini::nvidia
