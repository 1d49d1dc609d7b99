// The kernels that run shuffle programs.
#pragma once

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/shuffle/schedule.h"

namespace infini::cpu {

// Some whole periods, or the first vectors of one.
struct ShuffleRun {
  char* dst;
  const char* src;  // the first period's place
  int64_t periods;
  int64_t vectors;             // of each
  int64_t dst_step, src_step;  // from one period to the next
  int64_t ahead;               // windows are asked for when they are so far away
  // Past the cache, where `run` streams: dst lies `skew` bytes behind the beginning of a line, and those bytes wait
  // in `carry`, as will those behind the last whole line. Else null.
  char* carry = nullptr;
  int64_t skew = 0;
  bool begins = false;  // those bytes before dst are others', not to be written
};

struct ShuffleKernels {
  // Vectors are stored whole, up to width - 1 bytes behind the last byte, and windows read whole. Gaps between
  // blocks are not written, and only levels of 64 bytes know them.
  void (*run)(const ShuffleProgram&, const ShuffleRun&) = nullptr;
  void (*stream_lines)(char* dst, const char* src, int64_t bytes) = nullptr;  // whole ones of dst
  bool streams = false;                                                       // `run` can
};

// What the level shuffles at once, or 0 if nothing.
int shuffle_width(Isa level);
ShuffleKernels shuffle_kernels(Isa level, int depth);

ShuffleKernels shuffle_kernels_neon(int depth);
ShuffleKernels shuffle_kernels_avx2(int depth);
ShuffleKernels shuffle_kernels_avx512(int depth);

}  // namespace infini::cpu
