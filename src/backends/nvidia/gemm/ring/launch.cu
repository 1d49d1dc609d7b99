// Products of 16 bits, of medium size, by one launch of warpgroup matrix units (sm_90a alone).
#include <iterator>
#include <utility>

#include "backends/gpu/rearrange/rearrange.h"
#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/box_map.h"
#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/ring/kernel.cuh"
#include "base/checked.h"

namespace infini::nvidia {
namespace {

using RingKernel = void (*)(RingMaps, RingGemm, char*, float, float, bool);

// In the order of ring_tiles.
template <class T, bool in_teams>
constexpr RingKernel kernels[] = {multiply_ring<T, 0, in_teams>, multiply_ring<T, 1, in_teams>,
                                  in_teams ? nullptr : multiply_ring<T, 2, false>,
                                  multiply_ring<T, 3, in_teams>};
static_assert(std::size(ring_tiles) == 4 && ring_tiles[2].team.nanoseconds == 0);

RingKernel kernel_for(infiniDtype_t dtype, int tile, bool in_teams) {
  if (dtype == INFINI_DTYPE_F16)
    return in_teams ? kernels<__half, true>[tile] : kernels<__half, false>[tile];
  return in_teams ? kernels<__nv_bfloat16, true>[tile] : kernels<__nv_bfloat16, false>[tile];
}

// A or B. The engine wants bases at multiples of 16 bytes; an operand at any other address is first
// copied into the workspace, so that the bits are the same.
class RingSide {
 public:
  RingSide(gpu::GpuDevice& device, const GemmOperand& x, const OperandShape& shape,
           const BoxOperand& box, int extent, int parts, bool columns_first)
      : given_(box, ring_strip, x.dtype), copied_(given_) {
    given_.box[1] = static_cast<cuuint32_t>(ring_box_lines(extent, parts, box.k_inside));
    copied_.box[1] = given_.box[1];
    const int64_t leading = round_up(box.inner, box_depth);
    const GemmOperand dense = dense_operand(x, shape, leading, columns_first);
    copied_.steps[0] = static_cast<cuuint64_t>(leading) * 2;
    if (box.batch > 1) copied_.steps[1] = static_cast<cuuint64_t>(dense.batch_step);
    copy_ = gpu::make_rearrange(device, operand_copy(dense, x, shape));
    bytes_ =
        static_cast<size_t>(round_up(dense_bytes(x, shape, leading, columns_first), box_alignment));
  }

  size_t bytes() const { return bytes_; }

  // Whether the engine takes both, wherever they lie.
  bool valid(EncodeBoxes encode) const {
    alignas(64) static char somewhere[64];
    CUtensorMap map;
    return given_.encode(encode, map, somewhere) && copied_.encode(encode, map, somewhere);
  }

  bool describe(EncodeBoxes encode, CUtensorMap& map, const char* base, char* workspace,
                cudaStream_t stream) const {
    if (reinterpret_cast<uintptr_t>(base) % 16 == 0) return given_.encode(encode, map, base);
    copy_->run(workspace, base, stream);
    return copied_.encode(encode, map, workspace);
  }

 private:
  BoxMap given_, copied_;
  std::unique_ptr<RearrangeKernel> copy_;
  size_t bytes_;
};

class Ring final : public gpu::GpuGemm {
 public:
  // `plan` as it is computed: transposed where the launch is swapped.
  Ring(const GemmContext& context, const GemmPlan& plan, const RingLaunch& launch,
       EncodeBoxes encode)
      : gpu::GpuGemm(context.device, plan),
        ring_(launch),
        a_(context.device, plan.a, shape_of_a(plan), launch.a, tile().rows, team().cols,
           !launch.a.k_inside),
        b_(context.device, plan.b, shape_of_b(plan), launch.b, tile().cols, team().rows,
           launch.b.k_inside),
        kernel_(gpu::make_ready(address(), true)),
        shared_bytes_(static_cast<size_t>(ring_shared_bytes(tile(), launch.gemm.places))),
        encode_(encode) {
    kernel_.all_shared_memory = true;
    kernel_.cluster = static_cast<unsigned>(team().rows * team().cols);
  }

  // False when the engine or the device declines.
  bool prepare() const {
    const bool ready = a_.valid(encode_) && b_.valid(encode_) &&
                       cudaFuncSetAttribute(address(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            most_shared_bytes()) == cudaSuccess;
    if (!ready) gpu::take_last_error();
    return ready;
  }
  size_t workspace_bytes() const override { return a_.bytes() + b_.bytes(); }
  const char* candidate() const override { return "ring"; }
  std::string schedule() const override { return to_string(ring_); }
  std::string arithmetic() const override { return arithmetic_of(ring_, plan_.a.dtype); }

 protected:
  void multiply(const Call& call) const override {
    const char *a = ring_.swapped ? call.b : call.a, *b = ring_.swapped ? call.a : call.b;
    RingMaps maps;
    require(a_.describe(encode_, maps.a, a, call.workspace, call.stream) &&
                b_.describe(encode_, maps.b, b, call.workspace + a_.bytes(), call.stream),
            INFINI_STATUS_INTERNAL_ERROR, "the driver cannot describe A or B to the copy engine");
    const bool c_vectors = unit_of(ring_.c_bits, reinterpret_cast<uintptr_t>(call.c)) == 16;
    const void* arguments[] = {&maps, &ring_.gemm, &call.c, &call.alpha, &call.beta, &c_vectors};
    gpu::check(gpu::launch(kernel_, ring_.blocks, static_cast<unsigned>(ring_threads(tile())),
                           arguments, shared_bytes_, call.stream),
               "cannot launch gemm candidate ring");
  }

 private:
  const RingTile& tile() const { return ring_tiles[ring_.tile]; }
  const RingTeam& team() const { return ring_.in_teams ? tile().team : no_team; }
  const void* address() const {
    return reinterpret_cast<const void*>(kernel_for(plan_.a.dtype, ring_.tile, ring_.in_teams));
  }
  int most_shared_bytes() const {
    return ring_shared_bytes(tile(), ring_.in_teams ? team().places : tile().alone);
  }

  RingLaunch ring_;
  RingSide a_, b_;
  gpu::ReadyKernel kernel_;
  size_t shared_bytes_;
  EncodeBoxes encode_;
};

}  // namespace

std::unique_ptr<GemmKernel> make_ring(const GemmContext& context, const GemmPlan& plan) {
  static const EncodeBoxes encode = find_encode_boxes();
  const auto launch = make_ring_gemm(plan, context.device.facts().processors);
  if (encode == nullptr || !launch || capability(context.device) != 90) return nullptr;
  auto kernel =
      std::make_unique<Ring>(context, launch->swapped ? transposed(plan) : plan, *launch, encode);
  return kernel->prepare() ? std::move(kernel) : nullptr;
}

}  // namespace infini::nvidia
