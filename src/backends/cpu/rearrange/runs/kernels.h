// The kernels of single runs: a contiguous run of dst made from src in one of a few simple ways.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"

namespace infini::cpu {

// What element i of a run is:
enum class LineKind {
  copy,   // src[i]; words of 1 byte
  fill,   // src[0]
  flip,   // src[-i]
  step,   // src[i * ways]
  weave,  // element i / ways of plane i % ways; planes lie plane_step bytes apart
  spread  // src[i], but to dst[i * ways]: the one kind that leaves gaps in dst
};

// The line of dst in which one run ends and the next one begins: the second one here, so that vectors may reach over both ends.
struct Seam {
  alignas(64) char bytes[192];
};

struct Line {
  char* dst;
  const char* src;
  int64_t begin, count;  // elements begin .. begin + count of the run that starts at dst and src
  int64_t length;        // elements of the whole run
  int64_t ways, plane_step;
  bool streamed;  // past the cache
  // The same again `repeat` times in all, each time these steps further.
  int64_t repeat, repeat_dst, repeat_src;
  // Of joined runs: where the call before left the line in which it ended, and where this one may leave its own. Kernels heed both or neither.
  Seam *before = nullptr, *behind = nullptr;
  // Of copies past the cache: from so many places in turns, each line asked for so many bytes before.
  int64_t places = 4, ahead = 2048;
};

// Past the cache a piece of a run that is not its last one ends with a line of dst, so that no line is written in two
// parts: the elements of the piece are these.
struct Piece {
  Piece(const Line& line, int word) : begin(line.begin), end(line.begin + line.count) {
    const auto skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(line.dst) % 64);
    if (!line.streamed || skew % word != 0) return;
    if (begin > 0) begin -= skew / word;
    if (end < line.length) end -= skew / word;
  }
  int64_t begin, end;
};

using LineKernel = void (*)(const Line&);

constexpr int64_t max_ways = 8;

// word is 1, 2, 4, 8 or 16; ways of `step`, `weave` and `spread` is 2 .. max_ways.
LineKernel line_kernel(Isa level, LineKind kind, int word);

// Copies whose rows follow one another in dst (repeat_dst == count), past the cache.
void copy_joined(const Line& line);

LineKernel line_kernel_portable(LineKind kind, int word);
// Null where the plain loops are as good.
LineKernel line_kernel_avx2(LineKind kind, int word);
LineKernel line_kernel_avx512(LineKind kind, int word);

}  // namespace infini::cpu
