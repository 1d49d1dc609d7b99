// infinicore/ops/common/dispatcher.hpp: functions by kind of device, by which clients register operators of their own.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "../../device.hpp"

namespace infinicore::op::common {

// Fn: a pointer to a function. Registering is for start-up: it is not ordered with lookups of other threads.
template <class Fn>
class OpDispatcher {
 public:
  // An earlier one is kept where override_existing is false.
  void registerDevice(Device::Type type, Fn fn, bool override_existing = true) {
    Fn& place = table_[static_cast<std::size_t>(type)];
    if (override_existing || place == nullptr) place = fn;
  }
  void registerDevice(std::initializer_list<Device::Type> types, Fn fn,
                      bool override_existing = true) {
    for (const Device::Type type : types) registerDevice(type, fn, override_existing);
  }
  void registerAll(Fn fn, bool override_existing = true) {
    for (std::size_t i = 0; i < count; ++i)
      registerDevice(static_cast<Device::Type>(i), fn, override_existing);
  }
  // Null: nobody registered one.
  Fn lookup(Device::Type type) const {
    const auto number = static_cast<std::size_t>(type);
    return number < count ? table_[number] : nullptr;
  }

 private:
  static constexpr auto count = static_cast<std::size_t>(Device::Type::COUNT);
  Fn table_[count] = {};
};

}  // namespace infinicore::op::common
