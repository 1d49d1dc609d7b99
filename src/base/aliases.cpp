// Tables of other names.
#include "base/aliases.h"

#include "base/dtype.h"

namespace infini {
namespace {

constexpr Alias platforms[] = {{"cuda", "nvidia"}, {"gpu", "nvidia"},     {"npu", "ascend"},
                               {"cann", "ascend"}, {"xpu", "kunlun"},     {"mlu", "cambricon"},
                               {"musa", "moore"},  {"maca", "metax"},     {"dcu", "hygon"},
                               {"rocm", "hygon"},  {"corex", "iluvatar"}, {"host", "cpu"}};

}  // namespace

const Alias dtype_aliases[] = {{"int8", "i8"},       {"int16", "i16"},       {"int32", "i32"},
                               {"int64", "i64"},     {"uint8", "u8"},        {"uint16", "u16"},
                               {"uint32", "u32"},    {"uint64", "u64"},      {"float16", "f16"},
                               {"half", "f16"},      {"bfloat16", "bf16"},   {"float32", "f32"},
                               {"float", "f32"},     {"float64", "f64"},     {"double", "f64"},
                               {"complex64", "c64"}, {"complex128", "c128"}, {nullptr, nullptr}};

infiniDtype_t dtype_from_any_name(std::string_view name) {
  for (const Alias* each = dtype_aliases; each->alias != nullptr; ++each)
    if (name == each->alias) return dtype_from_name(each->name);
  return dtype_from_name(name);
}

const char* device_kind_of_platform(std::string_view platform) {
  for (const auto& [alias, name] : platforms)
    if (platform == alias) return name;
  return nullptr;
}

}  // namespace infini
