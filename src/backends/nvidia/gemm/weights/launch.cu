// Products of few rows with weights of 16 bits, by one launch at the speed of memory (sm_90a
// alone).
#include <utility>

#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/box_map.h"
#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/weights/kernel.cuh"

namespace infini::nvidia {
namespace {

const void* kernel_for(infiniDtype_t dtype, int tile) {
  if (dtype == INFINI_DTYPE_F16)
    return tile == 0 ? gpu::kernel_address(multiply_weights<__half, 0>)
                     : gpu::kernel_address(multiply_weights<__half, 1>);
  return tile == 0 ? gpu::kernel_address(multiply_weights<__nv_bfloat16, 0>)
                   : gpu::kernel_address(multiply_weights<__nv_bfloat16, 1>);
}

BoxMap map_of(const BoxOperand& x, int extent, infiniDtype_t dtype) {
  BoxMap map(x, ring_strip, dtype);
  map.box[1] = static_cast<cuuint32_t>(ring_box_lines(extent, 1, x.k_inside));
  return map;
}

// The engine wants bases at multiples of 16 bytes; for others there is another kernel.
class Weights final : public gpu::GpuGemm {
 public:
  // `plan` as it is computed: transposed where the launch is swapped.
  Weights(const GemmContext& context, const GemmPlan& plan, const WeightsLaunch& launch,
          EncodeBoxes encode, std::shared_ptr<GemmKernel> otherwise)
      : gpu::GpuGemm(context.device, plan),
        weights_(launch),
        a_(map_of(launch.a, tile().rows, plan.a.dtype)),
        b_(map_of(launch.b, tile().cols, plan.b.dtype)),
        kernel_(gpu::make_ready(kernel_for(plan.a.dtype, launch.tile), true)),
        shared_bytes_(static_cast<size_t>(
            weights_shared_bytes(tile(), launch.gemm.places, launch.split.blocks))),
        encode_(encode),
        otherwise_(std::move(otherwise)) {
    kernel_.all_shared_memory = true;
    kernel_.cluster = static_cast<unsigned>(launch.split.blocks);
  }

  // False when the engine or the device declines.
  bool prepare() const {
    alignas(64) static char somewhere[64];
    CUtensorMap map;
    const bool ready =
        a_.encode(encode_, map, somewhere) && b_.encode(encode_, map, somewhere) &&
        cudaFuncSetAttribute(
            kernel_for(plan_.a.dtype, weights_.tile), cudaFuncAttributeMaxDynamicSharedMemorySize,
            weights_shared_bytes(tile(), tile().alone, most_weights_split)) == cudaSuccess;
    if (!ready) gpu::take_last_error();
    return ready;
  }
  size_t workspace_bytes() const override { return otherwise_->workspace_bytes(); }
  const char* candidate() const override { return "weights"; }
  std::string schedule() const override { return to_string(weights_); }

 protected:
  void multiply(const Call& call) const override {
    const char *a = weights_.swapped ? call.b : call.a, *b = weights_.swapped ? call.a : call.b;
    if ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) % 16 != 0)
      return otherwise_->run(call.workspace, call.c, call.a, call.b, call.alpha, call.beta,
                             call.stream);
    RingMaps maps;
    require(a_.encode(encode_, maps.a, a) && b_.encode(encode_, maps.b, b),
            INFINI_STATUS_INTERNAL_ERROR, "the driver cannot describe A or B to the copy engine");
    const void* arguments[] = {&maps,   &weights_.gemm, &weights_.split,
                               &call.c, &call.alpha,    &call.beta};
    gpu::check(gpu::launch(kernel_, weights_.blocks, static_cast<unsigned>(ring_threads(tile())),
                           arguments, shared_bytes_, call.stream),
               "cannot launch gemm candidate weights");
  }

 private:
  const RingTile& tile() const { return weights_tiles[weights_.tile]; }

  WeightsLaunch weights_;
  BoxMap a_, b_;
  gpu::ReadyKernel kernel_;
  size_t shared_bytes_;
  EncodeBoxes encode_;
  std::shared_ptr<GemmKernel> otherwise_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_weights(const GemmContext& context, const GemmPlan& plan,
                                         std::unique_ptr<GemmKernel> otherwise) {
  static const EncodeBoxes encode = find_encode_boxes();
  const auto launch = make_weights_gemm(plan, context.device.facts().processors);
  if (encode == nullptr || !launch || !otherwise || capability(context.device) != 90)
    return nullptr;
  auto kernel = std::make_unique<Weights>(context, launch->swapped ? transposed(plan) : plan,
                                          *launch, encode, std::move(otherwise));
  return kernel->prepare() ? std::move(kernel) : nullptr;
}

}  // namespace infini::nvidia
