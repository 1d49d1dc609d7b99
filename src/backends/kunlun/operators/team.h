// Who walks a row: one core, or the cores of a cluster together, which join what they have in shared memory. Device code.
//
// Every core of a cluster walks the same rows and joins as often as the others, so that none misses a barrier.
#pragma once

#include "backends/kunlun/operators/walk.h"
#include "backends/kunlun/rearrange/tile.h"

namespace infini::kunlun {

struct Team {
  int rank, size;
  int64_t first, step;  // rows
};

__device__ inline Team make_team(bool clustered) {
  if (clustered) return {core_id(), core_num(), cluster_id(), cluster_num()};
  return {0, 1, int64_t(core_id()) * cluster_num() + cluster_id(),
          int64_t(core_num()) * cluster_num()};
}

// join(a, b) over what all members have, in a fixed order, for all of them. `slots`: one for each core.
template <class T, class Join>
__device__ T over_team(const Team& team, _shared_ptr_ T* slots, T mine, const Join& join) {
  if (team.size == 1) return mine;
  slots[team.rank] = mine;
  mfence_sm();
  sync_cluster();
  T all = slots[0];
  for (int i = 1; i < team.size; ++i) all = join(all, slots[i]);
  sync_cluster();  // before anybody writes again
  return all;
}

// The chunks of a row that a member walks, in local memory; a row whose share is one chunk is read once.
struct RowReader {
  const RowNest& nest;
  const Team& team;
  __global_ptr__ const char* base;
  char* buffer;
  Chunk chunk;
  int64_t loaded;

  __device__ void load(int64_t number) {
    chunk.first = number * nest.chunk;
    chunk.count = static_cast<int32_t>(lesser<int64_t>(nest.chunk, nest.length - chunk.first));
    if (number == loaded) return;
    load_chunk(nest, chunk, 1, base, buffer);
    mfence();
    loaded = number;
  }
};

// Elements at any place of a buffer as f32.
__device__ inline float float_at(const char* buffer, int32_t dtype, int i) {
  if (dtype == INFINI_DTYPE_F16) return widened(reinterpret_cast<const Half*>(buffer)[i]);
  if (dtype == INFINI_DTYPE_BF16) return widened(reinterpret_cast<const Bfloat*>(buffer)[i]);
  return reinterpret_cast<const float*>(buffer)[i];
}
__device__ inline void put_float(char* buffer, int32_t dtype, int i, float x) {
  if (dtype == INFINI_DTYPE_F16) return round_to(reinterpret_cast<Half*>(buffer)[i], x);
  if (dtype == INFINI_DTYPE_BF16) return round_to(reinterpret_cast<Bfloat*>(buffer)[i], x);
  reinterpret_cast<float*>(buffer)[i] = x;
}

// Sums of many terms: 16 at a time, as the chip's vectors, and chunk by chunk, so that roundings do not pile up.
constexpr int lanes = 16;
template <class Term>
__device__ float sum_of(int count, const Term& term) {
  float sums[lanes] = {};
  for (int i = 0; i < count; ++i) sums[i % lanes] += term(i);
  for (int width = lanes / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) sums[i] += sums[i + width];
  return sums[0];
}

}  // namespace infini::kunlun
