// Products by plain arithmetic, prepared: all but the operands' addresses is known when they are made.
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
constexpr int64_t few_rows = 8;
constexpr int finish_threads = 256;

// Calls `use` with an element of the type.
template <class Use>
auto with_element(infiniDtype_t dtype, Use use) {
  switch (dtype) {
    case INFINI_DTYPE_F16:
      return use(Half{});
    case INFINI_DTYPE_BF16:
      return use(Bfloat{});
    case INFINI_DTYPE_F32:
      return use(float{});
    default:
      return use(double{});
  }
}

unsigned grid(int64_t blocks) { return static_cast<unsigned>(std::min(blocks, most_blocks)); }

struct Tiling {
  int tile;
  size_t shared_bytes;
  const void* kernel;
};

template <class In, int tile>
Tiling tiling() {
  return {tile, product_shared_bytes<In, tile>, kernel_address(multiply_tiles<In, tile>)};
}

// Tiles of 128 compute more for each byte that they fetch; those of 64 keep more processors busy, and f64 takes
// twice the shared memory and registers for each sum.
Tiling choose_tiling(const GemmPlan& plan, int processors) {
  const int64_t large = plan.batch * ceil_div(plan.m, 128) * ceil_div(plan.n, 128);
  const bool enough = large >= processors && plan.m > 64 && plan.n > 64;
  return with_element(plan.a.dtype, [&](auto element) {
    using In = decltype(element);
    if constexpr (sizeof(In) < 8)
      if (enough) return tiling<In, 128>();
    return tiling<In, 64>();
  });
}

class Tiles final : public GpuGemm {
 public:
  Tiles(const GpuDevice& device, const GemmPlan& plan, const Tiling& tiling)
      : GpuGemm(device, plan),
        blocks_(grid(plan.batch * ceil_div(plan.m, tiling.tile) * ceil_div(plan.n, tiling.tile))),
        shared_bytes_(tiling.shared_bytes),
        kernel_(make_ready(tiling.kernel, false)) {}
  const char* candidate() const override { return "generic"; }

 protected:
  void multiply(const Call& call) const override {
    const void* arguments[] = {&plan_, &call.c, &call.a, &call.b, &call.alpha, &call.beta};
    check(launch(kernel_, blocks_, product_threads, arguments, shared_bytes_, call.stream),
          "cannot launch gemm candidate generic");
  }

 private:
  unsigned blocks_;
  size_t shared_bytes_;
  ReadyKernel kernel_;
};

const void* skinny_kernel(const GemmPlan& plan) {
  return with_element(plan.a.dtype, [&](auto element) {
    using In = decltype(element);
    return plan.m == 1 ? kernel_address(multiply_skinny<In, 1>) : kernel_address(multiply_skinny<In, few_rows>);
  });
}

SkinnyShape skinny_shape(const GemmPlan& plan) {
  const bool columns_inside = plan.k == 1 || std::abs(plan.b.col_step) < std::abs(plan.b.row_step);
  return columns_inside ? across_columns : along_columns;
}

// Few rows; or few columns, as the transposed product.
class Skinny final : public GpuGemm {
 public:
  Skinny(const GpuDevice& device, const GemmPlan& plan, bool swapped)
      : GpuGemm(device, swapped ? transposed(plan) : plan),
        swapped_(swapped),
        shape_(skinny_shape(plan_)),
        blocks_(grid(plan_.batch * ceil_div(plan_.n, shape_.columns))),
        shared_bytes_(static_cast<size_t>(plan_.m == 1 ? 1 : few_rows) * skinny_threads *
                      (plan_.a.dtype == INFINI_DTYPE_F64 ? sizeof(double) : sizeof(float))),
        kernel_(make_ready(skinny_kernel(plan_), false)) {}
  const char* candidate() const override { return "generic"; }

 protected:
  void multiply(const Call& call) const override {
    const char *a = swapped_ ? call.b : call.a, *b = swapped_ ? call.a : call.b;
    const void* arguments[] = {&plan_, &shape_, &call.c, &a, &b, &call.alpha, &call.beta};
    check(launch(kernel_, blocks_, skinny_threads, arguments, shared_bytes_, call.stream),
          "cannot launch gemm candidate generic");
  }

 private:
  bool swapped_;
  SkinnyShape shape_;
  unsigned blocks_;
  size_t shared_bytes_;
  ReadyKernel kernel_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_generic_gemm(const GpuDevice& device, const GemmPlan& plan) {
  if (std::min(plan.m, plan.n) <= few_rows) return std::make_unique<Skinny>(device, plan, plan.m > few_rows);
  return std::make_unique<Tiles>(device, plan, choose_tiling(plan, device.facts().processors));
}

void launch_finish(const GemmPlan& plan, void* c, const float* sums, int64_t sum_row, float alpha, float beta,
                   Stream stream) {
  const void* kernel =
      with_element(plan.c.dtype, [](auto element) { return kernel_address(finish<decltype(element)>); });
  const void* arguments[] = {&plan, &c, &sums, &sum_row, &alpha, &beta};
  check(launch(kernel, grid(ceil_div(plan.batch * plan.m * plan.n, finish_threads)), finish_threads, arguments, 0,
               stream),
        "cannot launch the finishing of c");
}

}  // namespace infini::gpu
