// The table of device kinds.
#include "base/device_kind.h"

namespace infini {
namespace {

// Indexed by infiniDevice_t.
constexpr const char* names[INFINI_DEVICE_TYPE_COUNT] = {"cpu",   "nvidia", "cambricon", "ascend",
                                                         "metax", "moore",  "iluvatar",  "kunlun",
                                                         "hygon", "qy",     "ali"};
}  // namespace

bool is_device_kind(infiniDevice_t kind) {
  return static_cast<int>(kind) >= 0 && static_cast<int>(kind) < INFINI_DEVICE_TYPE_COUNT;
}

const char* device_kind_name(infiniDevice_t kind) {
  return is_device_kind(kind) ? names[kind] : "unknown";
}

infiniDevice_t device_kind_from_name(std::string_view name) {
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i)
    if (name == names[i]) return static_cast<infiniDevice_t>(i);
  return INFINI_DEVICE_TYPE_COUNT;
}

}  // namespace infini
