// Tensors of any dtype and strides for the tests of operators through the C API, and what their numbers are held against.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/float_formats.h"
#include "harness/rearrange/random_problems.h"
#include "infiniop.h"
#include "infinirt.h"

namespace infini::operator_tests {

using harness::Random;

inline double load(const void* p, infiniDtype_t dtype) {
  const auto as = [&](auto zero) {
    std::memcpy(&zero, p, sizeof zero);
    return zero;
  };
  switch (dtype) {
    case INFINI_DTYPE_F16: return f32_from_f16(as(uint16_t{}));
    case INFINI_DTYPE_BF16: return f32_from_bf16(as(uint16_t{}));
    case INFINI_DTYPE_F32: return as(float{});
    case INFINI_DTYPE_F64: return as(double{});
    case INFINI_DTYPE_I32: return as(int32_t{});
    case INFINI_DTYPE_I64: return static_cast<double>(as(int64_t{}));
    case INFINI_DTYPE_U8: return as(uint8_t{});
    default: return as(int8_t{});
  }
}
inline void store(void* p, infiniDtype_t dtype, double value) {
  const auto as = [&](auto x) { std::memcpy(p, &x, sizeof x); };
  switch (dtype) {
    case INFINI_DTYPE_F16: return as(f16_from_f32(static_cast<float>(value)));
    case INFINI_DTYPE_BF16: return as(bf16_from_f32(static_cast<float>(value)));
    case INFINI_DTYPE_F32: return as(static_cast<float>(value));
    case INFINI_DTYPE_F64: return as(value);
    case INFINI_DTYPE_I32: return as(static_cast<int32_t>(value));
    case INFINI_DTYPE_I64: return as(static_cast<int64_t>(value));
    case INFINI_DTYPE_U8: return as(static_cast<uint8_t>(value));
    default: return as(static_cast<int8_t>(value));
  }
}
// Half of the distance of neighbouring numbers, relative.
inline double unit_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return 0x1p-11;
    case INFINI_DTYPE_BF16: return 0x1p-8;
    case INFINI_DTYPE_F32: return 0x1p-24;
    case INFINI_DTYPE_F64: return 0x1p-53;
    default: return 0;
  }
}
inline double least_of(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16 ? 0x1p-24 : 0x1p-125;
}

// The device under test: INFINI_TEST_DEVICE, the CPU without it.
inline infiniDevice_t device_kind() {
  static const infiniDevice_t kind = [] {
    const char* const name = std::getenv("INFINI_TEST_DEVICE");
    for (int i = 0; name != nullptr && i < INFINI_DEVICE_TYPE_COUNT; ++i)
      if (std::string(name) == device_kind_name(static_cast<infiniDevice_t>(i)))
        return static_cast<infiniDevice_t>(i);
    return INFINI_DEVICE_CPU;
  }();
  return kind;
}

// Memory of the device, with a copy of bytes of the host.
class OnDevice {
 public:
  OnDevice() = default;
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    if (p_ != nullptr) infinirtFree(p_);
  }
  char* push(const void* bytes, size_t count) {
    if (p_ == nullptr) {
      EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtMalloc(&p_, count));
    }
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtMemcpy(p_, bytes, count, INFINIRT_MEMCPY_H2D));
    return static_cast<char*>(p_);
  }
  void pull(void* bytes, size_t count) {
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtDeviceSynchronize());
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtMemcpy(bytes, p_, count, INFINIRT_MEMCPY_D2H));
  }

 private:
  void* p_ = nullptr;
};

// A tensor in memory of its own, with a canary around what its elements touch.
struct Tensor {
  infiniDtype_t dtype;
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;
  mutable std::vector<char> bytes;
  mutable OnDevice on_device;
  mutable bool pushed = false;
  int64_t base = 0;
  infiniopTensorDescriptor_t desc = nullptr;

  Tensor(infiniDtype_t type, std::vector<size_t> dims, std::vector<ptrdiff_t> steps = {})
      : dtype(type), shape(std::move(dims)), strides(std::move(steps)) {
    if (strides.empty()) {
      strides.resize(shape.size());
      ptrdiff_t step = 1;
      for (size_t i = shape.size(); i-- > 0; step *= static_cast<ptrdiff_t>(shape[i]))
        strides[i] = step;
    }
    int64_t low = 0, high = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t reach = (static_cast<int64_t>(std::max<size_t>(shape[i], 1)) - 1) * strides[i];
      (reach < 0 ? low : high) += reach;
    }
    base = (16 - low) * dtype_bytes(dtype);
    bytes.assign(static_cast<size_t>((high - low + 33) * dtype_bytes(dtype)), '\x5a');
    infiniopCreateTensorDescriptor(&desc, shape.size(), shape.data(), strides.data(), dtype);
  }
  Tensor(const Tensor&) = delete;
  ~Tensor() { infiniopDestroyTensorDescriptor(desc); }

  // Where the device finds the elements; what it writes there is fetched before it is looked at.
  void* data() {
    if (device_kind() == INFINI_DEVICE_CPU) return bytes.data() + base;
    pull();
    pushed = true;
    return on_device.push(bytes.data(), bytes.size()) + base;
  }
  void pull() const {
    if (!pushed) return;
    on_device.pull(bytes.data(), bytes.size());
    pushed = false;
  }
  int64_t count() const {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1},
                           [](int64_t a, size_t b) { return a * static_cast<int64_t>(b); });
  }
  int64_t offset(int64_t number) const {
    int64_t at = 0;
    for (size_t i = shape.size(); i-- > 0; number /= static_cast<int64_t>(shape[i]))
      at += number % static_cast<int64_t>(shape[i]) * strides[i];
    return base + at * dtype_bytes(dtype);
  }
  double get(int64_t number) const {
    pull();
    return load(bytes.data() + offset(number), dtype);
  }
  void set(int64_t number, double value) {
    pull();
    store(bytes.data() + offset(number), dtype, value);
  }
  void fill(Random& random, double low, double high) {
    for (int64_t i = 0; i < count(); ++i)
      set(i, low + (high - low) * static_cast<double>(random.between(0, 1 << 20)) / (1 << 20));
  }
  // Whether only the elements' bytes differ from the canary.
  bool keeps_its_gaps() const {
    pull();
    std::vector<bool> ours(bytes.size());
    for (int64_t i = 0; i < count(); ++i)
      for (int64_t k = 0; k < dtype_bytes(dtype); ++k)
        ours[static_cast<size_t>(offset(i) + k)] = true;
    for (size_t i = 0; i < bytes.size(); ++i)
      if (!ours[i] && bytes[i] != '\x5a') return false;
    return true;
  }
};

inline infiniopHandle_t handle() {
  static const infiniopHandle_t it = [] {
    infiniopHandle_t made = nullptr;
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infinirtSetDevice(device_kind(), 0))
        << infiniGetLastErrorString();
    EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateHandle(&made));
    return made;
  }();
  return it;
}

// Strides of a tensor with these dims: dense, padded, permuted, reversed.
inline std::vector<ptrdiff_t> random_strides(Random& random, const std::vector<size_t>& shape,
                                             bool last_dense = false) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t movable = order.size() - (last_dense && !order.empty() ? 1 : 0);
  for (size_t i = movable; i > 1; --i)
    std::swap(order[i - 1],
              order[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
  std::vector<ptrdiff_t> strides(shape.size());
  ptrdiff_t step = last_dense || random.one_in(2) ? 1 : random.between(2, 3);
  for (size_t i = order.size(); i-- > 0;) {
    const bool back = random.one_in(5) && !(last_dense && i + 1 == order.size());
    strides[order[i]] = back ? -step : step;
    step = step * static_cast<ptrdiff_t>(std::max<size_t>(shape[order[i]], 1)) +
           (random.one_in(3) ? random.between(1, 5) : 0);
  }
  return strides;
}

inline std::vector<size_t> random_shape(Random& random, int least = 0) {
  std::vector<size_t> shape;
  const int64_t rank = random.between(least, 4);
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(static_cast<size_t>(random.one_in(6) ? 1 : random.between(1, 13)));
  if (!shape.empty() && random.one_in(3))
    shape.back() = static_cast<size_t>(random.between(1, 1500));
  return shape;
}

constexpr infiniDtype_t floats[] = {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32,
                                    INFINI_DTYPE_F64};

// |got - want| within a rounding of the result and some of the arithmetic's own.
inline void expect_near(double got, double want, infiniDtype_t dtype, double roundings,
                        double scale, const std::string& what) {
  const double own = dtype == INFINI_DTYPE_F64 ? 0x1p-53 : 0x1p-24;
  const double bound = unit_of(dtype) * std::abs(want) + roundings * own * scale + least_of(dtype);
  if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << what;
  else
    ASSERT_LE(std::abs(got - want), bound) << what << ": got " << got << ", want " << want;
}

}  // namespace infini::operator_tests
