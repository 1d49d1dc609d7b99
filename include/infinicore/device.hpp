// infinicore/device.hpp: the name of a device, a kind and an index.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

#include "../infinicore.h"

namespace infinicore {

// A plain value; naming a device does not open it.
class INFINI_EXPORT Device {
 public:
  using Index = std::size_t;  // which one of its kind
  enum class Type {           // Kinds, with the numbers of the C API.
    CPU = INFINI_DEVICE_CPU,
    NVIDIA = INFINI_DEVICE_NVIDIA,
    CAMBRICON = INFINI_DEVICE_CAMBRICON,
    ASCEND = INFINI_DEVICE_ASCEND,
    METAX = INFINI_DEVICE_METAX,
    MOORE = INFINI_DEVICE_MOORE,
    ILUVATAR = INFINI_DEVICE_ILUVATAR,
    KUNLUN = INFINI_DEVICE_KUNLUN,
    HYGON = INFINI_DEVICE_HYGON,
    QY = INFINI_DEVICE_QY,
    ALI = INFINI_DEVICE_ALI,
    COUNT = INFINI_DEVICE_TYPE_COUNT,
  };
  // The first of a kind, or another; without any, the CPU.
  Device(Type type = Type::CPU, Index index = 0) : type_(type), index_(index) {}
  static Device cpu() { return {}; }
  // Its parts.
  Type getType() const { return type_; }
  Index getIndex() const { return index_; }
  // "nvidia:0"
  std::string toString() const;
  // "nvidia"
  static std::string toString(Type type);
  // The same kind and number.
  friend bool operator==(const Device& a, const Device& b) {
    return a.type_ == b.type_ && a.index_ == b.index_;
  }
  friend bool operator!=(const Device& a, const Device& b) { return !(a == b); }

 private:
  Type type_;
  Index index_;
};
// As toString.
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, const Device& device);

}  // namespace infinicore
