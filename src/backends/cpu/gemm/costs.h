// What the costs of gemm's candidates are made of: arithmetic, bytes from where they lie, and threads.
//
// A cost is that of the threads whose rates the machine's facts are, not of this process's: the choice decides bits, and
// these must not depend on how many threads there are.
#pragma once

#include <algorithm>

#include "backends/cpu/gemm/target.h"
#include "base/dtype.h"

namespace infini::cpu {

// Vectors of the arithmetic that one core multiplies and adds in a cycle: half of one at least.
inline double vectors_per_cycle(const Machine& facts, const KernelShape& shape) {
  const double most = facts.products->most_vectors;
  return std::clamp(facts.fma_bytes / (shape.lanes * shape.bytes), 1 / most, most);
}
inline double ns_of_cycles(const Machine& facts, double cycles) { return cycles / facts.clock_ghz; }

inline double as_double(int64_t x) { return static_cast<double>(x); }

inline double operand_bytes(const GemmOperand& x, int64_t rows, int64_t cols) {
  return as_double(rows) * as_double(cols) * as_double(dtype_bytes(x.dtype));
}
// Multiply-adds.
inline double products(const GemmPlan& plan) {
  return as_double(plan.batch) * as_double(plan.m) * as_double(plan.n) * as_double(plan.k);
}

// Reading so many bytes, by all threads together, that are part of so many which come by again and again.
double load_ns(const Machine& facts, double bytes, double footprint);
// Writing them, after they were read.
double update_ns(const Machine& facts, double bytes, double footprint);

// Arithmetic while bytes come by, which hides most of what takes less.
inline double overlap_ns(const Machine& facts, double x, double y) {
  return std::max(x, y) + facts.products->seen * std::min(x, y);
}

// Copying rows×cols of an operand into rows of vectors, or from there, in cycles; and C from sums, which is read, too.
double copy_cycles(const Machine& facts, const GemmOperand& x, int64_t rows, int64_t cols,
                   int lanes);
// Packing deep×wide of an operand into panels whose elements lie `wide` by `wide`; `deep` is turned in squares.
double pack_cycles(const Machine& facts, const GemmOperand& x, int64_t wide_step, int64_t deep_step,
                   int64_t deep, int64_t wide, int lanes);
inline double finish_cycles(const Machine& facts, const GemmOperand& c, int64_t rows, int64_t cols,
                            int lanes) {
  return 2 * copy_cycles(facts, c, rows, cols, lanes);
}

// What one thread has to do, shared by all where that is less.
double shared_ns(const Machine& facts, double alone_ns);

// All three operands of a run, which the next run finds where they were left.
double footprint(const GemmPlan& plan);

// The least that f32 or f64 arithmetic can take, at this share of what the cores could do: whoever takes longer than the
// limit by that alone needs no schedule to say so.
inline double least_ns(const GemmTarget& target, const GemmPlan& plan, double share) {
  const KernelShape& shape = shape_of(target, plan);
  const double rate = shape.lanes * vectors_per_cycle(*target.facts, shape) * share;
  return ns_of_cycles(*target.facts, products(plan) / rate) / target.facts->threads;
}

// What a candidate says by its schedule and the cost of it. A name for each: nanoseconds(schedule, target).
template <class Schedule>
GemmEstimate<Schedule> estimate_of(std::optional<Schedule> schedule, const GemmTarget& target,
                                   double limit, const char* why_not) {
  if (!schedule) return {.why_not = why_not};
  const double time = nanoseconds(*schedule, target);
  if (time > limit) return {.nanoseconds = time};
  return {std::move(schedule), time, ""};
}

}  // namespace infini::cpu
