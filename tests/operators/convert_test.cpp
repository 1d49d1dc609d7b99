// Convert through the C API against its definition: every number of 8 and 16 bits, ties, layouts of every kind, what is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include "backends/cpu/rearrange/schedule.h"
#include "base/device_kind.h"
#include "harness/operators/convert_formats.h"
#include "infiniop.h"
#include "infinirt.h"

namespace infini::test {
namespace {

using namespace harness;

constexpr auto fine = INFINI_STATUS_SUCCESS;

// The device under test: INFINI_TEST_DEVICE, the CPU without it.
infiniDevice_t device_kind() {
  const char* const name = std::getenv("INFINI_TEST_DEVICE");
  for (int i = 0; name != nullptr && i < INFINI_DEVICE_TYPE_COUNT; ++i)
    if (std::string(name) == device_kind_name(static_cast<infiniDevice_t>(i)))
      return static_cast<infiniDevice_t>(i);
  return INFINI_DEVICE_CPU;
}

class Convert : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    infinirtGetDeviceCount(device_kind(), &count);
    ASSERT_TRUE(count > 0 || std::getenv("INFINI_TEST_DEVICE_REQUIRED") == nullptr)
        << "no " << device_kind_name(device_kind());
    if (count == 0) GTEST_SKIP() << "no " << device_kind_name(device_kind());
    ASSERT_EQ(fine, infinirtSetDevice(device_kind(), 0));
    ASSERT_EQ(fine, infiniopCreateHandle(&handle));
  }
  void TearDown() override { infiniopDestroyHandle(handle); }
  infiniopHandle_t handle = nullptr;
};

// Bytes in memory of the device.
struct Memory {
  explicit Memory(const std::vector<char>& host) : bytes(host.size()) {
    EXPECT_EQ(fine, infinirtMalloc(&p, std::max<size_t>(bytes, 1)));
    EXPECT_EQ(fine, infinirtMemcpy(p, host.data(), bytes, INFINIRT_MEMCPY_H2D));
  }
  Memory(const Memory&) = delete;
  ~Memory() { infinirtFree(p); }
  std::vector<char> host() const {
    std::vector<char> out(bytes);
    EXPECT_EQ(fine, infinirtDeviceSynchronize());
    EXPECT_EQ(fine, infinirtMemcpy(out.data(), p, bytes, INFINIRT_MEMCPY_D2H));
    return out;
  }
  size_t bytes;
  void* p = nullptr;
};

// The bytes that a run asks for.
struct Workspace {
  explicit Workspace(infiniopConvertDescriptor_t desc) {
    EXPECT_EQ(fine, infiniopGetConvertWorkspaceSize(desc, &bytes));
    EXPECT_EQ(fine, infinirtMalloc(&p, std::max<size_t>(bytes, 1)));
  }
  Workspace(const Workspace&) = delete;
  ~Workspace() { infinirtFree(p); }
  size_t bytes = 0;
  void* p = nullptr;
};

struct Desc {
  Desc(infiniDtype_t dtype, const std::vector<size_t>& shape,
       const std::vector<ptrdiff_t>& strides = {}) {
    EXPECT_EQ(fine,
              infiniopCreateTensorDescriptor(&t, shape.size(), shape.data(),
                                             strides.empty() ? nullptr : strides.data(), dtype));
  }
  Desc(const Desc&) = delete;
  ~Desc() { infiniopDestroyTensorDescriptor(t); }
  infiniopTensorDescriptor_t t = nullptr;
};

infiniopConvertOptions_t options_for(const FormatFacts& y, const FormatFacts& x, bool saturates,
                                     double scale = 1, double shift = 0) {
  return {sizeof(infiniopConvertOptions_t),
          (saturates ? 1u : 0u) | (x.format == Format::e5m2 ? 2u : 0u) |
              (y.format == Format::e5m2 ? 4u : 0u),
          scale, shift};
}

// The codes of a row of numbers, converted.
std::vector<char> convert_row(infiniopHandle_t handle, const FormatFacts& y, const FormatFacts& x,
                              const std::vector<char>& from,
                              const infiniopConvertOptions_t& options) {
  const size_t count = from.size() / static_cast<size_t>(x.bytes);
  const Desc yd(y.dtype, {count}), xd(x.dtype, {count});
  const Memory in(from), out(std::vector<char>(count * static_cast<size_t>(y.bytes)));
  infiniopConvertDescriptor_t desc = nullptr;
  EXPECT_EQ(fine,
            infiniopCreateConvertDescriptor(handle, &desc, yd.t, xd.t, nullptr, nullptr, &options))
      << infiniGetLastErrorString();
  const Workspace room(desc);
  EXPECT_EQ(fine, infiniopConvert(desc, room.p, room.bytes, out.p, in.p, nullptr, nullptr, nullptr))
      << infiniGetLastErrorString();
  infiniopDestroyConvertDescriptor(desc);
  return out.host();
}

void expect_row(infiniopHandle_t handle, const FormatFacts& y, const FormatFacts& x,
                const std::vector<char>& from, bool computes, float scale, float shift,
                bool saturates) {
  const auto options = options_for(y, x, saturates, computes ? scale : 1, computes ? shift : 0);
  const std::vector<char> got = convert_row(handle, y, x, from, options);
  for (size_t i = 0; i < from.size() / static_cast<size_t>(x.bytes); ++i) {
    const uint64_t code = load_code(&from[i * static_cast<size_t>(x.bytes)], x.bytes),
                   result = load_code(&got[i * static_cast<size_t>(y.bytes)], y.bytes),
                   expected = converted(y, x, code, computes, scale, shift, saturates);
    ASSERT_TRUE(same_number(y, result, expected))
        << "format " << static_cast<int>(x.format) << " code " << code << " (" << number_of(x, code)
        << ") to format " << static_cast<int>(y.format) << ": " << result << ", expected "
        << expected << ", scale " << (computes ? scale : 1) << ", saturates " << saturates;
  }
}

TEST_F(Convert, EveryNumberOf8And16Bits) {
  for (const FormatFacts& x : formats) {
    if (x.bytes > 2) continue;
    const uint64_t count = uint64_t{1} << (8 * x.bytes);
    std::vector<char> all(count * static_cast<uint64_t>(x.bytes));
    for (uint64_t code = 0; code < count; ++code)
      std::memcpy(&all[code * static_cast<uint64_t>(x.bytes)], &code, static_cast<size_t>(x.bytes));
    for (const FormatFacts& y : formats) {
      for (const bool saturates : {false, true})
        expect_row(handle, y, x, all, false, 1, 0, saturates);
      expect_row(handle, y, x, all, true, -0.37f, 3.25f, y.bytes % 2 == 0);
    }
  }
}

// Around every number of 8 bits and every middle of two neighbours of 8 and 16 bits, by less than the wide source can tell.
TEST_F(Convert, RoundsOnceToNearestEven) {
  for (const FormatFacts& y : formats) {
    if (y.bytes > 2 || y.exponent == 0) continue;
    const std::vector<double>& numbers = numbers_of(y);
    std::vector<double> values = {INFINITY, -INFINITY, 1e300, -1e300, 0.0, -0.0, 4e-46, NAN};
    for (size_t i = 1; i < numbers.size(); ++i) {
      const double middle = (numbers[i - 1] + numbers[i]) / 2;
      for (const double x : {middle, std::nextafter(middle, 0), std::nextafter(middle, INFINITY)})
        values.push_back(i % 2 == 0 ? x : -x);
    }
    const double last = 1.5 * numbers.back() - 0.5 * numbers[numbers.size() - 2];
    for (const double x : {last, std::nextafter(last, 0), std::nextafter(last, INFINITY)})
      values.push_back(x);
    std::vector<char> doubles(values.size() * 8), floats(values.size() * 4);
    std::memcpy(doubles.data(), values.data(), doubles.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const auto f = static_cast<float>(values[i]);
      std::memcpy(&floats[i * 4], &f, 4);
    }
    for (const bool saturates : {false, true}) {
      expect_row(handle, y, formats[11], doubles, false, 1, 0, saturates);
      expect_row(handle, y, formats[8], floats, false, 1, 0, saturates);
    }
  }
}

TEST_F(Convert, WideFormats) {
  std::mt19937_64 random(7);
  std::vector<double> values = {0.5,           1.5,          2.5,    -0.5,  -1.5, 2147483647.5,
                                -2147483648.5, 4294967295.5, 1e10,   -1e10, NAN,  INFINITY,
                                -INFINITY,     3.5e38,       -1e308, 5e-324};
  std::vector<char> bits(1000 * 8);
  for (char& byte : bits) byte = static_cast<char>(random());
  std::vector<char> doubles(values.size() * 8);
  std::memcpy(doubles.data(), values.data(), doubles.size());
  doubles.insert(doubles.end(), bits.begin(), bits.end());
  for (const FormatFacts& y : formats)
    for (const bool saturates : {false, true}) {
      expect_row(handle, y, formats[11], doubles, false, 1, 0, saturates);
      expect_row(handle, y, formats[11], doubles, true, 0.3f, -7, saturates);
      for (const int source : {8, 9, 10}) {  // f32, i32, u32
        expect_row(handle, y, formats[source], bits, false, 1, 0, saturates);
        expect_row(handle, y, formats[source], bits, true, 1e-7f, 2.5f, saturates);
      }
    }
}

// A tensor somewhere in bytes that must not change beside it.
struct Spread {
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;
  int64_t base = 0, elements = 0;  // of memory
};

class Layouts {
 public:
  explicit Layouts(uint64_t seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  std::vector<size_t> shape() {
    std::vector<size_t> s(static_cast<size_t>(below(5)));
    constexpr size_t sizes[] = {1, 2, 3, 3, 5, 16, 17, 33, 64, 100, 131};
    for (size_t& n : s) n = sizes[below(11)];
    while (std::accumulate(s.begin(), s.end(), size_t{1}, std::multiplies<>()) > 60000)
      s.pop_back();
    return s;
  }
  // Dims in any order in memory, gaps, reversed ones; repeated ones and ones of size 1 where it may be.
  Spread spread(const std::vector<size_t>& shape, bool may_repeat) {
    Spread s{shape, std::vector<ptrdiff_t>(shape.size()), 0, 0};
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (below(4) != 0) std::shuffle(order.begin(), order.end(), random_);
    int64_t step = below(5) == 0 ? 2 : 1, low = 0, high = 0;
    for (size_t k = order.size(); k-- > 0;) {
      const size_t i = order[k];
      if (may_repeat && below(8) == 0) {
        below(2) == 0 ? s.shape[i] = 1 : s.strides[i] = 0;
        continue;
      }
      s.strides[i] = below(6) == 0 ? -step : step;
      const int64_t reach = (static_cast<int64_t>(shape[i]) - 1) * s.strides[i];
      (reach < 0 ? low : high) += reach;
      step = step * static_cast<int64_t>(shape[i]) + (below(4) == 0 ? below(5) : 0);
    }
    s.base = 3 - low;
    s.elements = high - low + 7;
    return s;
  }
  std::vector<char> noise(int64_t bytes) {
    std::vector<char> out(static_cast<size_t>(bytes));
    for (char& c : out) c = static_cast<char>(random_());
    return out;
  }
  // Not too large, so that most results are inside the range.
  std::vector<char> floats(int64_t count) {
    std::vector<char> out(static_cast<size_t>(count) * 4);
    for (int64_t i = 0; i < count; ++i) {
      const float f = static_cast<float>(below(64) - 32) / 16.0f;
      std::memcpy(&out[static_cast<size_t>(i) * 4], &f, 4);
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
};

int64_t place(const Spread& s, const std::vector<size_t>& index) {
  int64_t at = s.base;
  const size_t missing = index.size() - s.shape.size();
  for (size_t i = 0; i < s.shape.size(); ++i)
    if (s.shape[i] != 1) at += static_cast<int64_t>(index[i + missing]) * s.strides[i];
  return at;
}

// One problem: shapes, layouts and numbers, run and compared with a loop over all elements.
void expect_layout(infiniopHandle_t handle, const std::vector<size_t>& shape, const Spread& ys,
                   const Spread& xs, const FormatFacts& y, const FormatFacts& x, int axis,
                   Layouts& draw) {
  Spread ns{std::vector<size_t>(shape.size(), 1), std::vector<ptrdiff_t>(shape.size(), 77), 1, 2};
  if (axis >= 0) {
    const auto at = static_cast<size_t>(axis);
    ns.shape[at] = shape[at];
    ns.strides[at] = 2;
    ns.elements = 2 * static_cast<int64_t>(shape[at]) + 1;
  }
  const std::vector<char> from = draw.noise(xs.elements * x.bytes),
                          before = draw.noise(ys.elements * y.bytes), a = draw.floats(ns.elements),
                          b = draw.floats(ns.elements);
  const Memory in(from), out(before), scale(a), shift(b);
  const Desc yd(y.dtype, shape, ys.strides), xd(x.dtype, xs.shape, xs.strides),
      nd(INFINI_DTYPE_F32, ns.shape, ns.strides);
  const auto options = options_for(y, x, true);
  infiniopConvertDescriptor_t desc = nullptr;
  const auto at = [](const Memory& m, int64_t element, int bytes) {
    return static_cast<char*>(m.p) + element * bytes;
  };
  const size_t count = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
  ASSERT_EQ(fine, infiniopCreateConvertDescriptor(handle, &desc, yd.t, xd.t, nd.t, nd.t, &options))
      << infiniGetLastErrorString();
  const Workspace room(desc);
  ASSERT_EQ(fine, infiniopConvert(desc, room.p, room.bytes, at(out, ys.base, y.bytes),
                                  at(in, xs.base, x.bytes), at(scale, ns.base, 4),
                                  at(shift, ns.base, 4), nullptr))
      << infiniGetLastErrorString();
  infiniopDestroyConvertDescriptor(desc);
  const std::vector<char> got = out.host();
  std::vector<char> expected = before;
  std::vector<size_t> index(shape.size());
  for (size_t n = 0; n < count; ++n) {
    for (size_t i = shape.size(), rest = n; i-- > 0; rest /= shape[i]) index[i] = rest % shape[i];
    const auto number = [&](const std::vector<char>& of) {
      float f;
      std::memcpy(&f, &of[static_cast<size_t>(place(ns, index)) * 4], 4);
      return f;
    };
    const uint64_t code =
        load_code(&from[static_cast<size_t>(place(xs, index) * x.bytes)], x.bytes);
    const uint64_t result = converted(y, x, code, true, number(a), number(b), true);
    char* const to = &expected[static_cast<size_t>(place(ys, index) * y.bytes)];
    const uint64_t found =
        load_code(&got[static_cast<size_t>(place(ys, index) * y.bytes)], y.bytes);
    ASSERT_TRUE(same_number(y, found, result))
        << "element " << n << ": " << found << ", expected " << result;
    std::memcpy(to, &found, static_cast<size_t>(y.bytes));
  }
  ASSERT_TRUE(got == expected) << "bytes beside the tensor changed";
}

void expect_any_layouts(infiniopHandle_t handle, uint64_t seed, int count) {
  Layouts draw(seed);
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<size_t> shape = draw.shape();
    Spread xs = draw.spread(shape, true);
    const size_t fewer = !shape.empty() && draw.below(8) == 0 ? 1 : 0;
    xs.shape.erase(xs.shape.begin(), xs.shape.begin() + static_cast<ptrdiff_t>(fewer));
    xs.strides.erase(xs.strides.begin(), xs.strides.begin() + static_cast<ptrdiff_t>(fewer));
    const int axis = shape.empty() || draw.below(4) == 0
                         ? -1
                         : static_cast<int>(draw.below(static_cast<int64_t>(shape.size())));
    expect_layout(handle, shape, draw.spread(shape, false), xs, formats[draw.below(12)],
                  formats[draw.below(12)], axis, draw);
  }
}

TEST_F(Convert, AnyLayout) { expect_any_layouts(handle, 11, 400); }

// What only large tensors reach on the CPU: results that go past the caches.
TEST_F(Convert, AnyLayoutPastTheCaches) {
  cpu::Policy policy;
  policy.threads = 2;
  policy.streamed_bytes = policy.bytes_per_thread = 1;
  const cpu::ForcedPolicy lowered(policy);
  expect_any_layouts(handle, 13, 400);
}

// Images: so large that results go past the caches, in both directions.
TEST_F(Convert, LargeImages) {
  Layouts draw(12);
  const std::vector<size_t> chw = {3, 700, 901}, hwc = {700, 901, 3};
  const Spread dense_chw{chw, {700 * 901, 901, 1}, 3, 3 * 700 * 901 + 7},
      dense_hwc{hwc, {901 * 3, 3, 1}, 3, 3 * 700 * 901 + 7},
      hwc_as_chw{chw, {1, 901 * 3, 3}, 3, 3 * 700 * 901 + 7},
      chw_as_hwc{hwc, {901, 1, 700 * 901}, 3, 3 * 700 * 901 + 7};
  expect_layout(handle, chw, dense_chw, hwc_as_chw, formats[8], formats[0], 0, draw);
  expect_layout(handle, hwc, dense_hwc, chw_as_hwc, formats[0], formats[8], 2, draw);
}

TEST_F(Convert, RefusesWhatItCannot) {
  const Desc f32(INFINI_DTYPE_F32, {2, 3}), u8(INFINI_DTYPE_U8, {2, 3}),
      c64(INFINI_DTYPE_C64, {2, 3}), i64(INFINI_DTYPE_I64, {2, 3}), three(INFINI_DTYPE_F32, {3}),
      two(INFINI_DTYPE_F32, {2, 1}), wrong(INFINI_DTYPE_F32, {4}),
      folded(INFINI_DTYPE_F32, {2, 3}, {1, 1});
  infiniopConvertDescriptor_t desc = nullptr;
  const auto made = [&](const Desc& y, const Desc& x, const Desc* a, const Desc* b,
                        const infiniopConvertOptions_t* options = nullptr) {
    const auto status =
        infiniopCreateConvertDescriptor(handle, &desc, y.t, x.t, a == nullptr ? nullptr : a->t,
                                        b == nullptr ? nullptr : b->t, options);
    EXPECT_EQ(status == fine, desc != nullptr);
    return status;
  };
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, made(f32, c64, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, made(i64, f32, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, made(f32, u8, &u8, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, made(f32, wrong, nullptr, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, made(f32, u8, &wrong, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, made(f32, u8, &f32, nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, made(f32, u8, &three, &two));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_STRIDES, made(folded, u8, nullptr, nullptr));
  infiniopConvertOptions_t options{sizeof options - 1, 0, 1, 0};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, made(f32, u8, nullptr, nullptr, &options));
  options = {sizeof options, 8, 1, 0};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, made(f32, u8, nullptr, nullptr, &options));
  ASSERT_EQ(fine, made(f32, u8, &three, nullptr));
  const Memory memory(std::vector<char>(64));
  const Workspace room(desc);
  auto* const p = static_cast<char*>(memory.p);
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopConvert(desc, room.p, room.bytes, p, p + 32, nullptr, nullptr, nullptr));
  EXPECT_STREQ("scale is NULL", infiniGetLastErrorString());
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopConvert(desc, room.p, room.bytes, p, p + 2, p + 40, nullptr, nullptr));
  EXPECT_EQ(fine, infiniopDestroyConvertDescriptor(desc));
}

}  // namespace
}  // namespace infini::test
