// What the choice of a kernel needs to know of a GPU: asked from the device where it says so.
#pragma once

#include <cstdint>
#include <string>

#include "backends/gpu/model/rearrange_costs.h"

namespace infini::gpu {

struct DeviceModel {
  // A middling chip, for what a device does not say of itself.
  int processors = 64;
  double clock_ghz = 1.5;
  double memory_bytes_per_ns = 1000;  // what the memory's bus can carry
  int64_t l2_bytes = 16 << 20;
  int64_t shared_bytes = 100 << 10;  // of one processor
  double link_bytes_per_ns = 12;     // of copies from and to the host; no device says so
  bool asked = false;                // the device said all of this
  // The costs below were fitted on this kind of chip; elsewhere its proportions are assumed.
  bool fitted = false;
  // Arithmetic: 16-bit products on matrix units, f32 on the others.
  double matrix_flops_per_ns = 200e3, vector_flops_per_ns = 20e3;
  const RearrangeCosts* rearrange = &hopper;

  // The share of one processor.
  double bytes_per_cycle() const { return memory_bytes_per_ns / clock_ghz / processors; }
};

// One line, for people.
std::string to_string(const DeviceModel& model);

}  // namespace infini::gpu
