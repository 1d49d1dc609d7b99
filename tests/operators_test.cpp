// Elementwise and row operators through the C API, against a reference in double: every dtype, strides of every kind, in
// place, and the inputs that must be refused.
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
#include "harness/random_problems.h"
#include "infiniop.h"
#include "infinirt.h"

namespace infini {
namespace {

using harness::Random;

double load(const void* p, infiniDtype_t dtype) {
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
void store(void* p, infiniDtype_t dtype, double value) {
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
double unit_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F16: return 0x1p-11;
    case INFINI_DTYPE_BF16: return 0x1p-8;
    case INFINI_DTYPE_F32: return 0x1p-24;
    case INFINI_DTYPE_F64: return 0x1p-53;
    default: return 0;
  }
}
double least_of(infiniDtype_t dtype) { return dtype == INFINI_DTYPE_F16 ? 0x1p-24 : 0x1p-125; }

// The device under test: INFINI_TEST_DEVICE, the CPU without it.
infiniDevice_t device_kind() {
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

infiniopHandle_t handle() {
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
std::vector<ptrdiff_t> random_strides(Random& random, const std::vector<size_t>& shape,
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

std::vector<size_t> random_shape(Random& random, int least = 0) {
  std::vector<size_t> shape;
  const int64_t rank = random.between(least, 4);
  for (int64_t i = 0; i < rank; ++i)
    shape.push_back(static_cast<size_t>(random.one_in(6) ? 1 : random.between(1, 13)));
  if (!shape.empty() && random.one_in(3))
    shape.back() = static_cast<size_t>(random.between(1, 1500));
  return shape;
}

struct Elementwise {
  const char* name;
  bool integers;
  infiniStatus_t (*create)(infiniopHandle_t, InfiniopDescriptor**, Tensor&, Tensor&, Tensor*);
  infiniStatus_t (*run)(InfiniopDescriptor*, Tensor&, Tensor&, Tensor*);
  infiniStatus_t (*destroy)(InfiniopDescriptor*);
  std::function<double(double, double)> reference;
};

template <auto create, auto run, auto destroy>
Elementwise binary(const char* name, bool integers, std::function<double(double, double)> f) {
  return {name,
          integers,
          [](infiniopHandle_t h, InfiniopDescriptor** d, Tensor& c, Tensor& a, Tensor* b) {
            return create(h, d, c.desc, a.desc, b->desc);
          },
          [](InfiniopDescriptor* d, Tensor& c, Tensor& a, Tensor* b) {
            return run(d, nullptr, 0, c.data(), a.data(), b->data(), nullptr);
          },
          destroy,
          std::move(f)};
}
template <auto create, auto run, auto destroy>
Elementwise unary(const char* name, std::function<double(double, double)> f) {
  return {name,
          false,
          [](infiniopHandle_t h, InfiniopDescriptor** d, Tensor& c, Tensor& a, Tensor*) {
            return create(h, d, c.desc, a.desc);
          },
          [](InfiniopDescriptor* d, Tensor& c, Tensor& a, Tensor*) {
            return run(d, nullptr, 0, c.data(), a.data(), nullptr);
          },
          destroy,
          std::move(f)};
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<Elementwise> elementwise() {
  return {
      binary<infiniopCreateAddDescriptor, infiniopAdd, infiniopDestroyAddDescriptor>(
          "add", true, [](double a, double b) { return a + b; }),
      binary<infiniopCreateSubDescriptor, infiniopSub, infiniopDestroySubDescriptor>(
          "sub", true, [](double a, double b) { return a - b; }),
      binary<infiniopCreateMulDescriptor, infiniopMul, infiniopDestroyMulDescriptor>(
          "mul", true, [](double a, double b) { return a * b; }),
      binary<infiniopCreateSwiGLUDescriptor, infiniopSwiGLU, infiniopDestroySwiGLUDescriptor>(
          "swiglu", false, [](double a, double b) { return a * b * logistic(b); }),
      unary<infiniopCreateSiluDescriptor, infiniopSilu, infiniopDestroySiluDescriptor>(
          "silu", [](double a, double) { return a * logistic(a); }),
      unary<infiniopCreateGeluDescriptor, infiniopGelu, infiniopDestroyGeluDescriptor>(
          "gelu", [](double a, double) { return 0.5 * a * std::erfc(-a / std::sqrt(2.0)); }),
      unary<infiniopCreateReluDescriptor, infiniopRelu, infiniopDestroyReluDescriptor>(
          "relu", [](double a, double) { return a < 0 ? 0 : a; }),
      unary<infiniopCreateSigmoidDescriptor, infiniopSigmoid, infiniopDestroySigmoidDescriptor>(
          "sigmoid", [](double a, double) { return logistic(a); }),
  };
}

constexpr infiniDtype_t floats[] = {INFINI_DTYPE_F16, INFINI_DTYPE_BF16, INFINI_DTYPE_F32,
                                    INFINI_DTYPE_F64};

// |got - want| within a rounding of the result and some of the arithmetic's own.
void expect_near(double got, double want, infiniDtype_t dtype, double roundings, double scale,
                 const std::string& what) {
  const double own = dtype == INFINI_DTYPE_F64 ? 0x1p-53 : 0x1p-24;
  const double bound = unit_of(dtype) * std::abs(want) + roundings * own * scale + least_of(dtype);
  if (std::isnan(want))
    ASSERT_TRUE(std::isnan(got)) << what;
  else
    ASSERT_LE(std::abs(got - want), bound) << what << ": got " << got << ", want " << want;
}

TEST(Operators, ElementwiseAgreesWithDouble) {
  Random random(11);
  for (const auto& op : elementwise())
    for (int round = 0; round < 120; ++round) {
      const bool integer = op.integers && random.one_in(4);
      const infiniDtype_t dtype = integer ? (random.one_in(2) ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64)
                                          : floats[random.between(0, 3)];
      const auto shape = random_shape(random);
      Tensor c(dtype, shape, random_strides(random, shape));
      auto b_shape = shape;
      for (auto& extent : b_shape)
        if (random.one_in(4)) extent = 1;  // repeated
      if (!b_shape.empty() && random.one_in(4)) b_shape.erase(b_shape.begin());
      Tensor a(dtype, shape, random_strides(random, shape)),
          b(dtype, b_shape, random_strides(random, b_shape));
      a.fill(random, integer ? -1000 : -9, integer ? 1000 : 9);
      b.fill(random, integer ? -1000 : -9, integer ? 1000 : 9);
      InfiniopDescriptor* desc = nullptr;
      ASSERT_EQ(INFINI_STATUS_SUCCESS, op.create(handle(), &desc, c, a, &b))
          << infiniGetLastErrorString();
      ASSERT_EQ(INFINI_STATUS_SUCCESS, op.run(desc, c, a, &b)) << infiniGetLastErrorString();
      ASSERT_EQ(INFINI_STATUS_SUCCESS, op.destroy(desc));
      for (int64_t i = 0; i < c.count(); ++i) {
        int64_t rest = i, number = 0, scale = 1;  // b's element of c's index
        for (size_t d = shape.size(); d-- > 0; rest /= static_cast<int64_t>(shape[d])) {
          const size_t missing = shape.size() - b_shape.size();
          if (d < missing) continue;
          const auto extent = static_cast<int64_t>(b_shape[d - missing]);
          number += (extent == 1 ? 0 : rest % static_cast<int64_t>(shape[d])) * scale;
          scale *= extent;
        }
        const double x = a.get(i), y = b.get(number), want = op.reference(x, y);
        if (integer)
          ASSERT_EQ(c.get(i), want) << op.name;
        else
          // An exponent's rounding counts as often as it is large (gelu: x² / 2).
          expect_near(c.get(i), want, dtype, 8 + 3 * x * x + std::abs(y), std::abs(want), op.name);
      }
      ASSERT_TRUE(c.keeps_its_gaps()) << op.name;
    }
}

TEST(Operators, LongRowsAreSharedByThreads) {
  Random random(5);
  Tensor a(INFINI_DTYPE_BF16, {3, 300001}), b(INFINI_DTYPE_BF16, {3, 300001}),
      c(INFINI_DTYPE_BF16, {3, 300001}, {300007, 1});
  a.fill(random, -3, 3);
  b.fill(random, -3, 3);
  infiniopAddDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateAddDescriptor(handle(), &desc, c.desc, a.desc, b.desc));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopAdd(desc, nullptr, 0, c.data(), a.data(), b.data(), nullptr));
  for (int64_t i = 0; i < c.count(); ++i)
    expect_near(c.get(i), a.get(i) + b.get(i), INFINI_DTYPE_BF16, 1, 6, "add");
  EXPECT_TRUE(c.keeps_its_gaps());
  infiniopDestroyAddDescriptor(desc);
}

TEST(Operators, MayWorkInPlaceAndNotAcross) {
  Tensor x(INFINI_DTYPE_F32, {4, 6}), y(INFINI_DTYPE_F32, {4, 6});
  Random random(3);
  x.fill(random, -2, 2);
  y.fill(random, -2, 2);
  const std::vector<char> before = x.bytes;
  infiniopAddDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateAddDescriptor(handle(), &desc, x.desc, x.desc, y.desc));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopAdd(desc, nullptr, 0, x.data(), x.data(), y.data(), nullptr));
  for (int64_t i = 0; i < x.count(); ++i)
    EXPECT_EQ(x.get(i), static_cast<float>(load(before.data() + x.offset(i), x.dtype) + y.get(i)));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopAdd(desc, nullptr, 0, static_cast<float*>(x.data()) + 1, x.data(), y.data(),
                        nullptr));
  EXPECT_NE(std::string(infiniGetLastErrorString()).find("shares memory"), std::string::npos);
  // A descriptor of another function is told apart.
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopMul(desc, nullptr, 0, y.data(), x.data(), x.data(), nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopDestroyMulDescriptor(desc));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopDestroyAddDescriptor(desc));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopDestroyAddDescriptor(nullptr));
}

TEST(Operators, SwiGLUOfTwoHalvesOfOneBuffer) {
  Random random(17);
  Tensor buffer(INFINI_DTYPE_F16, {5, 64});
  buffer.fill(random, -4, 4);
  const std::vector<char> before = buffer.bytes;
  Tensor half(INFINI_DTYPE_F16, {5, 32}, {64, 1});
  auto* up = static_cast<uint16_t*>(buffer.data());
  infiniopSwiGLUDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateSwiGLUDescriptor(handle(), &desc, half.desc, half.desc, half.desc));
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopSwiGLU(desc, nullptr, 0, up, up, up + 32, nullptr))
      << infiniGetLastErrorString();
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t i = 0; i < 32; ++i) {
      const double a = load(before.data() + buffer.offset(row * 64 + i), INFINI_DTYPE_F16),
                   b = load(before.data() + buffer.offset(row * 64 + 32 + i), INFINI_DTYPE_F16);
      expect_near(buffer.get(row * 64 + i), a * b * logistic(b), INFINI_DTYPE_F16, 8, 16, "swiglu");
      ASSERT_EQ(buffer.get(row * 64 + 32 + i), b);
    }
  infiniopDestroySwiGLUDescriptor(desc);
}

TEST(Operators, RMSNormAgreesWithDouble) {
  Random random(21);
  for (int round = 0; round < 150; ++round) {
    const infiniDtype_t dtype = floats[random.between(0, 3)];
    const bool narrow = dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16;
    const auto shape = random_shape(random, 1);
    Tensor y(dtype, shape, random_strides(random, shape)),
        x(dtype, shape, random_strides(random, shape)),
        w(narrow ? floats[random.between(0, 2)] : dtype, {shape.back()});
    x.fill(random, -5, 5);
    w.fill(random, -2, 2);
    infiniopRMSNormDescriptor_t desc = nullptr;
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCreateRMSNormDescriptor(handle(), &desc, y.desc, x.desc, w.desc, 1e-5f))
        << infiniGetLastErrorString();
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopRMSNorm(desc, nullptr, 0, y.data(), x.data(), w.data(), nullptr));
    infiniopDestroyRMSNormDescriptor(desc);
    const auto d = static_cast<int64_t>(shape.back());
    for (int64_t row = 0; row < x.count() / d; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < d; ++i) sum += x.get(row * d + i) * x.get(row * d + i);
      const double factor = 1 / std::sqrt(sum / static_cast<double>(d) + 1e-5f);
      for (int64_t i = 0; i < d; ++i) {
        const double want = x.get(row * d + i) * w.get(i) * factor;
        // A sum of d squares by lanes of blocks: its relative error counts half.
        expect_near(y.get(row * d + i), want, dtype, 40, std::abs(want), "rms_norm");
      }
    }
    ASSERT_TRUE(y.keeps_its_gaps());
  }
}

TEST(Operators, CausalSoftmaxAgreesWithDouble) {
  Random random(31);
  for (int round = 0; round < 150; ++round) {
    const infiniDtype_t dtype = floats[random.between(0, 3)];
    auto shape = random_shape(random, 2);
    const size_t rank = shape.size();
    if (shape[rank - 1] < shape[rank - 2]) std::swap(shape[rank - 1], shape[rank - 2]);
    Tensor y(dtype, shape, random_strides(random, shape)),
        x(dtype, shape, random_strides(random, shape));
    x.fill(random, -20, 20);
    infiniopCausalSoftmaxDescriptor_t desc = nullptr;
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCreateCausalSoftmaxDescriptor(handle(), &desc, y.desc, x.desc))
        << infiniGetLastErrorString();
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCausalSoftmax(desc, nullptr, 0, y.data(), x.data(), nullptr));
    infiniopDestroyCausalSoftmaxDescriptor(desc);
    const auto columns = static_cast<int64_t>(shape[rank - 1]),
               rows = static_cast<int64_t>(shape[rank - 2]);
    for (int64_t row = 0; row < x.count() / columns; ++row) {
      const int64_t seen = columns - rows + row % rows + 1;
      double most = -INFINITY, sum = 0;
      for (int64_t i = 0; i < seen; ++i) most = std::max(most, x.get(row * columns + i));
      for (int64_t i = 0; i < seen; ++i) sum += std::exp(x.get(row * columns + i) - most);
      for (int64_t i = 0; i < columns; ++i) {
        const double want = i < seen ? std::exp(x.get(row * columns + i) - most) / sum : 0;
        if (i >= seen)
          ASSERT_EQ(y.get(row * columns + i), 0.0);
        else  // the difference of logits up to 40 apart is rounded before it is an exponent
          expect_near(y.get(row * columns + i), want, dtype, 60, want, "causal_softmax");
      }
    }
    ASSERT_TRUE(y.keeps_its_gaps());
  }
}

TEST(Operators, RoPEAgreesWithDouble) {
  Random random(41);
  for (int round = 0; round < 120; ++round) {
    const infiniDtype_t dtype = floats[random.between(0, 3)];
    const bool neox = random.one_in(2), batched = random.one_in(2);
    const auto half = static_cast<size_t>(random.between(1, 40)),
               s = static_cast<size_t>(random.between(1, 7)),
               h = static_cast<size_t>(random.between(1, 4)),
               b = static_cast<size_t>(random.between(1, 3));
    std::vector<size_t> shape = {s, h, 2 * half}, positions_shape = {s};
    if (batched) shape.insert(shape.begin(), b);
    if (batched && random.one_in(2)) positions_shape = {b, s};
    Tensor y(dtype, shape, random_strides(random, shape)),
        x(dtype, shape, random_strides(random, shape)),
        positions(random.one_in(2) ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64, positions_shape),
        sin(dtype, {50, half}), cos(dtype, {50, half});
    x.fill(random, -3, 3);
    for (int64_t i = 0; i < positions.count(); ++i)
      positions.set(i, static_cast<double>(random.between(0, 49)));
    for (int64_t i = 0; i < sin.count(); ++i) {
      sin.set(i, std::sin(static_cast<double>(i)));
      cos.set(i, std::cos(static_cast<double>(i)));
    }
    const bool in_place = random.one_in(3);
    infiniopRoPEDescriptor_t desc = nullptr;
    const std::vector<char> before = x.bytes;
    Tensor& to = in_place ? x : y;
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCreateRoPEDescriptor(
                  handle(), &desc, to.desc, x.desc, positions.desc, sin.desc, cos.desc,
                  neox ? INFINIOP_ROPE_ALGO_GPT_NEOX : INFINIOP_ROPE_ALGO_GPT_J))
        << infiniGetLastErrorString();
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopRoPE(desc, nullptr, 0, to.data(), x.data(), positions.data(), sin.data(),
                           cos.data(), nullptr))
        << infiniGetLastErrorString();
    infiniopDestroyRoPEDescriptor(desc);
    const auto d = static_cast<int64_t>(2 * half);
    for (int64_t row = 0; row < x.count() / d; ++row) {
      const int64_t token = row / static_cast<int64_t>(h);
      const auto position = static_cast<int64_t>(
          positions.get(positions_shape.size() == 2 ? token : token % static_cast<int64_t>(s)));
      for (int64_t i = 0; i < static_cast<int64_t>(half); ++i) {
        const int64_t p = row * d + (neox ? i : 2 * i),
                      q = neox ? p + static_cast<int64_t>(half) : p + 1;
        const double a = load(before.data() + x.offset(p), dtype),
                     c = load(before.data() + x.offset(q), dtype);
        const double sn = sin.get(position * static_cast<int64_t>(half) + i),
                     cs = cos.get(position * static_cast<int64_t>(half) + i);
        expect_near(to.get(p), a * cs - c * sn, dtype, 4, std::abs(a) + std::abs(c), "rope");
        expect_near(to.get(q), a * sn + c * cs, dtype, 4, std::abs(a) + std::abs(c), "rope");
      }
    }
    ASSERT_TRUE(to.keeps_its_gaps());
  }
}

TEST(Operators, RoPEBeyondTheTablesGivesNaN) {
  Tensor x(INFINI_DTYPE_F32, {2, 1, 4}), positions(INFINI_DTYPE_I32, {2}),
      table(INFINI_DTYPE_F32, {3, 2});
  Random random(1);
  x.fill(random, 1, 2);
  table.fill(random, 0, 1);
  positions.set(0, 3);
  positions.set(1, -1);
  infiniopRoPEDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateRoPEDescriptor(handle(), &desc, x.desc, x.desc, positions.desc,
                                         table.desc, table.desc, INFINIOP_ROPE_ALGO_GPT_J));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopRoPE(desc, nullptr, 0, x.data(), x.data(), positions.data(), table.data(),
                         table.data(), nullptr));
  for (int64_t i = 0; i < x.count(); ++i) EXPECT_TRUE(std::isnan(x.get(i)));
  infiniopDestroyRoPEDescriptor(desc);
}

int64_t reference_sample(const std::vector<double>& logits, double random_val, double topp,
                         int topk, double temperature) {
  const auto count = static_cast<int64_t>(logits.size());
  if (random_val == 0 || topp == 0 || temperature == 0 || topk == 1)
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  std::vector<double> sums;
  double sum = 0;
  for (const int64_t i : order)
    sums.push_back(
        sum += std::exp((logits[static_cast<size_t>(i)] - logits[static_cast<size_t>(order[0])]) /
                        temperature));
  const int64_t kept = topk <= 0 ? count : std::min<int64_t>(topk, count);
  const double wanted = random_val * std::min(sums[static_cast<size_t>(kept - 1)], sum * topp);
  int64_t i = 0;
  while (i + 1 < kept && sums[static_cast<size_t>(i)] < wanted) ++i;
  return order[static_cast<size_t>(i)];
}

TEST(Operators, RandomSampleAgreesWithSorting) {
  Random random(51);
  for (int round = 0; round < 200; ++round) {
    const infiniDtype_t dtype = floats[random.between(0, 3)];
    const auto n =
        static_cast<size_t>(random.one_in(4) ? random.between(1, 5000) : random.between(1, 40));
    Tensor logits(dtype, {n}), result(random.one_in(2) ? INFINI_DTYPE_I32 : INFINI_DTYPE_I64, {});
    logits.fill(random, -8, 8);
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i) values.push_back(logits.get(static_cast<int64_t>(i)));
    const float random_val = static_cast<float>(random.between(0, 100)) / 100,
                topp = static_cast<float>(random.between(0, 10)) / 10,
                temperature = static_cast<float>(random.between(0, 20)) / 10;
    const int topk = static_cast<int>(random.between(0, 60));
    infiniopRandomSampleDescriptor_t desc = nullptr;
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCreateRandomSampleDescriptor(handle(), &desc, result.desc, logits.desc));
    size_t size = 0;
    ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopGetRandomSampleWorkspaceSize(desc, &size));
    void* workspace = nullptr;
    ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtMalloc(&workspace, size));
    ASSERT_EQ(INFINI_STATUS_SUCCESS,
              infiniopRandomSample(desc, workspace, size, result.data(), logits.data(), random_val,
                                   topp, topk, temperature, nullptr));
    EXPECT_EQ(result.get(0), reference_sample(values, random_val, topp, topk, temperature))
        << "n " << n << " random " << random_val << " topp " << topp << " topk " << topk << " T "
        << temperature;
    if (size > 0) {
      EXPECT_EQ(INFINI_STATUS_INSUFFICIENT_WORKSPACE,
                infiniopRandomSample(desc, workspace, size - 1, result.data(), logits.data(), 0, 0,
                                     1, 0, nullptr));
    }
    infinirtFree(workspace);
    infiniopDestroyRandomSampleDescriptor(desc);
  }
}

TEST(Operators, RandomSampleOfABatch) {
  Tensor logits(INFINI_DTYPE_F32, {3, 5}, {8, 1}), result(INFINI_DTYPE_I32, {3});
  Random random(6);
  logits.fill(random, -1, 1);
  infiniopRandomSampleDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateRandomSampleBatchDescriptor(handle(), &desc, result.desc, logits.desc));
  size_t size = 0;
  infiniopGetRandomSampleWorkspaceSize(desc, &size);
  void* workspace = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtMalloc(&workspace, size));
  const float random_val[] = {0.5f, 0, 0.9f}, topp[] = {1, 1, 0.8f}, temperature[] = {1, 1, 0.5f};
  const int topk[] = {5, 5, 3};
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopRandomSampleBatch(desc, workspace, size, result.data(), logits.data(),
                                      random_val, topp, topk, temperature, 3, nullptr));
  for (int row = 0; row < 3; ++row) {
    std::vector<double> values;
    for (int64_t i = 0; i < 5; ++i) values.push_back(logits.get(row * 5 + i));
    EXPECT_EQ(result.get(row),
              reference_sample(values, random_val[row], topp[row], topk[row], temperature[row]));
  }
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRandomSampleBatch(desc, workspace, size, result.data(), logits.data(),
                                      random_val, topp, topk, temperature, 2, nullptr));
  infinirtFree(workspace);
  infiniopDestroyRandomSampleDescriptor(desc);
}

// One cast of many elements at once.
template <class From, class To>
std::vector<To> cast(const std::vector<From>& values, infiniDtype_t from, infiniDtype_t to) {
  std::vector<To> out(values.size());
  const size_t shape[] = {values.size()};
  infiniopTensorDescriptor_t x = nullptr, y = nullptr;
  infiniopCreateTensorDescriptor(&x, 1, shape, nullptr, from);
  infiniopCreateTensorDescriptor(&y, 1, shape, nullptr, to);
  infiniopCastDescriptor_t desc = nullptr;
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateCastDescriptor(handle(), &desc, y, x));
  OnDevice output, input;
  char* const there = output.push(out.data(), out.size() * sizeof(To));
  EXPECT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCast(desc, nullptr, 0, there,
                         input.push(values.data(), values.size() * sizeof(From)), nullptr));
  output.pull(out.data(), out.size() * sizeof(To));
  infiniopDestroyCastDescriptor(desc);
  infiniopDestroyTensorDescriptor(x);
  infiniopDestroyTensorDescriptor(y);
  return out;
}

TEST(Operators, CastOfEvery16BitNumber) {
  std::vector<uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), uint16_t{0});
  for (const infiniDtype_t dtype : {INFINI_DTYPE_F16, INFINI_DTYPE_BF16}) {
    const auto wide = [&](uint16_t bits) {
      return dtype == INFINI_DTYPE_F16 ? f32_from_f16(bits) : f32_from_bf16(bits);
    };
    const auto singles = cast<uint16_t, float>(all, dtype, INFINI_DTYPE_F32);
    const auto doubles = cast<uint16_t, double>(all, dtype, INFINI_DTYPE_F64);
    const auto bytes = cast<uint16_t, int8_t>(all, dtype, INFINI_DTYPE_I8);
    const auto words = cast<uint16_t, uint64_t>(all, dtype, INFINI_DTYPE_U64);
    const auto truths = cast<uint16_t, uint8_t>(all, dtype, INFINI_DTYPE_BOOL);
    for (size_t i = 0; i < all.size(); ++i) {
      const float x = wide(all[i]);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(singles[i]) && std::isnan(doubles[i]));
        ASSERT_TRUE(bytes[i] == 0 && words[i] == 0 && truths[i] == 1);
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(singles[i]), std::bit_cast<uint32_t>(x));
      ASSERT_EQ(doubles[i], x);
      ASSERT_EQ(bytes[i], std::clamp(std::nearbyint(x), -128.0f, 127.0f));
      const double rounded = std::nearbyint(static_cast<double>(x));
      ASSERT_EQ(words[i], rounded <= 0        ? 0
                          : rounded >= 0x1p64 ? UINT64_MAX
                                              : static_cast<uint64_t>(rounded));
      ASSERT_EQ(truths[i], x != 0);
    }
    // Back again, every bit but those of NaN.
    const auto back = cast<float, uint16_t>(singles, INFINI_DTYPE_F32, dtype);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!std::isnan(singles[i])) {
        ASSERT_EQ(back[i], all[i]);
      }
    }
  }
}

TEST(Operators, CastRoundsOnce) {
  // Just above the middle of two f16, by less than an f32 can say: rounded twice it would go down.
  const double middle = 1 + 0x1p-11, above = middle + 0x1p-40;
  EXPECT_EQ((cast<double, uint16_t>({middle, above, -above}, INFINI_DTYPE_F64, INFINI_DTYPE_F16)),
            (std::vector<uint16_t>{0x3c00, 0x3c01, 0xbc01}));
  // 2^53 + 1 has no double; its nearest bf16 is 2^53. 2^40 + 2^32 lies in the middle, one more does not.
  const int64_t base = int64_t{1} << 40, tie = base + (int64_t{1} << 32);
  const auto got =
      cast<int64_t, uint16_t>({base, tie, tie + 1}, INFINI_DTYPE_I64, INFINI_DTYPE_BF16);
  EXPECT_EQ(f32_from_bf16(got[0]), 0x1p40f);
  EXPECT_EQ(f32_from_bf16(got[1]), 0x1p40f);
  EXPECT_GT(f32_from_bf16(got[2]), 0x1p40f);
  EXPECT_EQ((cast<double, int32_t>({0.5, 1.5, 2.5, -0.5, 1e300, -1e300, NAN}, INFINI_DTYPE_F64,
                                   INFINI_DTYPE_I32)),
            (std::vector<int32_t>{0, 2, 2, 0, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ((cast<int64_t, uint8_t>({-1, 255, 256, INT64_MAX}, INFINI_DTYPE_I64, INFINI_DTYPE_U8)),
            (std::vector<uint8_t>{0, 255, 255, 255}));
  EXPECT_EQ((cast<float, int64_t>({9.3e18f, -9.3e18f}, INFINI_DTYPE_F32, INFINI_DTYPE_I64)),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
}

TEST(Operators, ExtremesOfTheExponential) {
  const float inf = INFINITY;
  std::vector<float> x = {inf, -inf, NAN, 0, 100, -100, 88.7f, -87.3f, -89, 1e-30f};
  std::vector<float> y(x.size());
  const size_t shape[] = {x.size()};
  infiniopTensorDescriptor_t t = nullptr;
  infiniopCreateTensorDescriptor(&t, 1, shape, nullptr, INFINI_DTYPE_F32);
  infiniopSigmoidDescriptor_t desc = nullptr;
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopCreateSigmoidDescriptor(handle(), &desc, t, t));
  OnDevice to, from;
  char* const there = to.push(y.data(), y.size() * sizeof(float));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopSigmoid(desc, nullptr, 0, there, from.push(x.data(), x.size() * sizeof(float)),
                            nullptr));
  to.pull(y.data(), y.size() * sizeof(float));
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0.5f);
  EXPECT_EQ(y[4], 1);
  EXPECT_NEAR(y[5], 0, 1e-37);
  infiniopDestroySigmoidDescriptor(desc);
  infiniopDestroyTensorDescriptor(t);
}

TEST(Operators, RefuseWhatTheyCannotDo) {
  Tensor f(INFINI_DTYPE_F32, {2, 3}), h(INFINI_DTYPE_F16, {2, 3}), i(INFINI_DTYPE_I32, {2, 3}),
      wide(INFINI_DTYPE_F32, {3, 2}), self(INFINI_DTYPE_F32, {2, 3}, {1, 1}),
      row(INFINI_DTYPE_F32, {3}), scalar(INFINI_DTYPE_F32, {});
  InfiniopDescriptor* desc = reinterpret_cast<InfiniopDescriptor*>(1);
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniopCreateAddDescriptor(handle(), &desc, f.desc, h.desc, f.desc));
  EXPECT_EQ(desc, nullptr);
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniopCreateSiluDescriptor(handle(), &desc, i.desc, i.desc));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateAddDescriptor(handle(), &desc, f.desc, wide.desc, f.desc));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES,
            infiniopCreateAddDescriptor(handle(), &desc, self.desc, f.desc, f.desc));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateRMSNormDescriptor(handle(), &desc, f.desc, f.desc, scalar.desc, 0));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateCausalSoftmaxDescriptor(handle(), &desc, wide.desc, wide.desc));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateCausalSoftmaxDescriptor(handle(), &desc, row.desc, row.desc));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE,
            infiniopCreateRandomSampleDescriptor(handle(), &desc, scalar.desc, row.desc));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateAddDescriptor(handle(), nullptr, f.desc, f.desc, f.desc));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateAddDescriptor(handle(), &desc, f.desc, nullptr, f.desc));
  EXPECT_EQ(INFINI_STATUS_NOT_IMPLEMENTED,
            infiniopCreateTopkrouterDescriptor(handle(), &desc, f.desc, f.desc));
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateAddDescriptor(handle(), &desc, f.desc, f.desc, row.desc));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopAdd(desc, nullptr, 0, f.data(), nullptr, row.data(), nullptr));
  infiniopDestroyAddDescriptor(desc);
  Tensor none(INFINI_DTYPE_F32, {0, 5});
  ASSERT_EQ(INFINI_STATUS_SUCCESS,
            infiniopCreateSiluDescriptor(handle(), &desc, none.desc, none.desc));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, infiniopSilu(desc, nullptr, 0, nullptr, nullptr, nullptr));
  infiniopDestroySiluDescriptor(desc);
}

// Before anything else: tensors of the fixture-less tests are made before the handle is.
class Device : public testing::Environment {
  void SetUp() override {
    int count = 0;
    infinirtGetDeviceCount(device_kind(), &count);
    if (count == 0 && std::getenv("INFINI_TEST_DEVICE_REQUIRED") == nullptr)
      GTEST_SKIP() << "no such device";
    ASSERT_GT(count, 0);
    ASSERT_EQ(INFINI_STATUS_SUCCESS, infinirtSetDevice(device_kind(), 0));
  }
};
[[maybe_unused]] const auto* const environment_of_tests =
    testing::AddGlobalTestEnvironment(new Device);

}  // namespace
}  // namespace infini
