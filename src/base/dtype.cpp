// The table of element types.
#include "base/dtype.h"

namespace infini {
namespace {

struct Row {
  const char* name;
  int64_t bytes;
};

// Indexed by infiniDtype_t.
constexpr Row rows[dtype_count] = {
    {"invalid", 0}, {"byte", 1}, {"bool", 1}, {"i8", 1},  {"i16", 2},   {"i32", 4}, {"i64", 8},
    {"u8", 1},      {"u16", 2},  {"u32", 4},  {"u64", 8}, {"f8", 1},    {"f16", 2}, {"f32", 4},
    {"f64", 8},     {"c16", 2},  {"c32", 4},  {"c64", 8}, {"c128", 16}, {"bf16", 2}};

bool in_table(infiniDtype_t dtype) {
  return static_cast<int>(dtype) >= 0 && static_cast<int>(dtype) < dtype_count;
}

}  // namespace

int64_t dtype_bytes(infiniDtype_t dtype) { return in_table(dtype) ? rows[dtype].bytes : 0; }

const char* dtype_name(infiniDtype_t dtype) {
  return in_table(dtype) ? rows[dtype].name : rows[0].name;
}

infiniDtype_t dtype_from_name(std::string_view name) {
  for (int i = 1; i < dtype_count; ++i)
    if (name == rows[i].name) return static_cast<infiniDtype_t>(i);
  return INFINI_DTYPE_INVALID;
}

}  // namespace infini
