// Elements of any strides as short arrays, and integers.
#include "backends/cpu/operators/rows.h"

#include <algorithm>
#include <cstring>

namespace infini::cpu {
namespace {

template <class Element>
void gather(Element* out, const char* p, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i, p += step) std::memcpy(out + i, p, sizeof(Element));
}
template <class Element>
void scatter(char* p, int64_t step, const Element* in, int64_t count) {
  for (int64_t i = 0; i < count; ++i, p += step) std::memcpy(p, in + i, sizeof(Element));
}

template <class T>
int64_t load_as(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return static_cast<int64_t>(value);
}
template <class T>
void store_as(char* p, int64_t value) {
  const auto narrow = static_cast<T>(value);
  std::memcpy(p, &narrow, sizeof narrow);
}

}  // namespace

const void* Source::fetch(const char* p, int64_t count) {
  if (lies_together()) return p;
  const int64_t apart = step_ == 0 ? 1 : count;  // what is repeated is fetched once
  const auto all = [&]<class Element>(Element* buffer) {
    gather(buffer, p, step_, apart);
    if (apart < count) std::fill(buffer + 1, buffer + count, buffer[0]);
  };
  bytes_ == 2 ? all(reinterpret_cast<uint16_t*>(buffer_))
              : all(reinterpret_cast<uint32_t*>(buffer_));
  return buffer_;
}

void Target::put(char* p, int64_t count) {
  if (lies_together()) return;
  if (bytes_ == 2)
    scatter(p, step_, reinterpret_cast<const uint16_t*>(buffer_), count);
  else
    scatter(p, step_, reinterpret_cast<const uint32_t*>(buffer_), count);
}

int64_t load_integer(const char* p, infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_I8: return load_as<int8_t>(p);
    case INFINI_DTYPE_I16: return load_as<int16_t>(p);
    case INFINI_DTYPE_I32: return load_as<int32_t>(p);
    case INFINI_DTYPE_U8: return load_as<uint8_t>(p);
    case INFINI_DTYPE_U16: return load_as<uint16_t>(p);
    case INFINI_DTYPE_U32: return load_as<uint32_t>(p);
    default: return load_as<int64_t>(p);
  }
}

void store_integer(char* p, infiniDtype_t dtype, int64_t value) {
  switch (dtype) {
    case INFINI_DTYPE_I8:
    case INFINI_DTYPE_U8: return store_as<uint8_t>(p, value);
    case INFINI_DTYPE_I16:
    case INFINI_DTYPE_U16: return store_as<uint16_t>(p, value);
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32: return store_as<uint32_t>(p, value);
    default: return store_as<int64_t>(p, value);
  }
}

}  // namespace infini::cpu
