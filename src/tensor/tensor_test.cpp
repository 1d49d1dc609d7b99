// Tensors: making, viewing, copying and printing them.
#include "infinicore/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "infinicore/context/context.hpp"
#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

const Device cpu = Device::cpu();

TEST(Device, IsNamedByKindAndIndex) {
  EXPECT_EQ(Device(Device::Type::NVIDIA, 1).toString(), "nvidia:1");
  EXPECT_EQ(Device::cpu(), Device(Device::Type::CPU, 0));
  EXPECT_FALSE(Device(Device::Type::CPU, 1) == Device::cpu());
  EXPECT_EQ(context::getDeviceCount(Device::Type::CPU), 1u);
  EXPECT_EQ(context::getDeviceCount(Device::Type::QY), 0u);
}

TEST(Device, ThatIsNotThereIsAnErrorWithItsName) {
  EXPECT_EQ(status_of([] { Tensor::empty({1}, DataType::F32, Device(Device::Type::QY)); }),
            INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED);
  EXPECT_EQ(status_of([] { Tensor::empty({1}, DataType::F32, Device(Device::Type::CPU, 7)); }),
            INFINI_STATUS_DEVICE_NOT_FOUND);
  EXPECT_EQ(status_of([] { context::setDevice(Device(Device::Type::CPU, SIZE_MAX)); }),
            INFINI_STATUS_DEVICE_NOT_FOUND);
  EXPECT_EQ(context::getDevice(), Device::cpu());
}

TEST(Tensor, SaysWhatItIs) {
  const Tensor t = Tensor::empty({2, 3}, DataType::F16, cpu);
  EXPECT_EQ(t->shape(), (Shape{2, 3}));
  EXPECT_EQ(t->strides(), (Strides{3, 1}));
  EXPECT_EQ(t->ndim(), 2u);
  EXPECT_EQ(t->numel(), 6u);
  EXPECT_EQ(t->element_size(), 2u);
  EXPECT_EQ(t->nbytes(), 12u);
  EXPECT_EQ(t->size(1), 3u);
  EXPECT_EQ(t->stride(0), 3);
  EXPECT_EQ(t->dtype(), DataType::F16);
  EXPECT_EQ(t->device(), cpu);
  EXPECT_TRUE(t->is_contiguous());
  EXPECT_EQ(t->info(), "f16 [2, 3] on cpu:0");
  EXPECT_EQ(t->permute({1, 0})->info(), "f16 [3, 2] strides [1, 3] on cpu:0");
  EXPECT_EQ(status_of([&] { t->size(2); }), INFINI_STATUS_BAD_PARAM);
}

TEST(Tensor, WithoutContentThrowsWhenUsed) {
  Tensor none;
  EXPECT_FALSE(none);
  EXPECT_EQ(status_of([&] { none->shape(); }), INFINI_STATUS_NULL_POINTER);
  EXPECT_EQ(toString(none), "Tensor()");
  Tensor t = Tensor::zeros({1}, DataType::I8, cpu);
  EXPECT_EQ(status_of([&] { t->copy_from(none); }), INFINI_STATUS_NULL_POINTER);
}

TEST(Tensor, IsMadeWithOrWithoutElements) {
  EXPECT_EQ(toString(Tensor::zeros({2, 2}, DataType::F32, cpu)), "[[0, 0],\n [0, 0]]");
  EXPECT_EQ(toString(Tensor::ones({3}, DataType::BF16, cpu)), "[1, 1, 1]");
  EXPECT_EQ(toString(Tensor::ones({}, DataType::C64, cpu)), "1+0j");
  EXPECT_EQ(Tensor::zeros({0, 1ull << 62}, DataType::F64, cpu)->numel(), 0u);
  EXPECT_EQ(status_of([] {
              Tensor::empty({1ull << 62, 4}, DataType::F32, cpu);
            }),
            INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(status_of([] {
              Tensor::strided_empty({2}, {1, 1}, DataType::F32, cpu);
            }),
            INFINI_STATUS_BAD_TENSOR_STRIDES);
  EXPECT_EQ(status_of([] { Tensor::empty({1}, DataType{77}, cpu); }),
            INFINI_STATUS_BAD_TENSOR_DTYPE);
  EXPECT_EQ(status_of([] { Tensor::empty(Shape(65, 1), DataType::F32, cpu); }),
            INFINI_STATUS_BAD_TENSOR_SHAPE);
}

TEST(Tensor, OnesAreOneInEveryType) {
  for (int number = INFINI_DTYPE_BYTE; number <= INFINI_DTYPE_BF16; ++number) {
    const auto dtype = DataType(number);
    const std::string text = toString(Tensor::ones({}, dtype, cpu));
    if (dtype == DataType::BOOL)
      EXPECT_EQ(text, "true");
    else if (toString(dtype)[0] == 'c')
      EXPECT_EQ(text, "1+0j");
    else
      EXPECT_EQ(text, "1") << toString(dtype);
  }
}

TEST(Tensor, NegativeStridesStartAtTheLastElement) {
  std::vector<int32_t> values{1, 2, 3};
  const Tensor t = Tensor::strided_from_blob(&values[2], {3}, {-1}, DataType::I32, cpu);
  EXPECT_EQ(toString(t), "[3, 2, 1]");
  EXPECT_EQ(toString(t->contiguous()), "[3, 2, 1]");
  EXPECT_EQ(toString(t->as_strided({3}, {1}, -2)), "[1, 2, 3]") << "negative offsets are seen";
  const Tensor own = Tensor::strided_empty({3, 2}, {-2, -1}, DataType::I32, cpu);
  EXPECT_EQ(own->memory()->size(), 24u);
}

TEST(FromBlob, CallsTheDeleterOnceWithItsPointerWhenTheLastViewIsGone) {
  int32_t values[4] = {};
  std::vector<void*> deleted;
  {
    Tensor view;
    {
      const Tensor t = Tensor::strided_from_blob(&values[3], {4}, {-1}, DataType::I32, cpu,
                                                 [&](void* p) { deleted.push_back(p); });
      EXPECT_EQ(static_cast<const void*>(t->data()), &values[3]);
      view = t->narrow({{0, 1, 2}});
    }
    EXPECT_TRUE(deleted.empty());
  }
  EXPECT_EQ(deleted, std::vector<void*>{&values[3]});
  EXPECT_EQ(status_of([] { Tensor::from_blob(nullptr, {1}, DataType::I8, cpu); }),
            INFINI_STATUS_NULL_POINTER);
  EXPECT_EQ(Tensor::from_blob(nullptr, {0}, DataType::I8, cpu)->numel(), 0u);
}

TEST(Views, ShareMemoryAndCostNone) {
  const Tensor t = iota({2, 3, 4});
  const auto before = context::memoryStats(cpu);
  const Tensor p = t->permute({2, 0, 1}), n = t->narrow({{1, 1, 2}, {2, 3, 1}});
  const Tensor s = t->unsqueeze(0)->squeeze(0), v = t->view({6, 4});
  EXPECT_EQ(context::memoryStats(cpu).allocations, before.allocations);
  for (const Tensor& view : {p, n, s, v}) EXPECT_EQ(view->memory(), t->memory());
  EXPECT_EQ(elements(p), (std::vector<float>{0, 4, 8,  12, 16, 20, 1, 5, 9,  13, 17, 21,
                                             2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}));
  EXPECT_EQ(elements(n), (std::vector<float>{7, 11, 19, 23}));
}

TEST(Views, BroadcastAsNumPy) {
  const Tensor t = iota({2, 1});
  EXPECT_EQ(elements(t->broadcast_to({2, 3})), (std::vector<float>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(t->broadcast_to({3, 2, 1})->strides()[0], 0);
  EXPECT_EQ(t->broadcast_to({2, 0})->numel(), 0u);
  const Shape too_many_dims(65, 1), too_many_elements{Size{1} << 40, Size{1} << 40, 2, 1};
  for (const Shape& shape :
       {Shape{2}, Shape{3, 1}, Shape{2, 1, 1}, Shape{}, too_many_dims, too_many_elements})
    EXPECT_EQ(status_of([&] { t->broadcast_to(shape); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  const Tensor one = iota({1});
  EXPECT_EQ(status_of([&] { one->broadcast_to(too_many_dims); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
}

TEST(Views, RefuseWhatIsNotThere) {
  const Tensor t = iota({2, 3});
  EXPECT_EQ(status_of([&] { t->permute({0}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->permute({0, 0}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->permute({0, 2}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->narrow({{1, 2, 2}}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->narrow({{1, SIZE_MAX, 2}}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->narrow({{2, 0, 0}}); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->squeeze(0); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(status_of([&] { t->unsqueeze(3); }), INFINI_STATUS_BAD_PARAM);
  EXPECT_EQ(status_of([&] { t->view({5}); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(t->narrow({{1, 3, 0}})->numel(), 0u);
}

TEST(Views, AsStridedStaysInsideTheMemory) {
  const Tensor t = iota({2, 3});
  EXPECT_EQ(elements(t->as_strided({2, 2}, {1, 3}, 1)), (std::vector<float>{1, 4, 2, 5}));
  EXPECT_EQ(elements(t->as_strided({6}, {-1}, 5)), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(elements(t->narrow({{0, 1, 1}})->as_strided({6}, {1}, -3)),
            (std::vector<float>{0, 1, 2, 3, 4, 5}))
      << "a view may reach all of the memory";
  const auto bad = INFINI_STATUS_BAD_TENSOR_STRIDES;
  EXPECT_EQ(status_of([&] { t->as_strided({7}, {1}); }), bad);
  EXPECT_EQ(status_of([&] { t->as_strided({2}, {-1}); }), bad);
  EXPECT_EQ(status_of([&] { t->as_strided({1}, {1}, 6); }), bad);
  EXPECT_EQ(status_of([&] { t->as_strided({1}, {1}, -1); }), bad);
  EXPECT_EQ(status_of([&] { t->as_strided({1}, {1}, PTRDIFF_MAX); }), bad);
  EXPECT_EQ(status_of([&] { t->as_strided({2}, {PTRDIFF_MIN}); }), bad);
  EXPECT_EQ(t->as_strided({0}, {1}, 99)->numel(), 0u);
}

// Law: reshape(shape) has the elements of contiguous(), in order; it copies only when no strides exist, and then view
// refuses.
TEST(Views, ReshapeWithoutACopyWhereStridesAllowIt) {
  struct {
    Shape order, shape;
    bool copies;
  } cases[] = {
      {{0, 1, 2}, {24}, false},
      {{0, 1, 2}, {4, 3, 2}, false},
      {{1, 0, 2}, {3, 2, 2, 2}, false},
      {{1, 0, 2}, {6, 4}, true},
      {{2, 0, 1}, {4, 6}, false},
      {{2, 0, 1}, {24}, true},
      {{2, 1, 0}, {1, 4, 1, 3, 2, 1}, false},
  };
  for (const auto& [order, shape, copies] : cases) {
    const Tensor t = iota({2, 3, 4})->permute(order);
    const Tensor v = t->reshape(shape);
    EXPECT_EQ(v->memory() != t->memory(), copies);
    EXPECT_EQ(status_of([&, &wanted = shape] { t->view(wanted); }),
              copies ? INFINI_STATUS_BAD_TENSOR_STRIDES : INFINI_STATUS_SUCCESS);
    EXPECT_EQ(v->shape(), shape);
    EXPECT_EQ(elements(v), elements(t));
  }
  const std::string message = message_of([] { iota({2, 3})->permute({1, 0})->view({6}); });
  EXPECT_EQ(
      message,
      "f32 [3, 2] strides [1, 3] on cpu:0 has no view of shape [6]: the elements do not lie so; "
      "reshape copies where it must");
  EXPECT_EQ(status_of([] { iota({2, 3})->reshape({5}); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
}

TEST(Contiguous, IgnoresDimsOfSizeOne) {
  const Tensor t = iota({2, 3})->as_strided({2, 1, 3}, {3, 77, 1});
  EXPECT_TRUE(t->is_contiguous());
  EXPECT_EQ(t->contiguous(), t);
  const Tensor p = iota({2, 3})->permute({1, 0});
  EXPECT_FALSE(p->is_contiguous());
  EXPECT_EQ(elements(p->contiguous()), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(CopyFrom, BroadcastsAsNumpyDoes) {
  Tensor t = Tensor::zeros({2, 2, 3}, DataType::F32, cpu);
  t->copy_from(iota({2, 1}));
  EXPECT_EQ(elements(t), (std::vector<float>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(status_of([&] { t->copy_from(iota({2, 2})); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(status_of([&] { t->copy_from(iota({1, 2, 2, 3})); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(status_of([&] { t->copy_from(Tensor::ones({3}, DataType::F64, cpu)); }),
            INFINI_STATUS_BAD_TENSOR_DTYPE);
}

TEST(CopyFrom, ReadsAllBeforeItWritesWhereBothOverlap) {
  const Tensor t = iota({3, 3});
  Tensor whole = t;
  whole->copy_from(t->permute({1, 0}));
  EXPECT_EQ(elements(t), (std::vector<float>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
}

TEST(To, ReturnsTheTensorItselfOnItsOwnDevice) {
  const Tensor t = iota({2});
  EXPECT_EQ(t->to(cpu), t);
}

TEST(To, GoesToEveryDeviceAndBackThroughEachOther) {
  const auto devices = all_devices();
  for (const Device& first : devices) {
    for (const Device& second : devices) {
      const Tensor t = iota({3, 5})->permute({1, 0});
      const Tensor there = t->to(first)->to(second);
      EXPECT_EQ(there->device(), second);
      EXPECT_EQ(elements(there), elements(t)) << first << " " << second;
      Tensor wide = Tensor::zeros({2, 5, 3}, DataType::F32, second);
      wide->permute({0, 1, 2})->copy_from(there->to(first));
      EXPECT_EQ(elements(wide->narrow({{0, 1, 1}})->squeeze(0)), elements(t));
    }
  }
}

TEST(Pinned, HostMemoryIsForTheCpuAlone) {
  const Tensor t = Tensor::zeros({4}, DataType::F32, cpu, true);
  EXPECT_EQ(t->is_pinned(), all_devices().size() > 1);
  EXPECT_EQ(elements(t), std::vector<float>(4));
  for (const Device& device : all_devices()) {
    if (device == cpu) continue;
    EXPECT_EQ(status_of([&] { Tensor::empty({1}, DataType::F32, device, true); }),
              INFINI_STATUS_BAD_PARAM);
  }
}

TEST(Print, ShortensLongDimsOfLargeTensors) {
  EXPECT_EQ(toString(iota({8})), "[0, 1, 2, 3, 4, 5, 6, 7]");
  EXPECT_EQ(toString(iota({2000})), "[0, 1, 2, ..., 1997, 1998, 1999]");
  EXPECT_EQ(toString(Tensor::zeros({0}, DataType::F32, cpu)), "[]");
  std::ostringstream out;
  out << iota({2, 2})->permute({1, 0});
  EXPECT_EQ(out.str(), "[[0, 2],\n [1, 3]]");
}

TEST(Desc, IsTheSameObjectForTheSameTensor) {
  const Tensor t = iota({2, 3});
  EXPECT_NE(t->desc(), nullptr);
  EXPECT_EQ(t->desc(), t->desc());
  EXPECT_NE(context::getInfiniopHandle(), nullptr);
  EXPECT_EQ(context::getInfiniopHandle(), context::getInfiniopHandle());
}

TEST(Context, CopiesAndSetsMemoryOfTheCurrentDevice) {
  for (const Device& device : all_devices()) {
    context::setDevice(device);
    const auto memory = context::allocateMemory(16);
    const auto host = context::allocateHostMemory(16);
    EXPECT_EQ(memory->device(), device);
    context::setDeviceMemory(memory->data(), 7, 16);
    context::memcpyD2H(host->data(), memory->data(), 16);
    EXPECT_EQ(host->data()[15], std::byte{7});
    const infinirtEvent_t start = context::createEvent(), end = context::createEvent();
    context::recordEvent(start);
    context::memcpyH2D(memory->data(), host->data(), 16);
    context::recordEvent(end);
    context::synchronizeEvent(end);
    EXPECT_TRUE(context::queryEvent(end));
    EXPECT_GE(context::elapsedTime(start, end), 0.0f);
    context::destroyEvent(start);
    context::destroyEvent(end);
    context::syncDevice();
  }
  context::setDevice(cpu);
  EXPECT_EQ(status_of([] { context::memcpyH2H(nullptr, nullptr, 1); }), INFINI_STATUS_NULL_POINTER);
}

TEST(Context, MemoryReturnsToThePoolAndFromItToTheDevice) {
  context::trimMemory();
  const auto before = context::memoryStats(cpu);
  { const Tensor t = Tensor::empty({1 << 20}, DataType::I8, cpu); }
  EXPECT_EQ(context::memoryStats(cpu).cached_bytes, size_t{1} << 20);
  { const Tensor t = Tensor::empty({1 << 20}, DataType::I8, cpu); }
  const auto after = context::memoryStats(cpu);
  EXPECT_EQ(after.reuses, before.reuses + 1);
  EXPECT_EQ(after.in_use_bytes, before.in_use_bytes);
  EXPECT_EQ(context::trimMemory(cpu), size_t{1} << 20);
  const auto limits = context::memoryLimits(cpu);
  context::setMemoryLimits(cpu, {after.in_use_bytes + 1000, limits.max_cached_bytes});
  EXPECT_EQ(status_of([] { Tensor::empty({1 << 20}, DataType::I8, cpu); }),
            INFINI_STATUS_OUT_OF_MEMORY);
  context::setMemoryLimits(cpu, limits);
  Tensor::empty({1 << 20}, DataType::I8, cpu);
}

}  // namespace
}  // namespace infinicore
