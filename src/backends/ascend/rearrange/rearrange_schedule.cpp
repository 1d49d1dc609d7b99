// The candidates that turn a rearrange plan into a schedule, and their bids.
#include "backends/ascend/rearrange/rearrange_schedule.h"

#include <algorithm>
#include <utility>

#include "backends/ascend/rearrange/nest.h"
#include "contract/candidate.h"

namespace infini::ascend {
namespace {

constexpr int64_t max_row_bytes = 5'000'000, max_rows = 5'242'880;  // of the 2-D copy engine
constexpr int64_t max_launches = 1 << 20;  // of a series that nobody would wait for

using Made = std::unique_ptr<Schedule>;

// What the candidates decide by.
struct Target {
  ChipModel chip;
  int64_t alignment;
};

Made one_step(const char* candidate, Method method, Nest nest, size_t outer, int64_t element) {
  auto schedule = std::make_unique<Schedule>();
  schedule->candidate = candidate;
  schedule->steps.push_back(
      {method, Place::client, Place::client, std::move(nest), outer, element});
  return schedule;
}

bool is_row_loop(const Nest& nest, const Loop& loop) {
  return loop.dst_step >= nest.atom_bytes && loop.src_step >= nest.atom_bytes &&
         loop.extent <= max_rows && nest.atom_bytes <= max_row_bytes;
}

// The longest loop that the 2-D engine can walk goes innermost; the others become outer loops.
// Without such a loop each atom is one flat copy.
Step engine_step(Nest nest) {
  auto best = nest.loops.end();
  for (auto loop = nest.loops.begin(); loop != nest.loops.end(); ++loop)
    if (is_row_loop(nest, *loop) && (best == nest.loops.end() || loop->extent >= best->extent))
      best = loop;
  Step step;
  step.method = best == nest.loops.end() ? Method::copy : Method::copy_2d;
  step.outer = nest.loops.size() - (step.method == Method::copy ? 0 : 1);
  if (step.method == Method::copy_2d) std::rotate(best, best + 1, nest.loops.end());
  step.nest = std::move(nest);
  return step;
}

// One operator call over all the nest, with the widest element for which the AI Core writes it.
Made try_operator(const char* candidate, Method method, const Nest& nest, int64_t alignment) {
  for (int64_t element = largest_element(nest, alignment); element > 0; element /= 2) {
    if (operator_rank(nest, 0, element) > max_operator_rank) continue;
    const OperatorView view =
        operator_view({method, Place::client, Place::client, nest, 0, element});
    if (ai_core_writes(view.rank, view.dims, view.dst_strides))
      return one_step(candidate, method, nest, 0, element);
  }
  return nullptr;
}

template <int64_t Loop::*step>
bool dense_in_some_order(const Nest& nest) {
  std::vector<Loop> loops = nest.loops;
  std::sort(loops.begin(), loops.end(),
            [](const Loop& a, const Loop& b) { return a.*step < b.*step; });
  int64_t expected = nest.atom_bytes;
  for (const Loop& loop : loops) {
    if (loop.*step != expected) return false;
    expected *= loop.extent;
  }
  return true;
}

// --- copy: the flat engine, for each atom

Made make_copy(const int64_t&, const Nest& nest) {
  return one_step("copy", Method::copy, nest, nest.loops.size(), 1);
}

// --- copy_2d: the 2-D engine, for each plane

Made make_copy_2d(const int64_t&, const Nest& nest) {
  Step step = engine_step(nest);
  if (step.method != Method::copy_2d) return nullptr;
  return one_step("copy_2d", Method::copy_2d, std::move(step.nest), step.outer, 1);
}

// --- transpose: both sides dense, in different orders. The source in its own order is contiguous, so the operator skips
// its first pass and transposes straight into the destination.

bool can_transpose(const int64_t& alignment, const Nest& nest) {
  return dense_in_some_order<&Loop::dst_step>(nest) && dense_in_some_order<&Loop::src_step>(nest) &&
         operator_rank(nest, 0, largest_element(nest, alignment)) <= max_operator_rank;
}
Made make_transpose(const int64_t& alignment, const Nest& nest) {
  if (!can_transpose(alignment, nest)) return nullptr;
  Nest ordered = nest;
  std::sort(ordered.loops.begin(), ordered.loops.end(),
            [](const Loop& a, const Loop& b) { return a.src_step > b.src_step; });
  const int64_t element = largest_element(ordered, alignment);
  return one_step("transpose", Method::view_copy, std::move(ordered), 0, element);
}

// --- view_copy and flip: one operator call, destination within the AI Core's rules

Made make_view_copy(const int64_t& alignment, const Nest& nest) {
  if (any_negative(nest)) return nullptr;
  return try_operator("view_copy", Method::view_copy, nest, alignment);
}

Made make_flip(const int64_t& alignment, const Nest& nest) {
  if (!any_negative(nest) || any_broadcast(nest)) return nullptr;
  return try_operator("flip", Method::flip, nest, alignment);
}

// --- staged: through dense memory, which holds each source byte once

size_t loops_beyond_rank(const Nest& nest, int64_t element) {
  return static_cast<size_t>(std::max(0, operator_rank(nest, 0, element) - max_operator_rank));
}

// Source to dense memory: the destination is contiguous, so any part of rank 8 is one fast call.
Step gather_step(const Nest& nest, int64_t alignment) {
  const int64_t element = largest_element(nest, alignment);
  const Method method = is_flat(nest)        ? Method::copy
                        : any_negative(nest) ? Method::flip
                                             : Method::view_copy;
  return {method, Place::client, Place::client, nest, loops_beyond_rank(nest, element), element};
}

// The `taken` longest loops innermost, otherwise in the nest's order.
Nest longest_inside(Nest nest, size_t taken) {
  std::stable_sort(nest.loops.begin(), nest.loops.end(),
                   [](const Loop& a, const Loop& b) { return a.extent < b.extent; });
  std::sort(nest.loops.end() - static_cast<ptrdiff_t>(taken), nest.loops.end(),
            [](const Loop& a, const Loop& b) { return a.dst_step > b.dst_step; });
  return nest;
}

// Dense memory to a destination with many gaps: the longest loops go into the call, as many as the
// AI Core takes (three around a run of 32 elements, else one); the others are outer loops.
Step scatter_step(const Nest& nest, int64_t alignment) {
  Step best;
  int64_t fewest = INT64_MAX;
  for (int64_t element = largest_element(nest, alignment); element > 0; element /= 2) {
    const size_t taken =
        std::min<size_t>(nest.loops.size(), nest.atom_bytes / element >= 32 ? 3 : 1);
    Step step{Method::view_copy,         Place::client, Place::client, longest_inside(nest, taken),
              nest.loops.size() - taken, element};
    if (launches(step) >= fewest) continue;
    fewest = launches(step);
    best = std::move(step);
  }
  return best;
}

// The first half is left out where the source is already dense.
Made through_dense(const char* candidate, const Nest& nest, int64_t alignment,
                   Step (*scatter)(const Nest&, int64_t)) {
  Halves h = halves(nest, true);
  auto schedule = std::make_unique<Schedule>();
  schedule->candidate = candidate;
  if (is_flat(h.gather)) {
    h.scatter.src_offset = h.gather.src_offset;
    schedule->steps.push_back(scatter(h.scatter, alignment));
  } else {
    Step first = gather_step(h.gather, alignment), second = scatter(h.scatter, alignment);
    first.to = second.from = Place::stage_0;
    schedule->stage_bytes[0] = h.dense_bytes;
    schedule->steps = {std::move(first), std::move(second)};
  }
  return schedule;
}

Made make_staged(const int64_t& alignment, const Nest& nest) {
  return through_dense("staged", nest, alignment, scatter_step);
}

// --- ai_cpu: few calls whatever the destination, but slow ones

Made make_ai_cpu(const int64_t& alignment, const Nest& nest) {
  return through_dense("ai_cpu", nest, alignment, [](const Nest& n, int64_t a) {
    const int64_t element = largest_element(n, a);
    return Step{
        Method::view_copy, Place::client, Place::client, n, loops_beyond_rank(n, element), element};
  });
}

// --- engine: copy engines for everything strided, operators on dense memory only

// Dense to dense: reverses the loops that the source walks backwards.
Nest reversal(Nest gather) {
  for (Loop& loop : gather.loops) {
    if (loop.src_step < 0) gather.src_offset += loop.dst_step * (loop.extent - 1);
    loop.src_step = loop.src_step < 0 ? -loop.dst_step : loop.dst_step;
  }
  return fused(std::move(gather));
}

// Dense to dense: repeats what the source gives once.
Nest repetition(Nest nest) {
  int64_t dense = nest.atom_bytes, once = nest.atom_bytes;
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const Loop loop = nest.loops[i];
    nest.loops[i] = {loop.extent, dense, loop.src_step == 0 ? 0 : once};
    dense *= loop.extent;
    if (loop.src_step != 0) once *= loop.extent;
  }
  return fused(std::move(nest));
}

// Appends a step that reads what the last one wrote and writes the other stage.
void append(Schedule& schedule, Step step, int64_t bytes) {
  step.from = schedule.steps.empty() ? Place::client : schedule.steps.back().to;
  step.to = step.from == Place::stage_0 ? Place::stage_1 : Place::stage_0;
  int64_t& stage = schedule.stage_bytes[step.to == Place::stage_0 ? 0 : 1];
  stage = std::max(stage, bytes);
  schedule.steps.push_back(std::move(step));
}

// Gather -> reverse -> repeat -> scatter, each only where needed.
Made make_engine(const int64_t& alignment, const Nest& nest) {
  auto schedule = std::make_unique<Schedule>();
  schedule->candidate = "engine";
  const Halves once = halves(nest, true), repeated = halves(nest, false);
  int64_t start = 0;  // where the next step's source begins
  if (is_flat(once.gather))
    start = once.gather.src_offset;
  else
    append(*schedule, engine_step(fused(all_forward(once.gather))), once.dense_bytes);
  if (any_negative(once.gather)) {
    Nest gather = once.gather;
    gather.src_offset = 0;
    append(*schedule, gather_step(reversal(std::move(gather)), alignment), once.dense_bytes);
  }
  if (any_broadcast(nest)) {
    Nest repeat = nest;
    repeat.dst_offset = 0;
    repeat.src_offset = std::exchange(start, 0);
    append(*schedule, gather_step(repetition(std::move(repeat)), alignment), repeated.dense_bytes);
  }
  Nest scatter = repeated.scatter;
  scatter.src_offset = start;
  append(*schedule, engine_step(std::move(scatter)), 0);
  schedule->steps.back().to = Place::client;
  return schedule;
}

template <auto make, bool takes_all = false>
Bid<Schedule> bid(const Target& target, const Nest& nest, double limit) {
  const double least = least_ns(target.chip, nest);
  if (least >= limit) return at_least<Schedule>(least);
  Made made = make(target.alignment, nest);
  if (made == nullptr) return cannot<Schedule>("its calls cannot move this");
  if (!takes_all && launches(*made) > max_launches)
    return cannot<Schedule>("it would take too many calls");
  const double time = nanoseconds(target.chip, *made);
  return would_take<Schedule>(time, [made = std::move(made)]() mutable { return std::move(made); });
}

constexpr Candidate<Schedule, Target, Nest> candidates[] = {
    {"copy", bid<make_copy>},           {"copy_2d", bid<make_copy_2d>},
    {"transpose", bid<make_transpose>}, {"view_copy", bid<make_view_copy>},
    {"flip", bid<make_flip>},           {"staged", bid<make_staged>},
    {"ai_cpu", bid<make_ai_cpu>},       {"engine", bid<make_engine, true>},
};

}  // namespace

Schedule make_schedule(const RearrangePlan& plan, int64_t alignment, const Choice& choice) {
  return std::move(*cheapest(candidates, Target{{}, alignment}, to_nest(plan), choice,
                             {"INFINI_ASCEND_REARRANGE"}));
}

Schedule make_engine_schedule(const RearrangePlan& plan, int64_t alignment) {
  return std::move(*make_engine(alignment, to_nest(plan)));
}

}  // namespace infini::ascend
