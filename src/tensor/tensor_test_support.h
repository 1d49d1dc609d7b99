// What the tests of the C++ layer share.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "infinicore.hpp"

namespace infinicore {

inline infiniStatus_t status_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.status();
  }
  return INFINI_STATUS_SUCCESS;
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

// f32 elements 0, 1, 2, ... (plus `first`) in row-major order.
inline Tensor iota(const Shape& shape, const Device& device = Device::cpu(), float first = 0) {
  Tensor t = Tensor::empty(shape, DataType::F32, Device::cpu());
  auto* values = reinterpret_cast<float*>(t->data());
  for (size_t i = 0; i < t->numel(); ++i) values[i] = first + static_cast<float>(i);
  return t->to(device);
}

// The elements of an f32 tensor in row-major order.
inline std::vector<float> elements(const Tensor& tensor) {
  const Tensor host = tensor->to(Device::cpu())->contiguous();
  std::vector<float> values(host->numel());
  if (!values.empty()) std::memcpy(values.data(), host->data(), host->nbytes());
  return values;
}

// The CPU, and the first two devices of every other kind that is here.
inline std::vector<Device> all_devices() {
  std::vector<Device> devices;
  for (int kind = 0; kind < INFINI_DEVICE_TYPE_COUNT; ++kind)
    for (size_t i = 0; i < std::min<size_t>(2, context::getDeviceCount(Device::Type(kind))); ++i)
      devices.emplace_back(Device::Type(kind), i);
  return devices;
}

inline std::string test_name(const Device& device) {
  return Device::toString(device.getType()) + "_" + std::to_string(device.getIndex());
}

}  // namespace infinicore
