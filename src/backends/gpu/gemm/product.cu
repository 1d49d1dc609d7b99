// Products by plain arithmetic, prepared: all but the operands' addresses is known when they are made.
#include <algorithm>
#include <cstdlib>

#include "backends/gpu/gemm/gemm.h"
#include "backends/gpu/gemm/skinny/launch.cuh"
#include "backends/gpu/gemm/strided/kernel.cuh"
#include "backends/gpu/gemm/tiles/kernel.cuh"
#include "backends/gpu/runtime/check.h"
#include "base/checked.h"
#include "base/dtype.h"

namespace infini::gpu {
namespace {

constexpr int finish_threads = 256;

// Calls `use` with an element of the type.
template <class Use>
auto with_element(infiniDtype_t dtype, Use use) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return use(Half{});
    case INFINI_DTYPE_BF16: return use(Bfloat{});
    case INFINI_DTYPE_F32: return use(float{});
    default: return use(double{});
  }
}

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
    const void* arguments[] = {&plan_, &call.c, &call.a, &call.b, alpha_of(call), beta_of(call)};
    check(launch(kernel_, blocks_, product_threads, arguments, shared_bytes_, call.stream),
          "cannot launch gemm candidate generic");
  }

 private:
  unsigned blocks_;
  size_t shared_bytes_;
  ReadyKernel kernel_;
};

StridedShape strided_shape(const GemmPlan& plan) {
  const bool columns_inside = plan.k == 1 || std::abs(plan.b.col_step) < std::abs(plan.b.row_step);
  return columns_inside ? across_columns : along_columns;
}

// Few rows; or few columns, as the transposed product.
class Strided final : public GpuGemm {
 public:
  Strided(const GpuDevice& device, const GemmPlan& plan, bool swapped)
      : GpuGemm(device, plan),
        swapped_(swapped),
        shape_(strided_shape(plan_)),
        blocks_(grid(plan_.batch * ceil_div(plan_.n, shape_.columns))),
        shared_bytes_(static_cast<size_t>(most_skinny_rows) * strided_threads *
                      (plan_.a.dtype == INFINI_DTYPE_F64 ? sizeof(double) : sizeof(float))),
        kernel_(make_ready(
            with_element(plan_.a.dtype,
                         [](auto element) {
                           return kernel_address(
                               multiply_strided<decltype(element), int{most_skinny_rows}>);
                         }),
            false)) {}
  const char* candidate() const override { return "generic"; }
  std::string schedule() const override { return "element by element"; }

 protected:
  void multiply(const Call& call) const override {
    const char *a = swapped_ ? call.b : call.a, *b = swapped_ ? call.a : call.b;
    const void* arguments[] = {&plan_, &shape_, &call.c, &a, &b, alpha_of(call), beta_of(call)};
    check(launch(kernel_, blocks_, strided_threads, arguments, shared_bytes_, call.stream),
          "cannot launch gemm candidate generic");
  }

 private:
  bool swapped_;
  StridedShape shape_;
  unsigned blocks_;
  size_t shared_bytes_;
  ReadyKernel kernel_;
};

template <class In, int rows>
SkinnyWay skinny_way(const char* name, const SkinnySchedule& s, bool early) {
  const void* kernel = s.k_inside ? kernel_address(multiply_skinny<In, rows, AlongColumns>)
                                  : kernel_address(multiply_skinny<In, rows, AcrossColumns>);
  return {name,
          s,
          skinny_columns(s, false),
          skinny_columns(s, true),
          make_ready(kernel, early),
          make_ready(kernel_address(add_parts<In>), early),
          s.k_inside ? AlongColumns<In, rows>::shared_bytes(s)
                     : AcrossColumns<In, rows>::shared_bytes(s),
          s.parts > 1};
}

SkinnyWay skinny_way(const char* name, const GemmPlan& plan, bool early) {
  const SkinnySchedule s = make_skinny_schedule(plan);
  return with_element(plan.a.dtype, [&](auto element) {
    using In = decltype(element);
    switch (skinny_rows(plan.m)) {
      case 1: return skinny_way<In, 1>(name, s, early);
      case 2: return skinny_way<In, 2>(name, s, early);
      case 4: return skinny_way<In, 4>(name, s, early);
      default: return skinny_way<In, 8>(name, s, early);
    }
  });
}

}  // namespace

std::unique_ptr<GemmKernel> make_skinny_gemm(const GpuDevice& device, const GemmPlan& plan,
                                             const char* name) {
  if (std::min(plan.m, plan.n) > most_skinny_rows) return nullptr;
  const bool swapped = plan.n < plan.m;
  const GemmPlan few = swapped ? transposed(plan) : plan;
  if (has_lines(few)) {
    const SkinnyWay way = skinny_way(name, few, device.facts().early_launch);
    if (can_launch(few, way.schedule, way.ragged_columns))
      return std::make_unique<SkinnyGemm>(device, few, swapped, way);
  }
  return std::make_unique<Strided>(device, few, swapped);
}

std::unique_ptr<GemmKernel> make_generic_gemm(const GpuDevice& device, const GemmPlan& plan) {
  if (auto skinny = make_skinny_gemm(device, plan, "generic")) return skinny;
  return std::make_unique<Tiles>(device, plan, choose_tiling(plan, device.facts().processors));
}

void launch_finish(const GemmPlan& plan, void* c, const float* sums, int64_t sum_row, double alpha,
                   double beta, Stream stream) {
  const void* kernel = with_element(
      plan.c.dtype, [](auto element) { return kernel_address(finish<decltype(element)>); });
  const float narrow[] = {static_cast<float>(alpha), static_cast<float>(beta)};
  const bool f64 = plan.c.dtype == INFINI_DTYPE_F64;
  const void* arguments[] = {&plan,
                             &c,
                             &sums,
                             &sum_row,
                             f64 ? static_cast<const void*>(&alpha) : &narrow[0],
                             f64 ? static_cast<const void*>(&beta) : &narrow[1]};
  check(launch(kernel, grid(ceil_div(plan.batch * plan.m * plan.n, finish_threads)), finish_threads,
               arguments, 0, stream),
        "cannot launch the finishing of c");
}

FinishKernels make_finish(const GpuDevice& device, infiniDtype_t c) {
  const bool early = device.facts().early_launch;
  return with_element(c, [&](auto element) {
    using Out = decltype(element);
    return FinishKernels{make_ready(kernel_address(finish_groups<Out, 4>), early),
                         make_ready(kernel_address(finish_groups<Out, 1>), early)};
  });
}

void launch_finish(const FinishKernels& kernels, const GemmPlan& plan, void* c, const float* sums,
                   int64_t sum_row, float alpha, float beta, Stream stream) {
  const int64_t bytes = dtype_bytes(plan.c.dtype),
                steps = plan.c.row_step | plan.c.batch_step |
                        static_cast<int64_t>(reinterpret_cast<uintptr_t>(c));
  const int width = plan.c.col_step == bytes && plan.n % 4 == 0 && steps % (4 * bytes) == 0 ? 4 : 1;
  const int64_t count = plan.batch * plan.m * plan.n / width;
  if (count > INT32_MAX) return launch_finish(plan, c, sums, sum_row, alpha, beta, stream);
  const FastDivisor groups = make_fast_divisor(static_cast<uint32_t>(plan.n / width)),
                    rows = make_fast_divisor(static_cast<uint32_t>(plan.m));
  const void* arguments[] = {&plan, &c, &sums, &sum_row, &alpha, &beta, &groups, &rows};
  check(launch(width == 4 ? kernels.vectors : kernels.elements,
               grid(ceil_div(count, finish_threads)), finish_threads, arguments, 0, stream),
        "cannot launch the finishing of c");
}

}  // namespace infini::gpu
