// How long the candidates take that move bytes without a detour through shared memory: pure functions of
// schedule and device. (Tiles and transpositions: tile/cost.h, transpose/cost.h.)
//
// A launch takes the time of its start, and then the longer of what memory needs for the sectors that it
// moves and what the processors need to issue its instructions. The device's model has the weights.
#pragma once

#include "backends/gpu/model/device_model.h"
#include "backends/gpu/rearrange/make_schedules.h"
#include "backends/gpu/rearrange/planes/make_schedule.h"

namespace infini::gpu {

constexpr double warp = 32;  // threads

// Bytes that memory moves; warps' instructions of all warps together.
double memory_ns(double bytes, const DeviceModel& device);
double issue_ns(double instructions, const DeviceModel& device);
// Whole sectors of both sides.
double sector_traffic(const RearrangePlan& plan);

double copy_ns(const RearrangePlan& plan, const DeviceModel& device);
double tiny_ns(const TinySchedule& schedule, const RearrangePlan& plan, const DeviceModel& device);
double rows_ns(const RowSchedule& even, const ShiftSchedule& shifted, const RearrangePlan& plan,
               const DeviceModel& device);
double planes_ns(const PlanesSchedule& schedule, const RearrangePlan& plan,
                 const DeviceModel& device);
double scatter_ns(const ScatterSchedule& schedule, const RearrangePlan& plan,
                  const DeviceModel& device);
double generic_ns(const GenericSchedule& schedule, const RearrangePlan& plan,
                  const DeviceModel& device);

}  // namespace infini::gpu
