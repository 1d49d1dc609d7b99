// The ring gemm kernel: one warp keeps the copy engine busy, the others multiply and write C.
#pragma once

#include "copy_engine.cuh"
#include "matrix_units.cuh"
#include "ring_gemm.h"
#include "ring_gemm_writer.cuh"
#include "vendor.h"
#include "warpgroup_units.cuh"

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

// Orders the boxes of one operand, piece by piece; `extent` is its part of the tile.
template <int extent>
class RingFetcher {
 public:
  __device__ RingFetcher(bool k_inside, int x, int batch)
      : inner_(k_inside ? 0 : x), outer_(k_inside ? x : 0), batch_(batch), k_inside_(k_inside) {}

  __device__ uint32_t known() const { return static_cast<uint32_t>(inner_ ^ outer_ ^ batch_); }

  __device__ void operator()(const CUtensorMap& map, uint32_t to, uint32_t barrier) {
    fetch_box(to, map, inner_, outer_, batch_, barrier);
    if (!k_inside_) {
#pragma unroll
      for (int x = ring_strip; x < extent; x += ring_strip)
        fetch_box(to + x / ring_strip * ring_strip_bytes, map, inner_ + x, outer_, batch_, barrier);
    }
    (k_inside_ ? inner_ : outer_) += box_depth;
  }

 private:
  int inner_, outer_, batch_;
  bool k_inside_;
};

// All of k, as fast as places become free. One thread's work.
template <int index>
__device__ void feed_ring(const RingMaps& maps, const RingGemm& s, const RingMemory& memory,
                          RingFetcher<ring_tiles[index].rows>& fetch_a,
                          RingFetcher<ring_tiles[index].cols>& fetch_b) {
  constexpr RingTile tile = ring_tiles[index];
  RingPlace place;
  for (int step = 0; step < s.steps; ++step, place.next(s.places)) {
    const uint32_t arrived = memory.arrived + place.index * barrier_bytes;
    if (step >= s.places)
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
template <class T, int index>
class RingSums {
 public:
  static constexpr RingTile tile = ring_tiles[index];

  // The sum of all products, in the order of k. A step's place is given back when the next step's
  // multiplications are under way, so that the units never wait for the ring to turn.
  template <bool a_turned, bool b_turned>
  __device__ void add_all(const RingGemm& s, const RingMemory& memory, int group) {
    const uint32_t own = a_turned ? group * ring_strip_bytes : box_bytes(group * group_rows);
    const uint64_t a = units_descriptor(memory.places + own, !a_turned),
                   b = units_descriptor(memory.places + box_bytes(tile.rows), !b_turned);
    RingPlace place;
    int last = 0;
#pragma unroll 1
    for (int step = 0; step < s.steps; ++step) {
      wait_for_round(memory.arrived + place.index * barrier_bytes, place.parity);
      const uint64_t to = static_cast<uint32_t>(place.index * ring_place_bytes(tile)) >> 4;
      add_step<a_turned, b_turned>(a + to, b + to);
      if (step > 0 && step - 1 + s.places < s.steps && threadIdx.x % 32 == 0)
        arrive_at(memory.freed + last * barrier_bytes);
      last = place.index;
      place.next(s.places);
    }
    wait_for_multiplications<0>();
  }

  float sums[tile.cols / 2] = {};

 private:
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
};

// See multiply_small() for what is said to predecessor and successor, and when.
template <class T, int index>
__global__ void __launch_bounds__(ring_threads(ring_tiles[index]))
    multiply_ring(const __grid_constant__ RingMaps maps, const __grid_constant__ RingGemm s,
                  char* c, float alpha, float beta, bool c_vectors) {
  constexpr RingTile tile = ring_tiles[index];
  constexpr int multiplying_warps = ring_threads(tile) / 32 - 1;
  extern __shared__ __align__(16) char shared[];
  const RingMemory memory(shared, tile, s.places);
  const auto own = static_cast<int>(threadIdx.x);
  const int warp = __shfl_sync(~0u, own / 32, 0);  // the same for all, and the compiler knows
  if (own == 0) fetch_map(maps.a), fetch_map(maps.b);
  if (own < s.places) {
    make_barrier(memory.arrived + own * barrier_bytes);
    make_barrier(memory.freed + own * barrier_bytes, multiplying_warps);
  }
  make_barriers_known();
  const SmallPlace at = place_tile(s, blockIdx.x, SmallTile{tile.rows, tile.cols});
  RingFetcher<tile.rows> fetch_a(s.a_k_inside, at.row, s.a_batched ? at.batch : 0);
  RingFetcher<tile.cols> fetch_b(s.b_k_inside, at.col, s.b_batched ? at.batch : 0);
  const RingWriter<T> write(s, at, c, warp);
  __syncthreads();
  gpu::wait_when_known(fetch_a.known() ^ fetch_b.known() ^ write.known());
  gpu::let_successor_start();

  if (warp == multiplying_warps) {
    if (elected()) feed_ring<index>(maps, s, memory, fetch_a, fetch_b);
    return;
  }
  RingSums<T, index> x;
  const int group = warp / 4;
  if (s.a_k_inside)
    s.b_k_inside ? x.template add_all<false, false>(s, memory, group)
                 : x.template add_all<false, true>(s, memory, group);
  else
    s.b_k_inside ? x.template add_all<true, false>(s, memory, group)
                 : x.template add_all<true, true>(s, memory, group);
  write(x.sums, alpha, beta, c_vectors);
}

}  // namespace infini::nvidia
