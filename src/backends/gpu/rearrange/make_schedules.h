// Making row, shift, scatter, tiny and generic schedules: pure host code.
#pragma once

#include <optional>
#include <string>

#include "backends/gpu/rearrange/generic/schedule.h"
#include "backends/gpu/rearrange/rows/schedule.h"
#include "backends/gpu/rearrange/scatter/schedule.h"
#include "backends/gpu/rearrange/shift/schedule.h"
#include "backends/gpu/rearrange/tiny/schedule.h"
#include "backends/gpu/rearrange/unit_nest.h"

namespace infini::gpu {

// None when the plan has more than 10 loops or more rows than 2^31 - 1. max_unit: as in
// make_unit_nest.
std::optional<RowSchedule> make_row_schedule(const RearrangePlan& plan, int max_unit);
std::optional<ShiftSchedule> make_shift_schedule(const RearrangePlan& plan, int max_unit);

// None when the plan has more than max_tiny_units units, more than 6 loops, or steps that take more
// than 31 bits.
std::optional<TinySchedule> make_tiny_schedule(const UnitNest& nest);

// None unless several units of dst's innermost loop share a sector without touching each other, and
// src is read about as densely.
std::optional<ScatterSchedule> make_scatter_schedule(const UnitNest& nest);

// None when there are more blocks than 2^31 - 1: more than 2^38 units.
std::optional<GenericSchedule> make_generic_schedule(const UnitNest& nest);

std::string to_string(const RowSchedule& schedule);
std::string to_string(const ShiftSchedule& schedule);
std::string to_string(const ScatterSchedule& schedule);
std::string to_string(const TinySchedule& schedule);
std::string to_string(const GenericSchedule& schedule);

}  // namespace infini::gpu
