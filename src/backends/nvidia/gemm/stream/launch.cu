// Products with few rows by matrix units, at the speed at which the other operand comes from
// memory.
#include "backends/gpu/gemm/skinny/launch.cuh"
#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/stream/kernel.cuh"

namespace infini::nvidia {
namespace {

// Few rows, or few columns as the transposed product.
struct Few {
  GemmPlan plan;
  bool swapped;
};

Few with_few_rows(const GemmPlan& plan) {
  const bool swapped = plan.n < plan.m;
  return {swapped ? transposed(plan) : plan, swapped};
}

template <class In, int tiles>
const void* kernel_for(bool k_inside) {
  return k_inside ? gpu::kernel_address(multiply_stream<In, tiles, StreamAlong>)
                  : gpu::kernel_address(multiply_stream<In, tiles, StreamAcross>);
}

template <class In>
gpu::SkinnyWay stream_way(const GemmContext& context, const GemmPlan& plan,
                          const gpu::SkinnySchedule& s) {
  const bool early = context.device.facts().early_launch;
  const void* kernel =
      stream_tiles(plan.m) == 1 ? kernel_for<In, 1>(s.k_inside) : kernel_for<In, 2>(s.k_inside);
  return {"stream",
          s,
          stream_columns(s.k_inside, false),
          stream_columns(s.k_inside, true),
          gpu::make_ready(kernel, early),
          gpu::make_ready(gpu::kernel_address(gpu::add_parts<In>), early),
          static_cast<size_t>(stream_shared_bytes(s.k_inside, plan.m, s.chunk)),
          s.parts > 1};
}

}  // namespace

std::unique_ptr<GemmKernel> make_stream(const GemmContext& context, const GemmPlan& plan) {
  const Few few = with_few_rows(plan);
  const auto schedule = make_stream_schedule(few.plan, context.device.facts().processors);
  if (!schedule || capability(context.device) < 80 ||
      !gpu::can_launch(few.plan, *schedule, stream_columns(schedule->k_inside, true)))
    return nullptr;
  const auto way = few.plan.a.dtype == INFINI_DTYPE_F16
                       ? stream_way<gpu::Half>(context, few.plan, *schedule)
                       : stream_way<gpu::Bfloat>(context, few.plan, *schedule);
  return std::make_unique<gpu::SkinnyGemm>(context.device, few.plan, few.swapped, way);
}

}  // namespace infini::nvidia
