// How long the direct gemm takes.
#include <algorithm>

#include "backends/cpu/gemm/costs.h"
#include "backends/cpu/gemm/direct/schedule.h"

namespace infini::cpu::direct {
namespace {

constexpr int64_t page_bytes = 4096;

// One k of a tile: multiply-adds, unless they wait for each other or for what they load. (Two loads a cycle, too, but an
// element of A that fills 64 bytes takes a cycle.)
double step_cycles(int64_t rows, int64_t vectors, double rate, double splat, double latency) {
  if (rows == 0) return 0;
  return std::max({as_double(rows * vectors) / rate, latency,
                   splat * as_double(rows) + as_double(vectors) / 2});
}

double splat_of(const Way& way, const ProductCycles& costs) {
  return way.shape.lanes * way.shape.bytes == 64 ? costs.wide_splat : costs.splat;
}

// One tile whose sums are several chains each, which are added in the end.
double split_cycles(const Way& way, const Machine& facts) {
  const ProductCycles& costs = *facts.products;
  const int64_t m = way.plan.m, vectors = ceil_div(way.plan.n, way.shape.lanes);
  const double chains = split_chains(static_cast<int>(m * vectors));
  return as_double(way.plan.k) * step_cycles(m, vectors, vectors_per_cycle(facts, way.shape),
                                             splat_of(way, costs), costs.fma_latency / chains) +
         chains * costs.fma_latency + costs.direct.tile;
}

double tiles_cycles(const Way& way, const Machine& facts) {
  const ProductCycles& costs = *facts.products;
  const GemmPlan& plan = way.plan;
  const KernelShape& shape = way.shape;
  const double rate = vectors_per_cycle(facts, shape);
  const int64_t all = ceil_div(plan.n, shape.lanes);
  const bool jumps =
      plan.a.col_step != dtype_bytes(plan.a.dtype) &&
      as_double(saturating_mul(plan.m, plan.k, shape.bytes)) > costs.direct.jumped_bytes;
  const double splat = splat_of(way, costs);
  double sum = 0;
  for (int64_t left = all; left > 0;) {
    const int64_t vectors = panel_vectors(shape, plan.m, all, left),
                  strips = ceil_div(plan.m, most_rows(shape, vectors)),
                  rows = ceil_div(plan.m, strips), whole = plan.m / rows;
    const int64_t panels = std::max<int64_t>(1, left / vectors - 1);
    const double step =
        as_double(whole) * step_cycles(rows, vectors, rate, splat, costs.fma_latency) +
        step_cycles(plan.m % rows, vectors, rate, splat, costs.fma_latency) +
        (jumps ? costs.direct.jump * as_double(strips) : 0);
    sum += as_double(panels) * (as_double(plan.k) * step + as_double(strips) * costs.direct.tile);
    left -= panels * vectors;
  }
  return sum;
}

}  // namespace

double cycles(const Way& way, const GemmTarget& target) {
  const GemmPlan& plan = way.plan;
  const KernelShape& shape = way.shape;
  const Machine& facts = *target.facts;
  double sum = facts.products->direct.call +
               (way.split ? split_cycles(way, facts) : tiles_cycles(way, facts));
  const double panels = as_double(ceil_div(plan.n, int64_t{shape.tile_vectors} * shape.lanes));
  sum +=
      panels * facts.products->direct.panel * ((way.packs_b ? 1 : 0) + (way.through_sums ? 1 : 0));
  if (way.packs_a) sum += copy_cycles(facts, plan.a, plan.m, plan.k, shape.lanes);
  if (way.packs_b) sum += copy_cycles(facts, plan.b, plan.k, plan.n, shape.lanes);
  if (way.through_sums) sum += finish_cycles(facts, plan.c, plan.m, plan.n, shape.lanes);
  return sum;
}

namespace {

// What comes from beyond the second cache. Tiles walk along many rows of A and down B in short pieces of rows, each in
// another page: memory answers that at a part of its speed. A comes by again for each panel of B.
double far_ns(const Way& way, const Machine& facts, double all) {
  const GemmPlan& plan = way.plan;
  const double a = operand_bytes(plan.a, plan.m, plan.k), b = operand_bytes(plan.b, plan.k, plan.n),
               c = operand_bytes(plan.c, plan.m, plan.n);
  const double panels = as_double(ceil_div(plan.n, int64_t{4} * way.shape.lanes));
  const double passes = a > facts.l2_bytes / 2 ? panels : 1;
  const auto lines_ns = [&](double bytes, double in_cache, double in_memory) {
    return bytes / line_bytes / facts.threads *
           (all <= facts.l2_bytes * facts.threads ? line_bytes / facts.l2_load.one
            : all <= facts.l3_bytes               ? in_cache
                                                  : in_memory);
  };
  const double again_ns =
      load_ns(facts, a * (passes - 1), a) * (a > facts.l3_bytes ? facts.products->direct.again : 1);
  // Rows that lie pages apart push each other out of the first cache: each strip of A has them come again.
  const double strips = as_double(ceil_div(plan.m, most_rows(way.shape, 4)));
  const bool crowded = way.streams && plan.b.row_step % page_bytes == 0;
  return (crowded ? (strips - 1) * b / facts.l2_load.all : 0) +
         lines_ns(a, facts.near_row_ns, facts.far_row_ns) + again_ns +
         (way.streams ? lines_ns(b, facts.near_piece_ns, facts.far_piece_ns)
                      : load_ns(facts, b, all)) +
         (way.past ? c / facts.streamed_store.all
                   : as_double(ceil_div(plan.k, way.depth)) * update_ns(facts, c, all));
}

// Panels whose rows are copied from beyond the second cache, each in another page.
double far_copies_ns(const Way& way, const Machine& facts, double all) {
  const bool by_rows = way.plan.b.row_step != dtype_bytes(way.plan.b.dtype);
  if (!way.packs_b || !by_rows || all <= facts.l2_bytes * facts.threads) return 0;
  const double vectors = as_double(way.plan.k) * as_double(ceil_div(way.plan.n, way.shape.lanes));
  return vectors * facts.far_piece_ns / facts.threads;
}

// An A that lies across is read a line of another row for each k, again for each panel, and nothing fetches that ahead.
// Where rows lie pages apart and the first cache does not hold a strip's lines they push each other out of the second one,
// too, so that each strip has them come anew.
double far_jumps_ns(const Way& way, const Machine& facts) {
  const GemmPlan& plan = way.plan;
  if (way.packs_a || plan.a.col_step == dtype_bytes(plan.a.dtype)) return 0;
  const double a = operand_bytes(plan.a, plan.m, plan.k);
  const bool near = a <= facts.l3_bytes / 2;  // beside B and C
  const bool crowded = plan.a.col_step % page_bytes == 0 && a > facts.l2_bytes &&
                       as_double(way.depth) * line_bytes > facts.l1_bytes;
  if (near && !crowded) return 0;
  const double strips = as_double(ceil_div(plan.m, most_rows(way.shape, 4))),
               panels = as_double(ceil_div(plan.n, int64_t{4} * way.shape.lanes));
  const double lines = panels * (crowded ? strips * as_double(plan.k) : a / line_bytes);
  return lines * (near ? facts.near_piece_ns : facts.far_piece_ns) / facts.threads;
}

}  // namespace

double nanoseconds(const Way& way, const GemmTarget& target) {
  const Machine& facts = *target.facts;
  const double batch = as_double(way.plan.batch), all = footprint(way.plan);
  const double worked = shared_ns(facts, batch * ns_of_cycles(facts, way.cycles));
  if (all <= facts.l1_bytes) return worked;
  return overlap_ns(facts, worked, batch * far_ns(way, facts, all)) +
         batch * (far_copies_ns(way, facts, all) + far_jumps_ns(way, facts));
}

GemmEstimate<Schedule> estimate(const GemmTarget& target, const GemmPlan& plan, double limit) {
  const auto way = make_way(target, plan);
  if (!way) return {.why_not = "there is nothing to multiply"};
  const double time = nanoseconds(*way, target);
  if (time > limit) return {.nanoseconds = time};
  const Schedule schedule = make_schedule(target, *way);
  if (schedule.workspace_bytes() > most_workspace_bytes)
    return {.why_not = "its copies need more memory than there can be"};
  return {schedule, time, ""};
}

}  // namespace infini::cpu::direct
