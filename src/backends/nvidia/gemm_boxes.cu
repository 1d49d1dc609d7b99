// Small products of 16 bits by one launch whose operands a copy engine fetches (sm_90 and later).
#include <algorithm>
#include <iterator>
#include <utility>

#include "backends/gpu/check.h"
#include "box_gemm_kernel.cuh"
#include "gemm.h"

namespace infini::nvidia {
namespace {

// cuTensorMapEncodeTiled: host arithmetic alone, 0.1 µs. Null where the driver has none.
using EncodeBoxes = decltype(&cuTensorMapEncodeTiled);

EncodeBoxes find_encode_boxes() {
  constexpr const char* name = "cuTensorMapEncodeTiled";
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const auto status =
      cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
  const auto status = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    gpu::take_last_error();
    return nullptr;
  }
  return reinterpret_cast<EncodeBoxes>(function);
}

// The boxes of an operand; `extent` is its part of C's tile. Swizzled as place_in_box() has it.
struct BoxMap {
  cuuint64_t extents[3], steps[2];
  cuuint32_t box[3];
  CUtensorMapSwizzle swizzle;
  CUtensorMapDataType type;

  BoxMap(const BoxOperand& x, int extent, infiniDtype_t dtype)
      : extents{static_cast<cuuint64_t>(x.inner), static_cast<cuuint64_t>(x.outer),
                static_cast<cuuint64_t>(x.batch)},
        steps{static_cast<cuuint64_t>(x.outer_step), static_cast<cuuint64_t>(x.batch_step)},
        box{static_cast<cuuint32_t>(x.k_inside ? box_depth : extent),
            static_cast<cuuint32_t>(x.k_inside ? extent : box_depth), 1},
        type(dtype == INFINI_DTYPE_F16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) {
    swizzle = box[0] == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
              : box[0] == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : CU_TENSOR_MAP_SWIZZLE_32B;
  }

  bool encode(EncodeBoxes encode_boxes, CUtensorMap& map, const char* base) const {
    constexpr cuuint32_t every[3] = {1, 1, 1};
    return encode_boxes(&map, type, 3, const_cast<char*>(base), extents, steps, box, every,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  }
};

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

// As gpu::launch_early(), but asks for as much shared memory as there is where two blocks do not
// fit into half of it: a successor that was launched early must find room beside its predecessor.
cudaError_t launch_side_by_side(const void* kernel, unsigned blocks, unsigned threads,
                                const void** arguments, size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 1;
#if CUDART_VERSION >= 12080
  attributes[1].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
  attributes[1].val.sharedMemCarveout = cudaSharedmemCarveoutMaxShared;
  if (4 * (shared_bytes + driver_bytes) > processor_bytes) config.numAttrs = 2;
#endif
  return cudaLaunchKernelExC(&config, kernel, const_cast<void**>(arguments));
}

class Boxes final : public NvidiaGemm {
 public:
  // `otherwise` takes bases that the engine cannot read.
  Boxes(const GemmContext& context, const GemmPlan& plan, const BoxLaunch& launch,
        EncodeBoxes encode, std::unique_ptr<GemmKernel> otherwise)
      : NvidiaGemm(context.device, plan),
        boxes_(launch),
        a_(launch.a, launch.tile.rows, plan.a.dtype),
        b_(launch.b, launch.tile.cols, plan.b.dtype),
        instance_(instance_for(plan.a.dtype, launch.tile)),
        shared_bytes_(box_shared_bytes(launch.tile, launch.gemm.pieces)),
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
    gpu::check(launch_side_by_side(reinterpret_cast<const void*>(instance_.kernel), boxes_.blocks,
                                   static_cast<unsigned>(instance_.threads), arguments,
                                   static_cast<size_t>(shared_bytes_), call.stream),
               "cannot launch gemm candidate boxes");
  }

 private:
  BoxLaunch boxes_;
  BoxMap a_, b_;
  const Instance& instance_;
  int shared_bytes_;
  EncodeBoxes encode_;
  std::unique_ptr<GemmKernel> otherwise_;
};

}  // namespace

bool boxes_pay(const GemmContext& context, const GemmPlan& plan) {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context.device.id()) ==
             cudaSuccess &&
         major >= 9 && box_gemm_pays(plan, context.device.facts().processors);
}

std::unique_ptr<GemmKernel> make_boxes(const GemmContext& context, const GemmPlan& plan) {
  static const EncodeBoxes encode = find_encode_boxes();
  const auto launch = make_box_gemm(plan, context.device.facts().processors);
  auto otherwise = make_small(context, plan);
  if (encode == nullptr || !launch || !otherwise) return nullptr;
  auto kernel = std::make_unique<Boxes>(context, plan, *launch, encode, std::move(otherwise));
  return kernel->prepare() ? std::move(kernel) : nullptr;
}

}  // namespace infini::nvidia
