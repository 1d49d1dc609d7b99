// What the examples share: a device by name, and a check that says what went wrong.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "infinicore.hpp"

// "cpu", "nvidia", ...; leaves with 77 (skipped) when there is none here.
inline infinicore::Device device_named(const char* name) {
  using infinicore::Device;
  for (int kind = 0; kind < INFINI_DEVICE_TYPE_COUNT; ++kind) {
    const auto type = static_cast<Device::Type>(kind);
    if (Device::toString(type) != name) continue;
    if (infinicore::context::getDeviceCount(type) > 0) return Device(type);
    break;
  }
  std::printf("no %s device here\n", name);
  std::exit(77);
}

inline void expect(bool ok, const char* what) {
  if (ok) return;
  std::printf("FAILED: %s\n", what);
  std::exit(1);
}
