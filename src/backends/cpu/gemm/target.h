// What gemm's candidates decide by: a processor's facts, and what its kernels do at once. A plain value, so that schedules
// and costs can be made for a processor that is not there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "backends/cpu/gemm/simd/kernels.h"
#include "backends/cpu/machine/machine.h"
#include "plan/gemm/gemm_plan.h"

namespace infini::cpu {

struct GemmTarget {
  const Machine* facts = nullptr;
  Isa isa = Isa::portable;
  const KernelShape *f32 = nullptr, *f64 = nullptr;
  // Of vectors half as long, where there are two sets.
  const KernelShape *half_f32 = nullptr, *half_f64 = nullptr;
  bool pairs = false;   // the processor multiplies pairs of bf16 (AVX512-BF16), and may
  bool matrix = false;  // it has a matrix unit (AMX), which works and may be used
  // Schedules share work among so many. No cost looks at them: the bits must not depend on them, and so the choice must
  // not, either.
  int threads = 1;
};

inline bool is_f64(const GemmPlan& plan) { return plan.a.dtype == INFINI_DTYPE_F64; }
inline const KernelShape& shape_of(const GemmTarget& target, const GemmPlan& plan) {
  return is_f64(plan) ? *target.f64 : *target.f32;
}
// The index into the kernels' tables of a type in memory.
inline int memory_index(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 ? 1 : dtype == INFINI_DTYPE_BF16 ? 2 : 0;
}
inline bool is_something(const GemmPlan& plan) {
  return plan.batch > 0 && plan.m > 0 && plan.n > 0 && plan.k > 0;
}
// Few rows, or few columns seen from the other side.
inline GemmPlan with_few_rows(const GemmPlan& plan) {
  return plan.m <= plan.n ? plan : transposed(plan);
}

// A thread is worth its start, which costs as much as other work of two regions, from so many cycles on: of those that one
// thread would take for all.
constexpr double most_cycles_per_thread = 10e3;  // where regions are slow
inline int worthwhile_threads(const GemmTarget& target, double cycles) {
  const Machine& facts = *target.facts;
  const double each = std::min(most_cycles_per_thread, 2 * facts.region_ns * facts.clock_ghz);
  return static_cast<int>(std::clamp(cycles / each, 1.0, static_cast<double>(target.threads)));
}

constexpr int64_t most_workspace_bytes = int64_t{1} << 46;  // a process has addresses for 2^47

// What a candidate says of a plan: a schedule and how long it takes, or why there is none.
template <class Schedule>
struct GemmEstimate {
  std::optional<Schedule> schedule = std::nullopt;  // none: it cannot, or takes longer than asked
  double nanoseconds = std::numeric_limits<double>::infinity();
  const char* why_not = "";
};

}  // namespace infini::cpu
