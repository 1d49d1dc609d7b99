// Convert through the C API against its definition: every number of 8 and 16 bits, ties, what is refused.
#include <numeric>
#include <random>

#include "tests/operators/convert_tensors.h"

namespace infini::test {
namespace {

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
