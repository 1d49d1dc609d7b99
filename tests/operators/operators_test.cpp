// Elementwise operators and casts through the C API, against a reference in double: every dtype, strides of every kind, in
// place, and the inputs that must be refused.
#include "tests/operators/operator_tensors.h"

namespace infini {
namespace {

using namespace operator_tests;

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
