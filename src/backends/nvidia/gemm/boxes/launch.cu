// Small products of 16 bits by one launch whose operands a copy engine fetches (sm_90 and later).
#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/box_map.h"
#include "backends/nvidia/gemm/boxes/kernel.cuh"
#include "backends/nvidia/gemm/gemm.h"

namespace infini::nvidia {
namespace {

using BoxKernel = void (*)(BoxMaps, BoxGemm, char*, float, float, bool);

struct Instance {
  BoxKernel kernel;
  int threads;
};

template <class Arithmetic>
constexpr Instance instance() {
  return {multiply_boxes<Arithmetic>, Arithmetic::threads};
}

// In the order of box_tiles.
template <class T>
constexpr Instance instances[] = {
    instance<BoxUnits<T, box_tiles[0].rows, box_tiles[0].cols>>(),
    instance<BoxUnits<T, box_tiles[1].rows, box_tiles[1].cols>>(),
    instance<BoxUnits<T, box_tiles[2].rows, box_tiles[2].cols>>(),
};
static_assert(std::size(box_tiles) == 3);

const Instance& instance_for(infiniDtype_t dtype, const SmallTile& tile) {
  int i = 0;
  while (box_tiles[i].rows != tile.rows) ++i;
  return dtype == INFINI_DTYPE_F16 ? instances<__half>[i] : instances<__nv_bfloat16>[i];
}

// Asks for as much shared memory as there is where two blocks do not fit into half of it: a
// successor that was launched early must find room beside its predecessor.
gpu::ReadyKernel ready(const Instance& instance, int shared_bytes) {
  auto kernel = gpu::make_ready(reinterpret_cast<const void*>(instance.kernel), true);
  kernel.all_shared_memory = 4 * (shared_bytes + driver_bytes) > processor_bytes;
  return kernel;
}

class Boxes final : public gpu::GpuGemm {
 public:
  // `otherwise` takes bases that the engine cannot read.
  Boxes(const GemmContext& context, const GemmPlan& plan, const BoxLaunch& launch,
        EncodeBoxes encode, std::unique_ptr<GemmKernel> otherwise)
      : gpu::GpuGemm(context.device, plan),
        boxes_(launch),
        a_(launch.a, launch.tile.rows, plan.a.dtype),
        b_(launch.b, launch.tile.cols, plan.b.dtype),
        instance_(instance_for(plan.a.dtype, launch.tile)),
        shared_bytes_(box_shared_bytes(launch.tile, launch.gemm.pieces)),
        kernel_(ready(instance_, shared_bytes_)),
        encode_(encode),
        otherwise_(std::move(otherwise)) {}

  // False when the engine or the device declines.
  bool prepare() const {
    alignas(64) static char somewhere[64];
    BoxMaps maps;
    int most = 0;
    const auto* kernel = reinterpret_cast<const void*>(instance_.kernel);
    const bool ready =
        a_.encode(encode_, maps.a, somewhere) && b_.encode(encode_, maps.b, somewhere) &&
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_.id()) ==
            cudaSuccess &&
        shared_bytes_ <= most &&
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             std::min(most, box_shared_bytes(boxes_.tile, most_box_pieces))) ==
            cudaSuccess &&
        gpu::divide_memory_evenly(kernel) == cudaSuccess;
    if (!ready) gpu::take_last_error();
    return ready;
  }
  const char* candidate() const override { return "boxes"; }
  std::string schedule() const override { return to_string(boxes_); }
  // The same order of sums, see small_gemm.h; and bases at odd addresses go there.
  std::string arithmetic() const override { return otherwise_->arithmetic(); }

 protected:
  void multiply(const Call& call) const override {
    const char *a = boxes_.swapped ? call.b : call.a, *b = boxes_.swapped ? call.a : call.b;
    BoxMaps maps;
    if ((reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b)) % 16 != 0 ||
        !a_.encode(encode_, maps.a, a) || !b_.encode(encode_, maps.b, b))
      return otherwise_->run(call.workspace, call.c, call.a, call.b, call.alpha, call.beta,
                             call.stream);
    const bool c_vectors = unit_of(boxes_.c_bits, reinterpret_cast<uintptr_t>(call.c)) == 16;
    const void* arguments[] = {&maps, &boxes_.gemm, &call.c, &call.alpha, &call.beta, &c_vectors};
    gpu::check(gpu::launch(kernel_, boxes_.blocks, static_cast<unsigned>(instance_.threads),
                           arguments, static_cast<size_t>(shared_bytes_), call.stream),
               "cannot launch gemm candidate boxes");
  }

 private:
  BoxLaunch boxes_;
  BoxMap a_, b_;
  const Instance& instance_;
  int shared_bytes_;
  gpu::ReadyKernel kernel_;
  EncodeBoxes encode_;
  std::unique_ptr<GemmKernel> otherwise_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_boxes(const GemmContext& context, const GemmPlan& plan,
                                       std::unique_ptr<GemmKernel> otherwise) {
  static const EncodeBoxes encode = find_encode_boxes();
  const auto launch = make_box_gemm(plan, context.device.facts().processors);
  if (encode == nullptr || !launch || !otherwise || capability(context.device) < 90) return nullptr;
  auto kernel = std::make_unique<Boxes>(context, plan, *launch, encode, std::move(otherwise));
  return kernel->prepare() ? std::move(kernel) : nullptr;
}

}  // namespace infini::nvidia
