// Tables of names.
#include "harness/names.h"

#include "base/aliases.h"
#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "harness/suggest.h"

namespace infini::harness {
infiniDtype_t find_dtype(std::string_view name) { return dtype_from_any_name(name); }

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 1; i < dtype_count; ++i)
    names.emplace_back(dtype_name(static_cast<infiniDtype_t>(i)));
  return names;
}

infiniDtype_t parse_dtype(std::string_view name) {
  const infiniDtype_t dtype = find_dtype(name);
  if (dtype != INFINI_DTYPE_INVALID) return dtype;
  auto known = dtype_names();
  std::string list;
  for (const auto& each : known) list += (list.empty() ? "" : " ") + each;
  for (const Alias* each = dtype_aliases; each->alias != nullptr; ++each)
    known.emplace_back(each->alias);
  fail(INFINI_STATUS_BAD_PARAM, "\"", name, "\" is not a dtype", did_you_mean(name, known),
       "; expected one of ", list);
}

std::vector<std::string> dtype_lines() {
  std::vector<std::string> lines;
  for (const auto& name : dtype_names()) {
    const int64_t bytes = dtype_bytes(dtype_from_name(name));
    std::string line = name + std::string(6 - name.size(), ' ') + std::to_string(bytes) +
                       (bytes == 1 ? " byte" : " bytes");
    bool first = true;
    for (const Alias* each = dtype_aliases; each->alias != nullptr; ++each) {
      if (name != each->name) continue;
      line += (first ? ", also " : ", ") + std::string(each->alias);
      first = false;
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> device_kind_names() {
  std::vector<std::string> names;
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i)
    names.emplace_back(device_kind_name(static_cast<infiniDevice_t>(i)));
  return names;
}

infiniDevice_t parse_device_kind(std::string_view name) {
  const infiniDevice_t kind = device_kind_from_name(name);
  if (kind != INFINI_DEVICE_TYPE_COUNT) return kind;
  std::string hint = did_you_mean(name, device_kind_names());
  if (const char* const vendor = device_kind_of_platform(name))
    hint = " (did you mean \"" + std::string(vendor) + "\"?)";
  fail(INFINI_STATUS_BAD_PARAM, "--device: \"", name, "\" is not a kind of device", hint,
       "; `infini devices` lists them");
}

}  // namespace infini::harness
