// Numbers in and out of tensors: full, from_vector, data, item, to_vector; slices, flips and transposes of them.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

const Device cpu = Device::cpu();
constexpr auto bad_param = INFINI_STATUS_BAD_PARAM;
constexpr auto bad_dtype = INFINI_STATUS_BAD_TENSOR_DTYPE;
constexpr auto bad_shape = INFINI_STATUS_BAD_TENSOR_SHAPE;

class Values : public testing::TestWithParam<Device> {
 protected:
  const Device device = GetParam();
};
INSTANTIATE_TEST_SUITE_P(, Values, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(Values, GoInAndComeOut) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor x = Tensor::from_vector(values, {2, 3}, device);
  EXPECT_EQ(x->info(), "f32 [2, 3] on " + device.toString());
  EXPECT_EQ(x->to_vector<float>(), values);
  EXPECT_EQ(x->transpose(0, 1)->to_vector<float>(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x->slice(0, 1)->slice(1, -1)->item<double>(), 6);
  EXPECT_EQ(x->flip(1)->to_vector<float>(), (std::vector<float>{3, 2, 1, 6, 5, 4}));
  const Tensor full = Tensor::full({2, 2}, -7, DataType::I16, device);
  EXPECT_EQ(full->to_vector<int16_t>(), (std::vector<int16_t>(4, -7)));
}

TEST_P(Values, AreThereWhileRecordingToo) {
  context::GraphRecording recording;
  const Tensor x = Tensor::from_vector<int32_t>({4, 5}, {2}, device);
  EXPECT_EQ(x->to_vector<int32_t>(), (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(x->slice(0, 1)->item<int>(), 5);
  recording.stop();
}

TEST(FromVector, ChecksTheShapeAndKnowsBool) {
  EXPECT_EQ(Tensor::from_vector<bool>({true, false, true})->info(), "bool [3] on cpu:0");
  EXPECT_EQ(Tensor::from_vector<bool>({true, false})->to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(Tensor::from_vector<double>({}, {0, 3})->to_vector<double>().size(), 0u);
  EXPECT_EQ(status_of([] { Tensor::from_vector<float>({1, 2, 3}, {2}); }), bad_shape);
  EXPECT_EQ(message_of([] {
              Tensor::from_vector<float>({1, 2, 3}, {2, 2});
            }),
            "from_vector of 3 values as shape [2, 2], which has 4 elements");
}

TEST(Data, HasTheTypeOfItsElements) {
  const Tensor x = Tensor::full({2}, 1.5, DataType::F16, cpu);
  EXPECT_EQ(x->data<uint16_t>()[1], 0x3e00) << "the bits of a half";
  EXPECT_EQ(static_cast<const void*>(x->data<std::byte>()), x->data());
  EXPECT_EQ(status_of([&] { x->data<float>(); }), bad_dtype);
  EXPECT_EQ(status_of([&] { x->data<int16_t>(); }), bad_dtype);
  EXPECT_EQ(status_of([&] { x->to_vector<float>(); }), bad_dtype);
  EXPECT_EQ(status_of([] { Tensor::full({1}, 1, DataType::U8, cpu)->data<bool>(); }), bad_dtype);
  EXPECT_EQ(Tensor::full({}, std::complex<float>(1, 2), DataType::C64, cpu)
                ->data<std::complex<float>>()
                ->imag(),
            2);
}

// A const handle names one tensor for good; a const TensorImpl is one whose elements are only read.
TEST(Data, IsConstWhereTheTensorIsAndNotWhereTheHandleIs) {
  const Tensor x = Tensor::from_vector<float>({1, 2});
  x->data<float>()[0] = 5;
  static_assert(std::is_same_v<decltype(x->data()), std::byte*>);
  const TensorImpl& read_only = *x;
  static_assert(std::is_same_v<decltype(read_only.data<float>()), const float*>);
  static_assert(std::is_same_v<decltype(read_only.data()), const std::byte*>);
  EXPECT_EQ(read_only.data<float>()[0], 5);
  const Tensor same = x;
  same->copy_from(Tensor::from_vector<float>({8, 9}));
  EXPECT_EQ(x->to_vector<float>(), (std::vector<float>{8, 9}));
}

TEST(Item, ConvertsWhatFitsAndRefusesTheRest) {
  const auto item = [](Scalar value, DataType dtype) {
    return Tensor::full({1, 1}, value, dtype, cpu);
  };
  EXPECT_EQ(item(UINT64_MAX, DataType::U64)->item<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(item(INT64_MIN, DataType::I64)->item<int64_t>(), INT64_MIN);
  EXPECT_EQ(item(-2.9, DataType::F64)->item<int>(), -2);
  EXPECT_EQ(item(0.25, DataType::BF16)->item<bool>(), true);
  EXPECT_EQ(item(3, DataType::C32)->item<int>(), 3);
  EXPECT_TRUE(std::isnan(item(NAN, DataType::F8)->item<float>()));
  EXPECT_EQ(status_of([&] { item(UINT64_MAX, DataType::U64)->item<int64_t>(); }), bad_param);
  EXPECT_EQ(status_of([&] { item(-1, DataType::I8)->item<uint64_t>(); }), bad_param);
  EXPECT_EQ(status_of([&] { item(NAN, DataType::F32)->item<int>(); }), bad_param);
  EXPECT_EQ(status_of([&] { item(0x1p63, DataType::F64)->item<int64_t>(); }), bad_param);
  EXPECT_EQ(item(-0x1p63, DataType::F64)->item<int64_t>(), INT64_MIN);
  EXPECT_EQ(status_of([&] { item(std::complex<double>(1, 1), DataType::C64)->item<double>(); }),
            bad_param);
  EXPECT_EQ(status_of([] { Tensor::ones({2}, DataType::F32, cpu)->item(); }), bad_shape);
  EXPECT_EQ(status_of([] { Tensor::ones({0}, DataType::F32, cpu)->item<float>(); }), bad_shape);
  EXPECT_EQ(message_of([&] { item(300, DataType::I32)->item<uint8_t>(); }),
            "300.000000 is outside the range of an unsigned integer of 8 bits");
}

TEST(Full, RoundsFloatsOnceAndRefusesIntegersThatDoNotFit) {
  EXPECT_EQ(status_of([] { Tensor::full({1}, 256, DataType::U8, cpu); }), bad_param);
  EXPECT_EQ(status_of([] { Tensor::full({1}, NAN, DataType::I32, cpu); }), bad_param);
  EXPECT_EQ(Tensor::full({}, 1e300, DataType::F16, cpu)->item<float>(), INFINITY);
  // Just above the middle of two halves: rounding to f32 first would end on the wrong one.
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(Tensor::full({}, above_tie, DataType::F16, cpu)->item<double>(), 1 + 0x1p-10);
  EXPECT_EQ(Tensor::full({}, int64_t{1} << 60, DataType::F32, cpu)->item<int64_t>(),
            int64_t{1} << 60);
}

// Law: slice is Python's; here against its definition, for every start, stop and step around a dim of 5.
TEST(Slice, IsPythons) {
  const Tensor x = Tensor::from_vector<int32_t>({0, 1, 2, 3, 4});
  using Index = std::optional<Stride>;
  std::vector<Index> places{std::nullopt, PTRDIFF_MAX, PTRDIFF_MIN};
  for (Stride i = -7; i <= 7; ++i) places.push_back(i);
  for (const Index start : places)
    for (const Index stop : places)
      for (const Stride step : {1, 2, 3, 7, -1, -2, -7}) {
        const auto at = [&](Index index, Stride missing) {
          const Stride low = step > 0 ? 0 : -1, high = step > 0 ? 5 : 4;
          if (!index) return missing;
          return std::min(std::max(*index < 0 ? *index + 5 : *index, low), high);
        };
        const Stride first = at(start, step > 0 ? 0 : 4), end = at(stop, step > 0 ? 5 : -1);
        std::vector<int32_t> expected;
        for (Stride i = first; step > 0 ? i < end : i > end; i += step)
          expected.push_back(static_cast<int32_t>(i));
        EXPECT_EQ(x->slice(0, start, stop, step)->to_vector<int32_t>(), expected)
            << start.value_or(99) << ":" << stop.value_or(99) << ":" << step;
      }
  EXPECT_EQ(x->slice(0, 1, 4)->memory(), x->memory());
  EXPECT_EQ(x->slice(0, {}, {}, PTRDIFF_MIN)->to_vector<int32_t>(), std::vector<int32_t>{4});
  EXPECT_EQ(status_of([&] { x->slice(0, 0, 1, 0); }), bad_param);
  EXPECT_EQ(status_of([&] { x->slice(1, 0); }), bad_param);
  EXPECT_EQ(status_of([&] { x->flip(1); }), bad_param);
  EXPECT_EQ(status_of([&] { x->transpose(0, 1); }), bad_param);
}

}  // namespace
}  // namespace infinicore
