// How the direct gemm goes: tiles straight from the operands' own memory. What the tiles cannot read (16-bit types, columns
// that are contiguous) is copied panel by panel, by each thread for itself; preparing more would cost more than it saves.
//
// A pure value. Which operand is read vector by vector, what is copied and where k is cut is decided by the plan alone; the
// threads have parts of C.
#pragma once

#include "backends/cpu/gemm/target.h"
#include "base/checked.h"

namespace infini::cpu::direct {

constexpr int64_t line_bytes = 64;

// Which operand is read vector by vector, and what must be copied before. All that the bits depend on.
struct Way {
  GemmPlan plan;         // as it is computed
  bool swapped = false;  // as Cᵀ = Bᵀ·Aᵀ
  bool half = false;     // by vectors of half the length
  bool packs_a = false;  // A is not of the arithmetic's type
  bool packs_b = false;  // B is not, its rows are not contiguous, or it is large and read often
  bool streams = false;  // B is large and read in place
  bool through_sums = false;  // the tiles cannot write C themselves
  bool past = false;          // C is larger than the last cache and has little arithmetic
  bool split = false;         // C is one tile of few sums, which are added up in several chains
  int64_t depth = 0;          // of a piece of k
  KernelShape shape = {};     // of the tiles
  double cycles = 0;          // of one thread, with everything at hand; see cost.cpp
};

struct Part {  // of C
  int64_t row, rows, vector, vectors;
};

struct Schedule : Way {
  int threads = 1;
  int64_t vectors = 0;                   // of n
  int64_t row_parts = 1, col_parts = 1;  // of one product
  int64_t unit = 1;                      // vectors that stay together
  bool along_rows =
      false;  // strip by strip, each through all panels: C is written in the order in which it lies
  // Then, where C does not fit the last cache either and is not read: a strip of so many rows goes through the near caches,
  // and past all of them. 0: it does not.
  int64_t past_rows = 0;
  bool keeps_panel = false;    // a task has one panel, whose copy serves the next task, too
  bool fetches_first = false;  // the first tile of a panel finds it beyond the first cache
  int64_t a_bytes = 0, b_bytes = 0,
          thread_bytes = 0;  // of a thread's copies, and of all that it has

  int64_t parts() const { return row_parts * col_parts; }
  int64_t tasks() const { return plan.batch * parts(); }
  Part part(int64_t index) const;
  int64_t past_bytes() const { return round_up(past_rows * plan.n * shape.bytes, line_bytes); }
  int64_t sum_row() const { return most_tile_vectors * line_bytes / shape.bytes; }  // elements
  // Rows whose sums stay in the first cache; all of a task where B would be copied again for the next ones.
  int64_t rows_together() const;
  int64_t workspace_bytes() const { return saturating_mul(threads, thread_bytes); }
};

// The cheaper of the two ways to see the product. None: there is nothing to multiply.
std::optional<Way> make_way(const GemmTarget& target, const GemmPlan& plan);
Schedule make_schedule(const GemmTarget& target, const Way& way);

// Of one thread that has everything at hand.
double cycles(const Way& way, const GemmTarget& target);
double nanoseconds(const Way& way, const GemmTarget& target);

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit);

// Vectors of the next panel where `left` of `all` are left: the widest that divide them; two of 2 are
// better than 3 and 1.
inline int64_t panel_vectors(const KernelShape& shape, int64_t rows, int64_t all, int64_t left) {
  if (rows <= slim_rows && shape.wide_vectors != 0 && left > shape.wide_vectors)
    return left <= most_tile_vectors || left >= 2 * most_tile_vectors
               ? (left < most_tile_vectors ? left : most_tile_vectors)
               : (left + 1) / 2;
  if (shape.wide_vectors == 4 && all % 4 == 0) return 4;
  if (left == 4 && shape.tile_vectors == 3)
    return rows <= slim_rows && shape.wide_vectors == 4 ? 4 : 2;
  return left < shape.tile_vectors ? left : shape.tile_vectors;
}

// Rows of a tile that is so many vectors wide, at most.
inline int64_t most_rows(const KernelShape& shape, int64_t vectors) {
  if (vectors > shape.tile_vectors) return shape.wide_rows > 0 ? shape.wide_rows : 1;
  return vectors == shape.tile_vectors ? shape.tile_rows : shape.narrow_rows;
}

// C is one tile of so few sums that they can be several chains each.
inline bool can_split(const Way& way) {
  const int64_t vectors = ceil_div(way.plan.n, way.shape.lanes);
  return way.plan.m * vectors <= most_split_sums &&
         panel_vectors(way.shape, way.plan.m, vectors, vectors) == vectors;
}

// Rows of such a tile: nearly equal ones are better than a last one of one row. (Short products notice a division.)
inline int64_t strip_height(const KernelShape& shape, int64_t rows, int64_t vectors) {
  const int64_t most = most_rows(shape, vectors);
  return rows <= most ? rows : ceil_div(rows, ceil_div(rows, most));
}

// The panels of a part, one after another: body(vectors, first column).
template <class Body>
void each_panel(const Schedule& s, const Part& part, const Body& body) {
  for (int64_t left = part.vectors, at = part.vector; left > 0;) {
    const int64_t vectors = panel_vectors(s.shape, part.rows, part.vectors, left);
    body(vectors, at * s.shape.lanes);
    left -= vectors;
    at += vectors;
  }
}

}  // namespace infini::cpu::direct
