// The weights gemm kernel: a ring of weights for each block, and one sum of what the blocks of a
// tile have.
#pragma once

#include "backends/nvidia/gemm/ring/kernel.cuh"
#include "backends/nvidia/gemm/weights/schedule.h"

namespace infini::nvidia {

// The sums of the first block of a tile become those of all, added in the order of k. False for the
// others, which have sent theirs to `room`. For a warpgroup; the block's other warps have arrived
// at the team's barrier once, or ended.
template <int count>
__device__ bool gather_sums(float (&sums)[count], uint32_t room, int rank, int blocks) {
  constexpr int vectors = count / 4;
  const auto place = [&](int of, int i) {
    return room + static_cast<uint32_t>(((of - 1) * vectors + i) * group_threads * 16) +
           threadIdx.x * 16;
  };
  wait_for_team();  // all have begun
  if (rank > 0) {
#pragma unroll
    for (int i = 0; i < vectors; ++i)
      send_to_mate(place(rank, i), 0, reinterpret_cast<const float(&)[4]>(sums[4 * i]));
  }
  arrive_at_team();
  if (rank > 0) return false;
  wait_for_team();
  for (int of = 1; of < blocks; ++of)
#pragma unroll
    for (int i = 0; i < vectors; ++i) {
      float x[4];
      load_four(x, place(of, i));
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[4 * i + j] += x[j];
    }
  return true;
}

// Nothing is read before the work before this kernel is done. Its successor may begin at once:
// there are processors left for it.
template <class T, int index>
__global__ void __launch_bounds__(ring_threads(weights_tiles[index]))
    multiply_weights(const __grid_constant__ RingMaps maps, const __grid_constant__ RingGemm s,
                     const __grid_constant__ WeightsSplit split, char* c, float alpha, float beta) {
  constexpr RingTile tile = weights_tiles[index];
  using Member = RingMember<tile, false>;
  constexpr int multiplying_warps = ring_threads(tile) / 32 - 1;
  static_assert(multiplying_warps * 32 == group_threads);
  extern __shared__ __align__(16) char shared[];
  const RingMemory memory(shared, tile, s.places);
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32,
                               0);  // the same for all, and the compiler knows
  make_ring(maps, memory, s.places, multiplying_warps);
  const auto team = static_cast<uint32_t>(split.blocks);
  const int rank = static_cast<int>(blockIdx.x % team);
  const WeightsShare share = weights_share(split, s.steps, rank);
  const SmallPlace at = place_tile(s, blockIdx.x / team, SmallTile{tile.rows, tile.cols});
  const Member member;
  auto fetch_weights = member.fetch_a(s, at);
  auto fetch_columns = member.fetch_b(s, at);
  fetch_weights.skip(share.first * tile.boxes * box_depth);
  fetch_columns.skip(share.first * tile.boxes * box_depth);
  const RingWriter<T> write(s, at, c, warp);
  __syncthreads();
  if (team > 1) arrive_at_team();
  gpu::let_successor_start();
  gpu::wait_when_known(fetch_weights.known() ^ fetch_columns.known() ^ write.known());

  if (warp == multiplying_warps) {
    if (elected())
      feed_ring<tile>(maps, share.steps, s.places, memory, fetch_weights, fetch_columns);
    return;
  }
  RingSums<T, tile, false> x(member);
  x.add_all(s, share.steps, memory, 0);
  const uint32_t room =
      shared_address(shared) + static_cast<uint32_t>(weights_room(tile, s.places));
  if (team == 1 || gather_sums(x.sums, room, rank, split.blocks))
    write.write_each(x.sums, alpha, beta);
}

}  // namespace infini::nvidia
