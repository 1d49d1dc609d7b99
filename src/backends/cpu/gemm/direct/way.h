// How the direct gemm goes about a product: which operand it reads vector by vector, and what it must
// copy before. A pure value, decided by the problem alone.
#pragma once

#include "backends/cpu/gemm/gemm.h"
#include "base/checked.h"

namespace infini::cpu {

struct DirectWay {
  bool swapped = false;  // computed as Cᵀ = Bᵀ·Aᵀ
  bool packs_a = false;  // A is not of the arithmetic's type
  bool packs_b = false;  // B is not, its rows are not contiguous, or it is large and read often
  bool streams = false;  // B is large and read in place
  bool through_sums = false;  // the tiles cannot write C themselves
  int64_t depth = 0;          // of a piece of k
  double cycles = 0;          // an estimate, for one thread
};

// The cheaper of the two ways to see the product.
DirectWay direct_way(const GemmPlan& plan);

// The kernels for a product that is seen so. Rows that are half a vector long are read and written by vectors of that
// size: every second wider one would cross two lines.
template <class T>
const GemmKernels<T>& direct_kernels(Isa isa, const GemmPlan& plan) {
  const auto table = [](Isa set) -> const GemmKernels<T>& {
    if constexpr (sizeof(T) == 8)
      return gemm_tables(set).f64;
    else
      return gemm_tables(set).f32;
  };
  const GemmKernels<T>& own = table(isa);
  return isa == Isa::avx512 && 2 * plan.n == own.lanes && plan.m > slim_rows ? table(Isa::avx2)
                                                                             : own;
}

// Vectors of the next panel where `left` of `all` are left: the widest that divide them; two of 2 are
// better than 3 and 1.
template <class T>
int64_t panel_vectors(const GemmKernels<T>& kernels, int64_t rows, int64_t all, int64_t left) {
  if (rows <= slim_rows && kernels.wide_vectors != 0 && left > kernels.wide_vectors)
    return left <= most_tile_vectors || left >= 2 * most_tile_vectors
               ? (left < most_tile_vectors ? left : most_tile_vectors)
               : (left + 1) / 2;
  if (kernels.wide_vectors == 4 && all % 4 == 0) return 4;
  if (left == 4 && kernels.tile_vectors == 3)
    return rows <= slim_rows && kernels.wide_vectors == 4 ? 4 : 2;
  return left < kernels.tile_vectors ? left : kernels.tile_vectors;
}

// Rows of a tile that is so many vectors wide, at most.
template <class T>
int64_t most_rows(const GemmKernels<T>& kernels, int64_t vectors) {
  if (vectors > kernels.tile_vectors) return kernels.wide_rows > 0 ? kernels.wide_rows : 1;
  return vectors == kernels.tile_vectors ? kernels.tile_rows : kernels.narrow_rows;
}

// Rows of such a tile: nearly equal ones are better than a last one of one row. (Short products notice a division.)
template <class T>
int64_t strip_height(const GemmKernels<T>& kernels, int64_t rows, int64_t vectors) {
  const int64_t most = most_rows(kernels, vectors);
  return rows <= most ? rows : ceil_div(rows, ceil_div(rows, most));
}

}  // namespace infini::cpu
