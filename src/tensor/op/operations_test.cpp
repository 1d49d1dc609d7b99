// The operators: dispatch by device, checks that name both sides, products over any batch.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

const Device cpu = Device::cpu();

// a·b by the definition, for whole numbers.
std::vector<float> naive(const Tensor& a, const Tensor& b) {
  const Size m = a->size(0), k = a->size(1), n = b->size(1);
  const std::vector<float> left = elements(a), right = elements(b);
  std::vector<float> product(m * n);
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j)
      for (Size l = 0; l < k; ++l) product[i * n + j] += left[i * k + l] * right[l * n + j];
  return product;
}

struct Operations : testing::TestWithParam<Device> {
  const Device device = GetParam();
  void SetUp() override {
    const Tensor one = iota({1, 1}, device);
    if (status_of([&] { op::gemm(one, one); }) == INFINI_STATUS_NOT_IMPLEMENTED)
      GTEST_SKIP() << device << " has no gemm";
  }
  void TearDown() override {
    if (context::isGraphRecording()) context::cancelGraphRecording();
  }
};

TEST_P(Operations, RearrangePlansAreData) {
  const Tensor x = iota({2, 3}, device), y = Tensor::empty({3, 2}, DataType::F32, device);
  const op::RearrangePlan plan = op::Rearrange(y, x->permute({1, 0})).plan();
  EXPECT_EQ(plan.atom_bytes, 4);
  ASSERT_EQ(plan.loops.size(), 2u);
  EXPECT_EQ(plan.loops[0].extent, 3);
  EXPECT_EQ(plan.loops[0].dst_step, 8);
  EXPECT_EQ(plan.loops[1].src_step, 12);
  EXPECT_EQ(plan.bytes_written, 24);
  EXPECT_EQ(plan.bytes_read, 24);
  EXPECT_NE(plan.text.find("candidate " + plan.candidate + " on "), std::string::npos) << plan.text;
  EXPECT_NE(plan.text.find("for 3: dst += 8, src += 4"), std::string::npos) << plan.text;
  const Tensor nothing = Tensor::empty({0, 2}, DataType::F32, device);
  EXPECT_EQ(op::Rearrange(nothing, nothing).plan().candidate, "");
}

TEST_P(Operations, GemmMultiplies) {
  const Tensor a = iota({3, 4}, device), b = iota({4, 2}, device);
  EXPECT_EQ(elements(op::gemm(a, b)), naive(a, b));
  const Tensor c = iota({3, 2}, device, 100);
  op::gemm_(c, a, b, 2.0f, 3.0f);
  const std::vector<float> product = naive(a, b), result = elements(c);
  for (size_t i = 0; i < result.size(); ++i)
    EXPECT_EQ(result[i], 2 * product[i] + 3 * (100 + static_cast<float>(i)));
}

TEST_P(Operations, GemmTakesAnyStrides) {
  const Tensor a = iota({4, 3}, device)->permute({1, 0}), b = iota({2, 4}, device)->permute({1, 0});
  EXPECT_EQ(elements(op::gemm(a, b)), naive(a, b));
  const Tensor c = iota({2, 3}, device)->permute({1, 0});
  op::gemm_(c, a, b);
  EXPECT_EQ(elements(c), naive(a, b));
}

TEST_P(Operations, GemmOfABatch) {
  const Tensor a = iota({5, 3, 4}, device), b = iota({5, 4, 2}, device),
               one = iota({1, 4, 2}, device);
  const Tensor c = op::gemm(a, b), shared = op::gemm(a, one);
  for (Size i = 0; i < 5; ++i) {
    const auto at = [&](const Tensor& t, Size k) { return t->narrow({{0, k, 1}})->squeeze(0); };
    EXPECT_EQ(elements(at(c, i)), naive(at(a, i), at(b, i)));
    EXPECT_EQ(elements(at(shared, i)), naive(at(a, i), at(one, 0)));
  }
}

TEST_P(Operations, GemmWithBetaZeroDoesNotReadC) {
  const Tensor a = iota({2, 2}, device), b = iota({2, 2}, device), c = iota({2, 2}, device);
  std::vector<float> nan(4, NAN);
  Tensor(c)->copy_from(Tensor::from_blob(nan.data(), {2, 2}, DataType::F32, cpu));
  op::gemm_(c, a, b);
  EXPECT_EQ(elements(c), naive(a, b));
}

TEST_P(Operations, GraphOfGemmsGivesTheBitsOfTheEagerRun) {
  const Tensor a = iota({8, 8}, device), b = iota({8, 8}, device, -20);
  const auto work = [&](const Tensor& c) {
    op::gemm_(c, a, b, 0.125f, 0.0f);
    op::gemm_(c, b, op::rearrange(a->permute({1, 0})), 0.3f, 0.7f);
  };
  const Tensor eager = iota({8, 8}, device), replayed = iota({8, 8}, device);
  context::startGraphRecording();
  work(replayed);
  const auto graph = context::stopGraphRecording();
  EXPECT_EQ(elements(replayed), elements(iota({8, 8}))) << "recording ran something";
  for (int i = 0; i < 3; ++i) {
    work(eager);
    graph->run();
    EXPECT_EQ(elements(replayed), elements(eager));
  }
}

// Law: matmul over batch dims is gemm for each of them, whatever way they are folded.
TEST_P(Operations, MatmulBroadcastsBatchDims) {
  struct {
    Shape a, b, c;
  } cases[] = {{{3, 4}, {4, 2}, {3, 2}},
               {{5, 3, 4}, {4, 2}, {5, 3, 2}},
               {{3, 4}, {5, 4, 2}, {5, 3, 2}},
               {{2, 5, 3, 4}, {2, 5, 4, 2}, {2, 5, 3, 2}},
               {{2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
               {{2, 1, 2, 3, 4}, {1, 3, 2, 4, 2}, {2, 3, 2, 3, 2}},
               {{0, 3, 4}, {4, 2}, {0, 3, 2}}};
  for (const auto& [a_shape, b_shape, c_shape] : cases) {
    const Tensor a = iota(a_shape, device), b = iota(b_shape, device);
    const Tensor c = op::matmul(a, b);
    ASSERT_EQ(c->shape(), c_shape);
    const Shape batch(c_shape.begin(), c_shape.end() - 2);
    const auto wide = [&](const Tensor& t) {
      Shape shape = batch;
      shape.insert(shape.end(), t->shape().end() - 2, t->shape().end());
      Tensor full = Tensor::empty(shape, DataType::F32, cpu);
      full->copy_from(t->to(cpu));
      return full->view(
          {full->numel() / (shape.back() * shape[shape.size() - 2] + (full->numel() == 0)),
           shape[shape.size() - 2], shape.back()});
    };
    if (c->numel() == 0) continue;
    const Tensor left = wide(a), right = wide(b), result = wide(c);
    for (Size i = 0; i < result->size(0); ++i) {
      const auto at = [&](const Tensor& t) { return t->narrow({{0, i, 1}})->squeeze(0); };
      EXPECT_EQ(elements(at(result)), naive(at(left), at(right))) << c->info();
    }
  }
}

TEST_P(Operations, MatmulIntoATransposedC) {
  const Tensor a = iota({2, 3, 4}, device), b = iota({4, 5}, device);
  const Tensor c = iota({5, 3, 2}, device)->permute({2, 1, 0});
  op::matmul_(c, a, b, 2.0f);
  EXPECT_EQ(elements(c), elements(op::matmul(a, b, 2.0f)));
}

TEST_P(Operations, MatmulAddsToC) {
  const Tensor a = iota({2, 3, 4}, device), b = iota({4, 5}, device), c = iota({2, 3, 5}, device);
  const std::vector<float> before = elements(c), product = elements(op::matmul(a, b));
  op::matmul_(c, a, b, 2.0f, -3.0f);
  const std::vector<float> after = elements(c);
  for (size_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i], 2 * product[i] - 3 * before[i]) << i;
}

// Views of one buffer at random places, with batch dims that seldom fold into one.
struct RandomViews {
  explicit RandomViews(unsigned seed) : state(seed) {}
  Size between(Size low, Size high) {
    state = state * 1664525 + 1013904223;
    return low + (state >> 8) % (high - low + 1);
  }
  Tensor view(const Tensor& buffer, const Shape& shape) {
    Strides strides(shape.size(), 1);
    Stride span = static_cast<Stride>(shape.back());
    for (Size i = shape.size() - 1; i-- > 0;) {
      strides[i] = between(0, 9) == 0 ? 0 : span + static_cast<Stride>(between(0, 3)) * 8;
      span += static_cast<Stride>(shape[i] - 1) * strides[i];
    }
    const Size room = buffer->numel() - static_cast<Size>(span);
    return buffer->as_strided(shape, strides, static_cast<Stride>(between(0, room)));
  }
  unsigned state;
};

// Law: the product of what a and b held before, or a refusal that has written nothing.
TEST_P(Operations, MatmulIsAsIfAllWereReadFirstOrIsRefused) {
  RandomViews random(5);
  int done = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const Tensor buffer = iota({1200}, device);
    const std::vector<float> before = elements(buffer);
    const Shape batch = {random.between(1, 3), random.between(1, 3), random.between(1, 2)};
    const auto with = [&](Size rows, Size columns) {
      return Shape{batch[0], batch[1], batch[2], rows, columns};
    };
    const Size m = random.between(1, 3), n = random.between(1, 3), k = random.between(1, 3);
    const Tensor c = random.view(buffer, with(m, n)), a = random.view(buffer, with(m, k)),
                 b = random.view(buffer, with(k, n));
    const std::vector<float> expected = elements(op::matmul(a->contiguous(), b->contiguous()));
    const infiniStatus_t status = status_of([&] { op::matmul_(c, a, b); });
    ASSERT_EQ(status == INFINI_STATUS_SUCCESS ? expected : before,
              elements(status == INFINI_STATUS_SUCCESS ? c : buffer))
        << c->info() << " <- " << a->info() << " times " << b->info() << " at "
        << c->data() - buffer->data() << ", " << a->data() - buffer->data() << ", "
        << b->data() - buffer->data();
    ++(status == INFINI_STATUS_SUCCESS ? done : refused);
  }
  EXPECT_GT(done, 30);
  EXPECT_GT(refused, 30);
}

TEST_P(Operations, MatmulOfPiecesOfOneBufferThatLieApartIsDone) {
  const Tensor buffer = iota({2, 3, 3, 2, 4}, device);
  const auto piece = [&](Size i) {
    return buffer->narrow({{1, 0, 2}, {2, i, 1}})->squeeze(2);  // its batch dims do not fold
  };
  const Tensor c = piece(0)->narrow({{3, 0, 2}}), a = piece(1)->narrow({{3, 0, 2}}),
               b = piece(2)->narrow({{3, 2, 2}});
  const std::vector<float> expected = elements(op::matmul(a->contiguous(), b->contiguous()));
  op::matmul_(c, a, b);
  EXPECT_EQ(elements(c), expected);
  const Tensor same = Tensor::strided_empty({2, 2, 2, 2}, {0, 4, 2, 1}, DataType::F32, device);
  EXPECT_EQ(status_of([&] { op::matmul_(same, a, b); }), INFINI_STATUS_BAD_TENSOR_STRIDES);
  const std::string words = message_of([&] { op::matmul_(a, a, b); });
  EXPECT_NE(words.find("c (f32 [2, 2, 2, 2]"), std::string::npos) << words;
}

TEST_P(Operations, RefuseWhatDoesNotFitAndNameBothSides) {
  const Tensor a = iota({3, 4}, device), b = iota({5, 2}, device);
  EXPECT_EQ(status_of([&] { op::gemm(a, b); }), INFINI_STATUS_BAD_TENSOR_SHAPE);
  EXPECT_EQ(status_of([&] {
              op::gemm(a, iota({1, 4, 2}, device));
            }),
            INFINI_STATUS_BAD_TENSOR_SHAPE);
  const std::string shapes = message_of([&] { op::matmul(a, b); });
  EXPECT_NE(shapes.find("[3, 4]"), std::string::npos) << shapes;
  EXPECT_NE(shapes.find("[5, 2]"), std::string::npos) << shapes;
  EXPECT_EQ(status_of([&] {
              op::gemm(a, iota({4, 2}, device), 1, 1);
            }),
            INFINI_STATUS_BAD_PARAM)
      << "beta into a fresh output";
  EXPECT_EQ(status_of([&] {
              op::gemm_(a, a, iota({4, 4}, device));
            }),
            INFINI_STATUS_BAD_PARAM)
      << "in place";
  EXPECT_EQ(status_of([&] { op::gemm_(Tensor(), a, b); }), INFINI_STATUS_NULL_POINTER);
  if (device == cpu) return;
  const std::string devices = message_of([&] { op::gemm(a, iota({4, 2}, cpu)); });
  EXPECT_NE(devices.find(device.toString()), std::string::npos) << devices;
  EXPECT_NE(devices.find("cpu:0"), std::string::npos) << devices;
  EXPECT_EQ(status_of([&] { op::rearrange_(a, iota({3, 4}, cpu)); }), INFINI_STATUS_BAD_PARAM);
}

TEST_P(Operations, SamplesThatMeanNothingAreRefusedWhenTheyAreRecorded) {
  const Tensor logits = iota({5}, cpu);
  for (const float senseless : {-2.0f, std::nanf(""), 1.5f}) {
    EXPECT_EQ(status_of([&] { op::random_sample(logits, senseless, 2, 50, 1); }),
              INFINI_STATUS_BAD_PARAM);
    const context::GraphRecording recording;
    EXPECT_EQ(status_of([&] { op::random_sample(logits, senseless, 2, 50, 1); }),
              INFINI_STATUS_BAD_PARAM);
  }
}

TEST_P(Operations, WorkspacesComeFromThePool) {
  const Tensor a = iota({64, 64}, device)->narrow({{1, 0, 60}}), b = iota({64, 64}, device);
  const Tensor right = b->narrow({{0, 0, 60}}), c = iota({64, 64}, device);
  op::gemm_(c, a, right);
  const auto before = context::memoryStats(device);
  for (int i = 0; i < 5; ++i) op::gemm_(c, a, right);
  const auto after = context::memoryStats(device);
  EXPECT_EQ(after.allocations - before.allocations, after.reuses - before.reuses);
  EXPECT_EQ(after.in_use_bytes, before.in_use_bytes);
}

INSTANTIATE_TEST_SUITE_P(Devices, Operations, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace infinicore
