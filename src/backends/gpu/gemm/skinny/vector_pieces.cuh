// Vectors at the ends of lines, of which only some elements belong to the line.
#pragma once

#include <cstdint>

#include "backends/gpu/rearrange/tile/schedule.h"
#include "backends/gpu/rearrange/words.cuh"

namespace infini::gpu {

// Elements [begin, end) of the vector at p, which may begin before the operand and end behind it;
// the others are 0. Not inline: there it would take the registers of what is not at an end.
template <class In>
static __device__ __attribute__((noinline)) Vector load_some(const char* p, int begin, int end) {
  constexpr int size = sizeof(In);
  Vector v{};
#pragma unroll
  for (int i = 0; i < vector_bytes / size; ++i)
    if (begin <= i && i < end) v.put<size>(i, load_word<size>(p + i * size));
  return v;
}

// A vector without the elements outside of [begin, end).
template <class In>
__device__ Vector only(Vector v, int begin, int end) {
  constexpr int size = sizeof(In), words = size < 4 ? 1 : size / 4;
#pragma unroll
  for (int i = 0; i < vector_bytes / size; ++i) {
    if (begin <= i && i < end) continue;
#pragma unroll
    for (int w = 0; w < words; ++w)
      v.word[i * size / 4 + w] &= size < 4 ? ~(0xffffu << 8 * (i * size % 4)) : 0;
  }
  return v;
}

// The bytes of a matrix that may be read as whole vectors, whosever they are: all, where its lines
// follow one another without a gap (or where that does not matter), else none but what a line has.
struct Readable {
  const char *begin = nullptr, *end = nullptr;
  __device__ Readable(const char* matrix, int64_t lines, int64_t line_step, int64_t line_bytes,
                      bool gaps_too) {
    if (line_step == line_bytes || (gaps_too && line_step > line_bytes))
      begin = matrix, end = matrix + (lines - 1) * line_step + line_bytes;
  }
  __device__ bool has(const char* p) const { return begin <= p && p + vector_bytes <= end; }
};

// Elements [begin, end) of the vector at p.
struct Piece {
  const char* p;
  int begin, end;
};

// An element's number inside of a vector, or the nearest end of it.
template <class In>
__device__ int within_vector(int64_t i) {
  constexpr int vector = vector_bytes / sizeof(In);
  return static_cast<int>(i < 0 ? 0 : i > vector ? vector : i);
}

// Pieces 0…count - 1 at the ends of lines. Their other elements are 0 if `cleared`, else anything.
// All vectors are asked for before any of them is looked at.
template <class In, bool cleared, int count, class PieceOf>
__device__ void load_pieces(Vector (&v)[count], const Readable& readable, PieceOf piece_of) {
  constexpr int vector = vector_bytes / sizeof(In);
  bool all = true;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const Piece x = piece_of(i);
    const bool empty = x.begin >= x.end || x.begin >= vector || x.end <= 0,
               safe = !empty && ((x.begin <= 0 && vector <= x.end) || readable.has(x.p));
    uint4 words = make_uint4(0, 0, 0, 0);
    if (safe) words = *reinterpret_cast<const uint4*>(x.p);
    v[i] = {{words.x, words.y, words.z, words.w}};
    all = all && (safe || empty);
  }
  if (!all) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Piece x = piece_of(i);
      if ((x.begin <= 0 && vector <= x.end) || readable.has(x.p)) continue;
      v[i] = load_some<In>(x.p, x.begin, x.end);
    }
  }
  if constexpr (cleared)
#pragma unroll
    for (int i = 0; i < count; ++i) v[i] = only<In>(v[i], piece_of(i).begin, piece_of(i).end);
}

}  // namespace infini::gpu
