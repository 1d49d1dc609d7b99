// The skinny gemm schedule: a few rows of A against a B that is read once, in vectors, where it
// lies.
//
// B consists of lines: rows along n, or columns along k. A block has some columns of C and a part
// of k. `across` of its threads stand side by side along a line, a vector each; the others stand
// beside them, at other lines, and every thread takes every `beside()`-th line. Lines that far
// apart begin at the same place between two multiples of 16 bytes, whatever B's pitch and base are:
// a thread finds that place once and then reads whole aligned vectors, but for the ends of a line.
// Law: over all blocks every (column, k) of every matrix of the batch is met exactly once. Where k
// has several parts, each leaves its sums in the workspace, and they are added in order. All of it
// follows from the plan alone, so that bits do not depend on the device's size. C++17, constexpr
// where the kernel shares it.
#pragma once

#include <cstdint>
#include <string>

#include "backends/gpu/fast_divide.h"
#include "backends/gpu/rearrange/tile/schedule.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::gpu {

constexpr int skinny_threads = 256;
constexpr int skinny_lines = 8;   // columns along k that a thread has
constexpr int skinny_unroll = 8;  // rows along n that a thread asks for at once
constexpr int64_t most_skinny_rows = 8;

struct SkinnySchedule {
  bool k_inside;  // lines run along k
  int across;     // threads along a line
  int vector;     // elements of a vector
  int64_t chunk;  // of k, for which A is in shared memory
  int64_t part;   // of k, for a block
  int64_t parts;
  constexpr int beside() const { return skinny_threads / across; }
};

// The columns of a block. Where lines begin between two vectors the last thread of a line has what
// is left of them.
constexpr int64_t skinny_columns(const SkinnySchedule& s, bool ragged) {
  return s.k_inside ? int64_t{s.beside()} * skinny_lines
                    : int64_t{s.across - (ragged ? 1 : 0)} * s.vector;
}

// What a launch knows: the columns of a block depend on B's address, too.
struct SkinnyLaunch {
  SkinnySchedule schedule;
  int64_t columns;
  FastDivisor groups, parts;
  uint32_t blocks;
};

// Nothing to be launched has 2^31 blocks or more. Precondition: plan.n > 0.
constexpr bool can_launch(const GemmPlan& plan, const SkinnySchedule& s, int64_t columns) {
  return plan.batch <= INT32_MAX && plan.n <= INT32_MAX &&
         (plan.n + columns - 1) / columns * s.parts <=
             INT32_MAX / (plan.batch < 1 ? 1 : plan.batch);
}
constexpr SkinnyLaunch make_skinny_launch(const GemmPlan& plan, const SkinnySchedule& s,
                                          int64_t columns) {
  const auto groups = static_cast<uint32_t>((plan.n + columns - 1) / columns),
             parts = static_cast<uint32_t>(s.parts);
  return {s, columns, make_fast_divisor(groups), make_fast_divisor(parts),
          groups * parts * static_cast<uint32_t>(plan.batch)};
}

// A block's share of the work.
struct SkinnyPlace {
  int64_t batch, part, column, k, depth;  // the first column and k, and how far its k reaches
};

constexpr SkinnyPlace skinny_place(const GemmPlan& plan, const SkinnyLaunch& launch,
                                   uint32_t block) {
  const SkinnySchedule& s = launch.schedule;
  SkinnyPlace at{};
  at.part = take_digit(block, launch.parts);
  at.column = take_digit(block, launch.groups) * launch.columns;
  at.batch = block;
  at.k = at.part * s.part;
  at.depth = plan.k - at.k < s.part ? plan.k - at.k : s.part;
  return at;
}

// The rows that kernels exist for: 1, 2, 4 and 8. Precondition: m <= most_skinny_rows.
constexpr int skinny_rows(int64_t m) { return m <= 1 ? 1 : m <= 2 ? 2 : m <= 4 ? 4 : 8; }

// Whether B has lines at all, in one of the two directions. Precondition: m <= most_skinny_rows.
bool has_lines(const GemmPlan& plan);
SkinnySchedule make_skinny_schedule(const GemmPlan& plan);

// Of the sums of all parts, 0 where there is one part only.
int64_t skinny_workspace(const GemmPlan& plan, const SkinnySchedule& s);

std::string to_string(const SkinnySchedule& s);

}  // namespace infini::gpu
