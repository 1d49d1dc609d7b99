// The ring gemm kernel: one warp keeps the copy engine busy, the others multiply and write C.
#pragma once

#include "backends/nvidia/gemm/copy_engine.cuh"
#include "backends/nvidia/gemm/matrix_units.cuh"
#include "backends/nvidia/gemm/ring/schedule.h"
#include "backends/nvidia/gemm/ring/writer.cuh"
#include "backends/nvidia/gemm/warpgroup_units.cuh"
#include "vendor.h"

namespace infini::nvidia {

// The operands' descriptions for the engine, which fetches them by their addresses.
struct RingMaps {
  CUtensorMap a, b;
};

// Addresses in a block's shared memory.
struct RingMemory {
  uint32_t places, arrived, freed;  // `arrived` and `freed` are barriers, one for each place

  __device__ RingMemory(const void* shared, const RingTile& tile, int count) {
    places = (shared_address(shared) + box_alignment - 1) / box_alignment * box_alignment;
    arrived = places + count * ring_place_bytes(tile);
    freed = arrived + count * barrier_bytes;
  }
};

// The operands' descriptions on their way, and the ring's barriers, for `freeing` arrivals that free a place. By all
// threads of a block, which must meet before they use them.
__device__ inline void make_ring(const RingMaps& maps, const RingMemory& memory, int places,
                                 int freeing) {
  const auto own = static_cast<int>(threadIdx.x);
  if (own == 0) fetch_map(maps.a), fetch_map(maps.b);
  if (own < places) {
    make_barrier(memory.arrived + own * barrier_bytes);
    make_barrier(memory.freed + own * barrier_bytes, freeing);
  }
  make_barriers_known();
}

// Walks around the ring.
struct RingPlace {
  int index = 0;
  uint32_t parity = 0;  // of the round

  __device__ void next(int places) {
    if (++index != places) return;
    index = 0;
    parity ^= 1;
  }
};

// Orders the boxes of one operand, piece by piece: `extent` is its part of the tile, of which
// `parts` blocks of a team order one part each, for all whose bits are set in `whom`.
template <int extent, int parts>
class RingFetcher {
 public:
  __device__ RingFetcher(bool k_inside, int x, int batch, int part, uint16_t whom)
      : batch_(batch), whom_(whom), k_inside_(k_inside) {
    const int line = part * (extent / parts);
    inner_ = k_inside ? 0 : x + part * own_strips * ring_strip;
    outer_ = k_inside ? x + line : own_strips > 0 ? 0 : part * lines;
    at_ = static_cast<uint32_t>(box_bytes(line));
  }

  __device__ uint32_t known() const { return static_cast<uint32_t>(inner_ ^ outer_ ^ batch_); }

  __device__ void skip(int k) { (k_inside_ ? inner_ : outer_) += k; }

  __device__ void operator()(const CUtensorMap& map, uint32_t to, uint32_t barrier) {
    fetch(map, to + at_, 0, barrier);
    if (!k_inside_) {
#pragma unroll
      for (int i = 1; i < own_strips; ++i)
        fetch(map, to + at_ + i * ring_strip_bytes, i * ring_strip, barrier);
    }
    skip(box_depth);
  }

 private:
  static constexpr int own_strips = extent / ring_strip / parts,  // 0: they share lines of k
      lines = ring_box_lines(extent, parts, false);

  __device__ void fetch(const CUtensorMap& map, uint32_t to, int x, uint32_t barrier) const {
    if constexpr (parts > 1)
      fetch_box_for(whom_, to, map, inner_ + x, outer_, batch_, barrier);
    else
      fetch_box(to, map, inner_ + x, outer_, batch_, barrier);
  }

  int inner_, outer_, batch_;
  uint32_t at_;
  uint16_t whom_;
  bool k_inside_;
};

// A block's place in its team, and what that means for the ring.
template <RingTile tile, bool in_teams>
struct RingMember {
  static constexpr RingTeam team = in_teams ? tile.team : no_team;
  static constexpr int mates = team.rows + team.cols - 1;  // that share something, itself included
  using FetchA = RingFetcher<tile.rows, team.cols>;
  using FetchB = RingFetcher<tile.cols, team.rows>;

  int row, col;

  __device__ RingMember() {
    const auto rank = static_cast<int>(blockIdx.x % (team.rows * team.cols));
    row = rank / team.cols, col = rank % team.cols;
  }
  __device__ FetchA fetch_a(const RingGemm& s, const SmallPlace& at) const {
    const auto whom = static_cast<uint16_t>(((1 << team.cols) - 1) << (row * team.cols));
    return {s.a_k_inside, at.row, s.a_batched ? at.batch : 0, col, whom};
  }
  __device__ FetchB fetch_b(const RingGemm& s, const SmallPlace& at) const {
    int whom = 0;
    for (int i = 0; i < team.rows; ++i) whom |= 1 << (i * team.cols + col);
    return {s.b_k_inside, at.col, s.b_batched ? at.batch : 0, row, static_cast<uint16_t>(whom)};
  }
  // The rank of the mate that lane i of a warp tells of free places.
  __device__ int mate(int i) const {
    const int other = i - team.cols;
    return i < team.cols ? row * team.cols + i : (other + (other >= row)) * team.cols + col;
  }
  // Before any mate's barriers and places are touched.
  static __device__ void meet() {
    if constexpr (in_teams)
      meet_team();
    else
      __syncthreads();
  }
};

// So many steps along k, as fast as places become free. One thread's work.
template <RingTile tile, class FetchA, class FetchB>
__device__ void feed_ring(const RingMaps& maps, int steps, int places, const RingMemory& memory,
                          FetchA& fetch_a, FetchB& fetch_b) {
  RingPlace place;
  for (int step = 0; step < steps; ++step, place.next(places)) {
    const uint32_t arrived = memory.arrived + place.index * barrier_bytes;
    if (step >= places)
      wait_for_round(memory.freed + place.index * barrier_bytes, place.parity ^ 1);
    expect_bytes(arrived, ring_place_bytes(tile));
    uint32_t to = memory.places + place.index * ring_place_bytes(tile);
#pragma unroll
    for (int box = 0; box < tile.boxes; ++box, to += ring_piece_bytes(tile)) {
      fetch_a(maps.a, to, arrived);
      fetch_b(maps.b, to + box_bytes(tile.rows), arrived);
    }
  }
}

// One warpgroup's 64 rows of the tile.
template <class T, RingTile tile, bool in_teams>
class RingSums {
 public:
  using Member = RingMember<tile, in_teams>;

  __device__ explicit RingSums(const Member& member)
      : lane_(static_cast<int>(threadIdx.x) % 32), mate_(member.mate(lane_)) {}

  // The sum of the products of so many steps, in the order of k. A step's place is given back when the next step's
  // multiplications are under way, so that the units never wait for the ring to turn; and only if
  // it will be filled again, so that no block hears of mates after its end.
  __device__ void add_all(const RingGemm& s, int steps, const RingMemory& memory, int group) {
    if (s.a_k_inside)
      s.b_k_inside ? add_all<false, false>(s.places, steps, memory, group)
                   : add_all<false, true>(s.places, steps, memory, group);
    else
      s.b_k_inside ? add_all<true, false>(s.places, steps, memory, group)
                   : add_all<true, true>(s.places, steps, memory, group);
  }

  float sums[tile.cols / 2] = {};

 private:
  template <bool a_turned, bool b_turned>
  __device__ void add_all(int places, int steps, const RingMemory& memory, int group) {
    const uint32_t own = a_turned ? group * ring_strip_bytes : box_bytes(group * group_rows);
    const uint64_t a = units_descriptor(memory.places + own, !a_turned),
                   b = units_descriptor(memory.places + box_bytes(tile.rows), !b_turned);
    RingPlace place;
    int last = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      wait_for_round(memory.arrived + place.index * barrier_bytes, place.parity);
      const uint64_t to = static_cast<uint32_t>(place.index * ring_place_bytes(tile)) >> 4;
      add_step<a_turned, b_turned>(a + to, b + to);
      if (step > 0 && step - 1 + places < steps && lane_ < Member::mates)
        give_back(memory.freed + last * barrier_bytes);
      last = place.index;
      place.next(places);
    }
    wait_for_multiplications<0>();
  }

  template <bool a_turned, bool b_turned>
  __device__ void add_step(uint64_t a, uint64_t b) {
    open_multiplications();
#pragma unroll
    for (int box = 0; box < tile.boxes; ++box)
#pragma unroll
      for (int i = 0; i < box_depth / unit_depth; ++i) {
        const uint64_t to = box * (ring_piece_bytes(tile) >> 4);
        multiply_add<T, a_turned, b_turned>(sums, a + to + i * units_step(!a_turned),
                                            b + to + i * units_step(!b_turned));
      }
    close_multiplications();
    wait_for_multiplications<1>();
  }

  __device__ void give_back(uint32_t barrier) const {
    if constexpr (in_teams)
      arrive_at_mate(barrier, mate_);
    else
      arrive_at(barrier);
  }

  int lane_, mate_;
};

// See multiply_small() for what is said to predecessor and successor, and when.
template <class T, int index, bool in_teams>
__global__ void __launch_bounds__(ring_threads(ring_tiles[index]))
    multiply_ring(const __grid_constant__ RingMaps maps, const __grid_constant__ RingGemm s,
                  char* c, float alpha, float beta, bool c_vectors) {
  constexpr RingTile tile = ring_tiles[index];
  using Member = RingMember<tile, in_teams>;
  constexpr RingTeam team = Member::team;
  constexpr int multiplying_warps = ring_threads(tile) / 32 - 1;
  extern __shared__ __align__(16) char shared[];
  const RingMemory memory(shared, tile, s.places);
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32,
                               0);  // the same for all, and the compiler knows
  make_ring(maps, memory, s.places, multiplying_warps * Member::mates);
  const SmallPlace at = place_in_team(s, blockIdx.x, tile, team);
  const Member member;
  auto fetch_a = member.fetch_a(s, at);
  auto fetch_b = member.fetch_b(s, at);
  const RingWriter<T> write(s, at, c, warp);
  Member::meet();
  gpu::wait_when_known(fetch_a.known() ^ fetch_b.known() ^ write.known());
  gpu::let_successor_start();

  if (warp == multiplying_warps) {
    if (elected()) feed_ring<tile>(maps, s.steps, s.places, memory, fetch_a, fetch_b);
    return;
  }
  RingSums<T, tile, in_teams> x(member);
  x.add_all(s, s.steps, memory, warp / 4);
  write(x.sums, alpha, beta, c_vectors);
}

}  // namespace infini::nvidia
