// The candidates' costs, without their kernels.
#include "backends/cpu/gemm/choice.h"

#include "backends/cpu/gemm/amx/schedule.h"
#include "backends/cpu/gemm/blocked/schedule.h"
#include "backends/cpu/gemm/direct/schedule.h"
#include "backends/cpu/gemm/dots/schedule.h"
#include "backends/cpu/gemm/dpbf16/schedule.h"
#include "backends/cpu/gemm/skinny/schedule.h"
#include "backends/cpu/gemm/sweep/schedule.h"

namespace infini::cpu {
namespace {

template <auto estimate>
double cost(const GemmTarget& target, const GemmPlan& plan, double limit) {
  return estimate(target, plan, limit).nanoseconds;
}

constexpr GemmCost costs[] = {
    {"direct", cost<direct::estimate>},   {"skinny", cost<skinny::estimate>},
    {"sweep", cost<sweep::estimate>},     {"dots", cost<dots::estimate>},
    {"dpbf16", cost<dpbf16::estimate>},   {"amx", cost<amx::estimate>},
    {"blocked", cost<blocked::estimate>},
};

}  // namespace

std::span<const GemmCost> gemm_costs() { return costs; }

const char* cheapest_gemm(const GemmTarget& target, const GemmPlan& plan) {
  const char* name = "";
  double limit = std::numeric_limits<double>::infinity();
  for (const GemmCost& candidate : costs) {
    const double time = candidate.nanoseconds(target, plan, limit);
    if (time < limit) limit = time, name = candidate.name;
  }
  return name;
}

}  // namespace infini::cpu
