// Norms, softmax, rope and sampling through the C API, against a reference in double.
#include "tests/operators/operator_tensors.h"

namespace infini {
namespace {

using namespace operator_tests;

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

}  // namespace
}  // namespace infini
