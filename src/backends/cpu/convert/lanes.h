// Conversions of short contiguous arrays between any format and f32 or f64, one table for each instruction set.
// Arrays may begin at any address and do not overlap, unless they are the same.
#pragma once

#include <cstdint>

#include "backends/cpu/machine/isa.h"
#include "plan/operators/convert_plan.h"

namespace infini::cpu {

// Where arrays lie. far: in memory that no cache holds; what is read is asked for ahead. past: what is written goes past the
// caches, wherever whole vectors of it are aligned; the caller fences (streaming_fence).
struct Flow {
  bool far = false, past = false;
};

// Rows of elements that lie together in x and in y. scale and shift: number[k] of row r and column c lies row_step[k]·r +
// column_step[k]·c behind the first; steps are 0 or 1.
struct ConvertLines {
  char* y;
  int64_t y_step;  // bytes from one row to the next
  const char* x;
  const int64_t* x_of_row;  // offsets from x; null: one row
  int64_t rows, columns;
  const float* number[2];
  int64_t row_step[2], column_step[2];
  bool saturates;
  Flow flow;
  const char* ask;  // or null: with each row as many bytes of another are asked for
  const int64_t* ask_of_row;
};

struct ConvertLanes {
  using Lines = void (*)(const ConvertLines& lines);
  using WidenWide = void (*)(double* out, const void* in, int64_t count, Flow flow);
  using NarrowWide = void (*)(void* out, const double* in, bool saturates, int64_t count,
                              Flow flow);

  // y = x, or x·scale + shift, by Format of y and of x, all of whose numbers are f32. Rounded to f32 once, if anything is
  // computed, and to y once, to nearest even. Integers are saturated and NaN becomes 0. Columns are whole groups.
  int64_t group;
  Lines lines[2][narrow_format_count][narrow_format_count];
  // By Format; widening is exact.
  WidenWide widen_wide[format_count];
  NarrowWide narrow_wide[format_count];
  // out = x·a + b, rounded once; out may be x. Steps of a and b: 0 or 1.
  void (*scale_wide)(double* out, const double* x, const double* a, int a_step, const double* b,
                     int b_step, int64_t count, Flow flow);
};

const ConvertLanes& convert_lanes(Isa isa);
const ConvertLanes& convert_lanes_avx512();
const ConvertLanes& convert_lanes_avx2();

}  // namespace infini::cpu
