// What a conversion moves, as the plan of a rearrangement: by it the schedules of rearrangements are made and their lines counted.
#pragma once

#include <optional>

#include "backends/cpu/rearrange/cost.h"
#include "plan/operators/convert_plan.h"
#include "plan/rearrange/rearrange_plan.h"

namespace infini::cpu {

// The plan's loops and its row, outermost first, each of more than one iteration.
std::vector<OperatorLoop> nest_of(const OperatorPlan& plan);
int64_t element_count_of(const OperatorPlan& plan);

// The same elements, of y's size on both sides: x's steps are counted in its elements. Loops are left as they are, though some
// might be one. Null where such a step is no number of bytes.
std::optional<RearrangePlan> move_in_words(const OperatorPlan& plan);

// Bytes of whole lines that are read of x and written of y when each is touched once.
struct ConvertTraffic {
  double read = 0, written = 0;
};
ConvertTraffic traffic_of(const OperatorPlan& plan);

// Whether y goes past the caches: where the threads' share of them does not hold it.
bool converts_beyond_caches(const OperatorPlan& plan, const Policy& policy);
// As many as both sides' bytes are worth.
int convert_threads(const OperatorPlan& plan, const Policy& policy);

// Of all elements in L1, on one thread: a load and a store for each step between the formats.
double line_ns(const OperatorPlan& plan, const Machine& machine);

// How long all of it takes whose instructions take so long on one thread.
double convert_ns(const OperatorPlan& plan, const Setting& setting, double instructions_ns,
                  double parts, bool streamed);

}  // namespace infini::cpu
