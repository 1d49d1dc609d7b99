// What every kernel of an operator does: find a row, bring its chunks into local memory and back. Device code; 64-bit arithmetic
// is slow there, so that it is kept to addresses: once for each chunk.
#pragma once

#include "backends/kunlun/operators/numbers.h"
#include "backends/kunlun/operators/row_nest.h"

namespace infini::kunlun {

// Where a row begins in every operand, from the base pointers; `innermost` is its index in the innermost loop.
struct RowPlace {
  int64_t at[nest_operands];
  int64_t innermost;
};

__device__ inline void find_row(const RowNest& nest, int64_t number, RowPlace& place) {
  for (int k = 0; k < nest.operands; ++k) place.at[k] = nest.offsets[k];
  place.innermost = 0;
  for (int i = nest.depth - 1; i >= 0; --i) {
    const NestLoop& loop = nest.loops[i];
    const int64_t digit = number % loop.extent;
    number /= loop.extent;
    if (i == nest.depth - 1) place.innermost = digit;
    for (int k = 0; k < nest.operands; ++k) place.at[k] += digit * loop.steps[k];
  }
}

// A chunk of a row: elements first .. first + count.
struct Chunk {
  RowPlace row;
  int64_t first;
  int32_t count;
};

__device__ inline void find_chunk(const RowNest& nest, int64_t unit, Chunk& chunk) {
  find_row(nest, unit / nest.chunks, chunk.row);
  chunk.first = unit % nest.chunks * nest.chunk;
  chunk.count = static_cast<int32_t>(lesser<int64_t>(nest.chunk, nest.length - chunk.first));
}

// Elements of operand k become `buffer`; valid after a fence.
__device__ inline void load_chunk(const RowNest& nest, const Chunk& chunk, int k,
                                  __global_ptr__ const char* base, char* buffer) {
  const int bytes = bytes_of(nest.dtypes[k]);
  const bool repeated = nest.row_steps[k] == 0;
  GM2LM_ASYNC(base + chunk.row.at[k] + chunk.first * nest.row_steps[k], buffer,
              repeated ? bytes : chunk.count * bytes);
}
__device__ inline void store_chunk(const RowNest& nest, const Chunk& chunk, const char* buffer,
                                   __global_ptr__ char* base) {
  const int bytes = bytes_of(nest.dtypes[0]);
  LM2GM_ASYNC(buffer, base + chunk.row.at[0] + chunk.first * bytes, chunk.count * bytes);
}

// The chunks of an elementwise operator, shared among all cores: while one is computed, the next one arrives in the other
// buffers. compute(chunk, result, a, b, c) sees them in local memory.
template <int sources, class Compute>
__device__ void walk_chunks(const RowNest& nest, __global_ptr__ char* y,
                            __global_ptr__ const char* a, __global_ptr__ const char* b,
                            __global_ptr__ const char* c, int64_t units, const Compute& compute) {
  __local__ int64_t words[(2 * sources + 1) * chunk_bytes / 8];  // aligned for every element
  const int64_t workers = int64_t(core_num()) * cluster_num();
  int64_t unit = int64_t(core_id()) * cluster_num() + cluster_id();
  if (core_id() >= core_num() || unit >= units) return;
  char* const memory = reinterpret_cast<char*>(words);
  char* const result = memory + 2 * sources * chunk_bytes;
  const auto load = [&](const Chunk& chunk, char* buffers) {
    load_chunk(nest, chunk, 1, a, buffers);
    if (nest.operands > 2 && b != nullptr) load_chunk(nest, chunk, 2, b, buffers + chunk_bytes);
    if (nest.operands > 3 && c != nullptr) load_chunk(nest, chunk, 3, c, buffers + 2 * chunk_bytes);
  };
  Chunk chunks[2];
  int turn = 0;
  find_chunk(nest, unit, chunks[0]);
  load(chunks[0], memory);
  for (; unit < units; unit += workers, turn ^= 1) {
    mfence();  // this chunk has arrived, and the one before has left its buffer
    if (unit + workers < units) {
      find_chunk(nest, unit + workers, chunks[turn ^ 1]);
      load(chunks[turn ^ 1], memory + (turn ^ 1) * sources * chunk_bytes);
    }
    char* const from = memory + turn * sources * chunk_bytes;
    compute(chunks[turn], result, from, from + chunk_bytes, from + 2 * chunk_bytes);
    store_chunk(nest, chunks[turn], result, y);
  }
  mfence();
}

}  // namespace infini::kunlun
