// Costs of the candidates for products on NVIDIA GPUs.
#include "backends/nvidia/gemm/estimates.h"

#include <algorithm>

#include "backends/gpu/gemm/skinny/schedule.h"
#include "backends/nvidia/gemm/boxes/schedule.h"
#include "backends/nvidia/gemm/ring/schedule.h"
#include "backends/nvidia/gemm/small/schedule.h"
#include "backends/nvidia/gemm/stream/schedule.h"
#include "backends/nvidia/gemm/weights/schedule.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::nvidia {
namespace {

double as_double(int64_t x) { return static_cast<double>(x); }

bool is_16_bit(const GemmPlan& plan) { return dtype_bytes(plan.a.dtype) == 2; }

double flops_of(const GemmPlan& plan) {
  return 2.0 * static_cast<double>(plan.batch) * static_cast<double>(plan.m) *
         static_cast<double>(plan.n) * static_cast<double>(plan.k);
}

double bytes_of(const GemmOperand& x, const OperandShape& shape) {
  return static_cast<double>(shape.rows) * static_cast<double>(shape.cols) *
         static_cast<double>(x.batch_step == 0 ? 1 : shape.batch) *
         static_cast<double>(dtype_bytes(x.dtype));
}
double bytes_of(const GemmPlan& plan) {
  return bytes_of(plan.a, shape_of_a(plan)) + bytes_of(plan.b, shape_of_b(plan)) +
         bytes_of(plan.c, shape_of_c(plan));
}

double arithmetic_ns(const GemmMachine& machine, const GemmPlan& plan) {
  const bool matrix = is_16_bit(plan) || (plan.a.dtype == INFINI_DTYPE_F32 && machine.allow_tf32);
  return flops_of(plan) /
         (matrix ? machine.model.matrix_flops_per_ns : machine.model.vector_flops_per_ns);
}
double memory_ns(const GemmMachine& machine, const GemmPlan& plan) {
  return bytes_of(plan) / machine.model.memory_bytes_per_ns;
}

GemmEstimate cannot(const char* why) { return {.why_not = why}; }

// `measured`: inside the domain in which it was.
GemmEstimate takes(const GemmMachine& machine, const GemmPlan& plan, double start, bool measured) {
  const GemmCosts& costs = *machine.costs;
  return measured ? GemmEstimate{start + costs.near_least * least_ns(machine, plan)}
                  : GemmEstimate{start + costs.unmeasured_start +
                                 costs.far_from_least * least_ns(machine, plan)};
}

bool is_ragged(const GemmOperand& x, const OperandShape& shape) {
  const BlasMatrix blas = blas_matrix(x, shape);
  const int64_t bytes = dtype_bytes(x.dtype);
  return !blas.addressable || blas.leading * bytes % 16 != 0 || blas.batch_stride * bytes % 16 != 0;
}
// Tensor cores are fed from rows that begin at multiples of 16 bytes.
bool is_ragged(const GemmMachine& machine, const GemmPlan& plan) {
  const bool tensor_cores =
      is_16_bit(plan) || (plan.a.dtype == INFINI_DTYPE_F32 && machine.allow_tf32);
  return tensor_cores &&
         (is_ragged(plan.a, shape_of_a(plan)) || is_ragged(plan.b, shape_of_b(plan)) ||
          is_ragged(plan.c, shape_of_c(plan)));
}

// Without its start.
double library_ns(const GemmMachine& machine, const GemmPlan& plan, double times_arithmetic) {
  return std::max(times_arithmetic * arithmetic_ns(machine, plan),
                  machine.costs->library_bytes * memory_ns(machine, plan));
}

GemmPlan with_few_rows(const GemmPlan& plan) { return plan.n < plan.m ? transposed(plan) : plan; }

}  // namespace

double least_ns(const GemmMachine& machine, const GemmPlan& plan) {
  return std::max(arithmetic_ns(machine, plan), memory_ns(machine, plan));
}

GemmEstimate estimate_weights(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  if (machine.capability != 90) return cannot("it is written for sm_90a alone");
  if (!make_weights_gemm(plan, processors))
    return cannot("more than 16 rows, or operands that the copy engine cannot read");
  return takes(machine, plan, machine.costs->start.weights, weights_gemm_pays(plan, processors));
}

GemmEstimate estimate_ring(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  if (machine.capability != 90) return cannot("it is written for sm_90a alone");
  if (!make_ring_gemm(plan, processors)) return cannot("operands that the copy engine cannot read");
  return takes(machine, plan, machine.costs->start.ring, ring_gemm_pays(plan, processors));
}

GemmEstimate estimate_boxes(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  if (machine.capability < 90) return cannot("there is no copy engine before sm_90");
  if (!make_box_gemm(plan, processors) || !make_small_gemm(plan, processors))
    return cannot("operands that the copy engine cannot read, or too long a k");
  return takes(machine, plan, machine.costs->start.boxes, box_gemm_pays(plan, processors));
}

GemmEstimate estimate_small(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  if (plan.k == 0 || !make_small_gemm(plan, processors)) return cannot("more than 31 bits count");
  return takes(machine, plan, machine.costs->start.small,
               machine.capability >= 80 && small_gemm_pays(plan, processors));
}

GemmEstimate estimate_stream(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  const GemmPlan few = with_few_rows(plan);
  if (machine.capability < 80) return cannot("there are no such matrix units before sm_80");
  if (!make_stream_schedule(few, processors)) return cannot("not of 16 bits, or too many rows");
  return takes(machine, plan, machine.costs->start.stream, stream_gemm_pays(few, processors));
}

GemmEstimate estimate_skinny(const GemmMachine& machine, const GemmPlan& plan) {
  const int64_t rows = std::min(plan.m, plan.n);
  if (rows > gpu::most_skinny_rows || plan.k == 0) return cannot("more rows than it takes");
  return takes(machine, plan, machine.costs->start.skinny,
               plan.a.dtype == INFINI_DTYPE_F32 && 1 < rows &&
                   as_double(plan.batch * std::max(plan.m, plan.n) * plan.k) >=
                       machine.costs->skinny_elements);
}

GemmEstimate estimate_padded(const GemmMachine& machine, const GemmPlan& plan) {
  if (plan.k == 0) return cannot("there is nothing to multiply");
  const GemmCosts& costs = *machine.costs;
  const double copied = 2 * memory_ns(machine, plan) * costs.copy_bytes;
  return {costs.start.library + costs.library_arithmetic * arithmetic_ns(machine, plan) + copied +
          costs.packs * costs.pack_start};
}

GemmEstimate estimate_lt(const GemmMachine& machine, const GemmPlan& plan) {
  if (plan.k == 0) return cannot("there is nothing to multiply");
  const GemmCosts& costs = *machine.costs;
  const bool thin = as_double(std::min(plan.m, plan.n)) < costs.thin;
  return {costs.start.library + library_ns(machine, plan,
                                           !is_ragged(machine, plan) ? costs.library_arithmetic
                                           : thin                    ? costs.thin_ragged_arithmetic
                                                                     : costs.ragged_arithmetic)};
}

GemmEstimate estimate_generic(const GemmMachine& machine, const GemmPlan& plan) {
  const GemmCosts& costs = *machine.costs;
  return {costs.start.generic + std::max(costs.plain_arithmetic * arithmetic_ns(machine, plan),
                                         costs.far_from_least * memory_ns(machine, plan))};
}

bool ring_adds(const GemmMachine& machine, const GemmPlan& plan) {
  const int processors = machine.model.processors;
  const auto launch = make_ring_gemm(plan, processors);
  if (!launch) return false;
  const GemmCosts& costs = *machine.costs;
  constexpr double sum_bytes = 12;  // written in f32, read with C, written to C
  const double memory = memory_ns(machine, plan), pass = sum_bytes * as_double(plan.batch) *
                                                         as_double(plan.m) * as_double(plan.n) /
                                                         machine.model.memory_bytes_per_ns;
  return std::max(as_double(ring_gemm_ns(*launch, plan, processors)), costs.ring_bytes * memory) <
         library_ns(machine, plan, costs.library_arithmetic) + costs.pass_start +
             costs.pass_bytes * pass;
}

const char* cheapest_gemm(const GemmMachine& machine, const GemmPlan& plan) {
  constexpr struct {
    const char* name;
    GemmEstimate (*estimate)(const GemmMachine&, const GemmPlan&);
  } candidates[] = {
      {"weights", estimate_weights},  {"ring", estimate_ring},     {"boxes", estimate_boxes},
      {"small", estimate_small},      {"stream", estimate_stream}, {"skinny", estimate_skinny},
      {"lt_padded", estimate_padded}, {"lt", estimate_lt},         {"generic", estimate_generic}};
  const char* name = "";
  double least = std::numeric_limits<double>::infinity();
  for (const auto& candidate : candidates) {
    const double time = candidate.estimate(machine, plan).nanoseconds;
    if (time < least) least = time, name = candidate.name;
  }
  return name;
}

}  // namespace infini::nvidia
