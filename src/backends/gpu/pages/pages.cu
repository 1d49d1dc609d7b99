// Batches and paged copies on a GPU.
#include "backends/gpu/pages/pages.h"

#include "backends/gpu/pages/paged.cuh"

namespace infini::gpu {

std::unique_ptr<BatchKernel> make_rearrange_batch(Device& device, const BatchParts& parts) {
  const auto& gpu = static_cast<const GpuDevice&>(device);
  const bool early = gpu.facts().early_launch;
  if (parts.plans.size() == 1) {
    if (parts.plans[0].atom_bytes == 0) return nullptr;
    auto mover = PieceMover::make(parts.plans[0], 0, early);
    return mover ? std::make_unique<SharedBatch>(gpu, *std::move(mover)) : nullptr;
  }
  std::vector<PieceSchedule> schedules;
  std::vector<uint32_t> first = {0};
  for (const RearrangePlan& plan : parts.plans) {
    const bool moves = plan.atom_bytes > 0;
    const auto schedule = moves ? make_piece_schedule(plan, natural_unit(plan)) : PieceSchedule{};
    if (!schedule) return nullptr;
    schedules.push_back(*schedule);
    const uint64_t blocks = first.back() + uint64_t{moves ? schedule->chunks.divisor : 0};
    if (blocks >= uint64_t{1} << 31) return nullptr;
    first.push_back(static_cast<uint32_t>(blocks));
  }
  return std::make_unique<OwnBatch>(gpu, schedules, first, early);
}

std::unique_ptr<PagedKernel> make_rearrange_paged(Device& device, const PagedPlan& plan) {
  const auto& gpu = static_cast<const GpuDevice&>(device);
  if (plan.dst.pieces >= int64_t{1} << 31 || plan.src.pieces >= int64_t{1} << 31) return nullptr;
  uint64_t steps = 0;
  for (const PagedSide* side : {&plan.dst, &plan.src})
    steps |= static_cast<uint64_t>(side->pitch) |
             (side->pieces > 1 ? static_cast<uint64_t>(side->piece_step) : 0);
  auto mover = PieceMover::make(plan.piece, steps, gpu.facts().early_launch);
  if (!mover) return nullptr;
  return std::make_unique<PagedPieces>(gpu, plan, *std::move(mover));
}

}  // namespace infini::gpu
