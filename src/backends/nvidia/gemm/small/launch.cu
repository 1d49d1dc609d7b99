// Small products by one launch of a kernel of our own: a call costs the host a launch and no more.
#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/small/kernel.cuh"
#include "backends/nvidia/gemm/small/schedule.h"

namespace infini::nvidia {
namespace {

struct Instance {
  infiniDtype_t dtype;
  SmallTile tile;
  const void* (*kernel)();
  int threads;
  int (*shared_bytes)(int pieces);
};

template <class Arithmetic>
constexpr Instance instance(infiniDtype_t dtype) {
  return {dtype,
          {Arithmetic::rows, Arithmetic::cols},
          [] { return reinterpret_cast<const void*>(multiply_small<Arithmetic>); },
          Arithmetic::threads,
          SmallShared<Arithmetic>::bytes};
}

constexpr Instance instances[] = {
    instance<MatrixUnits<__half, 16, 16, 1, 1, Piece>>(INFINI_DTYPE_F16),
    instance<MatrixUnits<__half, 32, 32, 2, 1, Piece>>(INFINI_DTYPE_F16),
    instance<MatrixUnits<__nv_bfloat16, 16, 16, 1, 1, Piece>>(INFINI_DTYPE_BF16),
    instance<MatrixUnits<__nv_bfloat16, 32, 32, 2, 1, Piece>>(INFINI_DTYPE_BF16),
    instance<MultiplyAdds<float, 16, 16, 8>>(INFINI_DTYPE_F32),
    instance<MultiplyAdds<float, 16, 32, 4>>(INFINI_DTYPE_F32),
    instance<MultiplyAdds<double, 16, 16, 8>>(INFINI_DTYPE_F64),
};

const Instance& instance_for(infiniDtype_t dtype, const SmallTile& tile) {
  const Instance* x = instances;
  while (x->dtype != dtype || x->tile.rows != tile.rows || x->tile.cols != tile.cols) ++x;
  return *x;  // one for every type and tile that a launch can have
}

class Small final : public gpu::GpuGemm {
 public:
  Small(const GemmContext& context, const GemmPlan& plan, const SmallLaunch& launch)
      : gpu::GpuGemm(context.device, plan),
        small_(launch),
        instance_(instance_for(plan.a.dtype, launch.tile)),
        shared_bytes_(instance_.shared_bytes(launch.pieces)),
        kernel_(gpu::make_ready(instance_.kernel(), context.device.facts().early_launch)) {
    const void* kernel = instance_.kernel();
    const int most = instance_.shared_bytes(INT32_MAX);
    gpu::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
               "cannot have ", most, " bytes of shared memory");
    gpu::check(gpu::divide_memory_evenly(kernel), "cannot prepare gemm candidate small");
  }
  const char* candidate() const override { return "small"; }
  std::string schedule() const override { return to_string(small_); }
  std::string arithmetic() const override { return arithmetic_of(small_, plan_.a.dtype); }

 protected:
  void multiply(const Call& call) const override {
    const char *a = small_.swapped ? call.b : call.a, *b = small_.swapped ? call.a : call.b;
    const int a_unit = unit_of(small_.a_bits, reinterpret_cast<uintptr_t>(a)),
              b_unit = unit_of(small_.b_bits, reinterpret_cast<uintptr_t>(b));
    const void* arguments[] = {&small_.gemm,   &call.c,       &a,      &b,
                               alpha_of(call), beta_of(call), &a_unit, &b_unit};
    gpu::check(gpu::launch(kernel_, small_.blocks, static_cast<unsigned>(instance_.threads),
                           arguments, static_cast<size_t>(shared_bytes_), call.stream),
               "cannot launch gemm candidate small");
  }

 private:
  SmallLaunch small_;
  const Instance& instance_;
  int shared_bytes_;
  gpu::ReadyKernel kernel_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_small(const GemmContext& context, const GemmPlan& plan) {
  const auto launch = make_small_gemm(plan, context.device.facts().processors);
  return launch ? std::make_unique<Small>(context, plan, *launch) : nullptr;
}

}  // namespace infini::nvidia
