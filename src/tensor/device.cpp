// Names of devices and element types.
#include <ostream>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "infinicore/device.hpp"
#include "infinicore/dtype.hpp"

namespace infinicore {

std::string Device::toString(Type type) {
  return infini::device_kind_name(static_cast<infiniDevice_t>(type));
}

std::string Device::toString() const { return toString(type_) + ":" + std::to_string(index_); }

std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << device.toString();
}

std::string toString(DataType dtype) {
  return infini::dtype_name(static_cast<infiniDtype_t>(dtype));
}

std::size_t dsize(DataType dtype) {
  return static_cast<std::size_t>(infini::dtype_bytes(static_cast<infiniDtype_t>(dtype)));
}

std::ostream& operator<<(std::ostream& out, DataType dtype) { return out << toString(dtype); }

}  // namespace infinicore
