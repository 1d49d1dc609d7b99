// The stream gemm schedule: few rows of A against a B of 16 bits that is read once, where it lies,
// for matrix units.
//
// Groups of columns, parts of k and lines are those of the skinny gemm
// (backends/gpu/skinny_schedule.h). Of a block's eight warps each takes every eighth line, and all
// lines of a warp begin between two multiples of 16 bytes at the same place: so the units get whole
// vectors from memory, whatever B's pitch and base are. Which k and which columns the lanes of a
// warp hold is chosen so that a vector needs no exchange between lanes.
#pragma once

#include <optional>

#include "backends/gpu/gemm/skinny/schedule.h"

namespace infini::nvidia {

constexpr int stream_warps = 8;
constexpr int64_t most_stream_rows = 32;
constexpr int unit_rows = 16;  // of a matrix unit's instruction

// Instructions one above the other.
constexpr int stream_tiles(int64_t m) { return m <= unit_rows ? 1 : 2; }

// A strip of B: what a warp's lanes read of a line along n, or the columns along k of all warps.
constexpr int stream_strip = 64;
constexpr int stream_strips(bool k_inside) { return k_inside ? 2 : 1; }
constexpr int64_t stream_columns(bool k_inside, bool ragged) {
  return stream_strip * stream_strips(k_inside) - (ragged && !k_inside ? 8 : 0);
}

// What a warp multiplies at once: lines along n, or elements of lines along k. Chunks of k hold a
// multiple of it, since a lane counts on from chunk to chunk.
constexpr int stream_lines_at_once = 32, stream_depth_at_once = 128;
constexpr int64_t stream_unit(bool k_inside) {
  return k_inside ? stream_depth_at_once : stream_warps * stream_lines_at_once;
}

// Shared memory has a chunk of A first. Lines along n: [warp][row][every eighth k]; lines along k:
// [row][k], with zeros before and behind. Rows begin in different banks.
constexpr int stream_front = 8, stream_back = 152;
constexpr int64_t stream_pitch(bool k_inside, int64_t chunk) {
  return k_inside ? stream_front + chunk + stream_back : chunk / stream_warps + 16;
}
// In its place later: the sums of eight rows of each warp, where k is divided among them.
constexpr int64_t stream_shared_bytes(bool k_inside, int64_t m, int64_t chunk) {
  const int64_t of_a = 2 * m * stream_pitch(k_inside, chunk) * (k_inside ? 1 : stream_warps),
                of_sums = k_inside ? 0 : 4 * stream_warps * 8 * (stream_strip + 8);
  return of_a > of_sums ? of_a : of_sums;
}

// Nothing unless both operands have 16 bits, there are at most most_stream_rows rows, and B has
// lines. `processors` are to be kept busy.
std::optional<gpu::SkinnySchedule> make_stream_schedule(const GemmPlan& plan, int processors);

// Whether that is faster than cuBLASLt, as measured on an H200. Precondition: there is a schedule.
bool stream_gemm_pays(const GemmPlan& plan, int processors);

}  // namespace infini::nvidia
