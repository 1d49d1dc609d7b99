// Tables of names.
#include "harness/names.h"

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "harness/suggest.h"

namespace infini::harness {
namespace {

struct Alias {
  const char *alias, *name;
};

constexpr Alias dtype_aliases[] = {{"int8", "i8"},       {"int16", "i16"},      {"int32", "i32"},
                                   {"int64", "i64"},     {"uint8", "u8"},       {"uint16", "u16"},
                                   {"uint32", "u32"},    {"uint64", "u64"},     {"float16", "f16"},
                                   {"half", "f16"},      {"bfloat16", "bf16"},  {"float32", "f32"},
                                   {"float", "f32"},     {"float64", "f64"},    {"double", "f64"},
                                   {"complex64", "c64"}, {"complex128", "c128"}};

// What a vendor's platform is called. Hints only: a command line should say whose device it means.
constexpr Alias platforms[] = {{"cuda", "nvidia"}, {"gpu", "nvidia"},     {"npu", "ascend"},
                               {"cann", "ascend"}, {"xpu", "kunlun"},     {"mlu", "cambricon"},
                               {"musa", "moore"},  {"maca", "metax"},     {"dcu", "hygon"},
                               {"rocm", "hygon"},  {"corex", "iluvatar"}, {"host", "cpu"}};

}  // namespace

infiniDtype_t find_dtype(std::string_view name) {
  for (const auto& [alias, own] : dtype_aliases)
    if (name == alias) return dtype_from_name(own);
  return dtype_from_name(name);
}

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
  for (const auto& [alias, own] : dtype_aliases) known.emplace_back(alias);
  fail(INFINI_STATUS_BAD_PARAM, "\"", name, "\" is not a dtype", did_you_mean(name, known),
       "; expected one of ", list);
}

std::vector<std::string> dtype_lines() {
  std::vector<std::string> lines;
  for (const auto& name : dtype_names()) {
    std::string line = name + std::string(6 - name.size(), ' ') +
                       std::to_string(dtype_bytes(dtype_from_name(name))) + " bytes";
    bool first = true;
    for (const auto& [alias, own] : dtype_aliases) {
      if (name != own) continue;
      line += (first ? ", also " : ", ") + std::string(alias);
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
  for (const auto& [platform, vendor] : platforms)
    if (name == platform) hint = " (did you mean \"" + std::string(vendor) + "\"?)";
  fail(INFINI_STATUS_BAD_PARAM, "--device: \"", name, "\" is not a kind of device", hint,
       "; `infini devices` lists them");
}

}  // namespace infini::harness
