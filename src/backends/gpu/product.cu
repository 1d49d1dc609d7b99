// Launching products by plain arithmetic.
#include <algorithm>
#include <cstdlib>

#include "backends/gpu/check.h"
#include "backends/gpu/gemm.h"
#include "backends/gpu/product_kernel.cuh"
#include "backends/gpu/skinny_kernel.cuh"
#include "base/checked.h"

namespace infini::gpu {
namespace {

constexpr int64_t most_blocks = 1 << 20;
constexpr int finish_threads = 256;

constexpr int64_t few_rows = 8;

using Multiply = void (*)(GemmPlan, char*, const char*, const char*, float, float);
using MultiplySkinny = void (*)(GemmPlan, SkinnyShape, char*, const char*, const char*, float, float);
using Finish = void (*)(GemmPlan, char*, const float*, int64_t, float, float);

struct Tiling {
  int tile;
  size_t shared_bytes;
  Multiply kernel;
};

template <class In, int tile>
Tiling tiling() {
  return {tile, product_shared_bytes<In, tile>, multiply_tiles<In, tile>};
}

// Tiles of 128 compute more for each byte that they fetch; those of 64 keep more processors busy.
template <class In>
Tiling tiling_for(const GemmPlan& plan, int processors) {
  const int64_t large = plan.batch * ceil_div(plan.m, 128) * ceil_div(plan.n, 128);
  return large >= processors && plan.m > 64 && plan.n > 64 ? tiling<In, 128>() : tiling<In, 64>();
}

Tiling choose_tiling(const GemmPlan& plan, int processors) {
  switch (plan.a.dtype) {
    case INFINI_DTYPE_F16:
      return tiling_for<Half>(plan, processors);
    case INFINI_DTYPE_BF16:
      return tiling_for<Bfloat>(plan, processors);
    case INFINI_DTYPE_F32:
      return tiling_for<float>(plan, processors);
    default:  // twice the shared memory and registers for each sum
      return tiling<double, 64>();
  }
}

struct Skinny {
  MultiplySkinny kernel;
  size_t shared_bytes;
};

template <class In>
Skinny skinny_for(const GemmPlan& plan) {
  constexpr size_t bytes = sizeof(SumOf<In>) * skinny_threads;  // of one row
  return plan.m == 1 ? Skinny{multiply_skinny<In, 1>, bytes} : Skinny{multiply_skinny<In, few_rows>, few_rows * bytes};
}

Skinny choose_skinny(const GemmPlan& plan) {
  switch (plan.a.dtype) {
    case INFINI_DTYPE_F16:
      return skinny_for<Half>(plan);
    case INFINI_DTYPE_BF16:
      return skinny_for<Bfloat>(plan);
    case INFINI_DTYPE_F32:
      return skinny_for<float>(plan);
    default:
      return skinny_for<double>(plan);
  }
}

void launch_skinny(const GemmPlan& plan, void* c, const void* a, const void* b, float alpha, float beta,
                   Stream stream) {
  const Skinny by = choose_skinny(plan);
  const bool columns_inside = plan.k == 1 || std::abs(plan.b.col_step) < std::abs(plan.b.row_step);
  const SkinnyShape shape = columns_inside ? across_columns : along_columns;
  const int64_t blocks = std::min(plan.batch * ceil_div(plan.n, shape.columns), most_blocks);
  const void* arguments[] = {&plan, &shape, &c, &a, &b, &alpha, &beta};
  check(launch(kernel_address(by.kernel), static_cast<unsigned>(blocks), skinny_threads, arguments, by.shared_bytes,
               stream),
        "cannot launch gemm candidate generic");
}

Finish finish_for(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16:
      return finish<Half>;
    case INFINI_DTYPE_BF16:
      return finish<Bfloat>;
    case INFINI_DTYPE_F32:
      return finish<float>;
    default:
      return finish<double>;
  }
}

}  // namespace

void launch_product(const GemmPlan& plan, int processors, void* c, const void* a, const void* b, float alpha,
                    float beta, Stream stream) {
  if (plan.m <= few_rows) return launch_skinny(plan, c, a, b, alpha, beta, stream);
  if (plan.n <= few_rows) return launch_skinny(transposed(plan), c, b, a, alpha, beta, stream);
  const Tiling by = choose_tiling(plan, processors);
  const int64_t tiles = plan.batch * ceil_div(plan.m, by.tile) * ceil_div(plan.n, by.tile);
  const void* arguments[] = {&plan, &c, &a, &b, &alpha, &beta};
  check(launch(kernel_address(by.kernel), static_cast<unsigned>(std::min(tiles, most_blocks)), product_threads,
               arguments, by.shared_bytes, stream),
        "cannot launch gemm candidate generic");
}

void launch_finish(const GemmPlan& plan, void* c, const float* sums, int64_t sum_row, float alpha, float beta,
                   Stream stream) {
  const int64_t blocks = std::min(ceil_div(plan.batch * plan.m * plan.n, finish_threads), most_blocks);
  const void* arguments[] = {&plan, &c, &sums, &sum_row, &alpha, &beta};
  check(launch(kernel_address(finish_for(plan.c.dtype)), static_cast<unsigned>(blocks), finish_threads, arguments, 0,
               stream),
        "cannot launch the finishing of c");
}

}  // namespace infini::gpu
