// Hostile inputs of elementwise and row operators: addresses, shared memory, empty tables, logits and options of sampling.
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/capi/capi_support.h"

namespace infini {
namespace {

using test::Handle;
using test::Tensor;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Floats in memory of the current device.
class Floats {
 public:
  explicit Floats(std::vector<float> values) : count_(values.size()) {
    EXPECT_OK(infinirtMalloc(&p_, 4 * count_ + 64));
    EXPECT_OK(infinirtMemcpy(p_, values.data(), 4 * count_, INFINIRT_MEMCPY_H2D));
  }
  ~Floats() { infinirtFree(p_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  char* at(int64_t byte = 0) const { return static_cast<char*>(p_) + byte; }
  std::vector<float> values() const {
    std::vector<float> values(count_);
    EXPECT_OK(infinirtDeviceSynchronize());
    EXPECT_OK(infinirtMemcpy(values.data(), p_, 4 * count_, INFINIRT_MEMCPY_D2H));
    return values;
  }

 private:
  void* p_ = nullptr;
  size_t count_;
};

TEST(HostileOperators, AddressesBetweenElementsAreRefused) {
  const Handle handle;
  const Tensor row({21}), rows({3, 21});  // long enough to be walked as they lie
  const Floats y(std::vector<float>(63)), x(std::vector<float>(63)), w(std::vector<float>(21));
  infiniopAddDescriptor_t add = nullptr;
  ASSERT_OK(infiniopCreateAddDescriptor(handle.handle, &add, rows.desc, rows.desc, row.desc));
  infiniopRMSNormDescriptor_t norm = nullptr;
  ASSERT_OK(
      infiniopCreateRMSNormDescriptor(handle.handle, &norm, rows.desc, rows.desc, row.desc, 1e-5f));
  for (int wrong = 0; wrong < 3; ++wrong)
    for (int64_t byte = 1; byte < 4; ++byte) {
      const auto off = [&](int operand) { return operand == wrong ? byte : 0; };
      EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
                infiniopAdd(add, nullptr, 0, y.at(off(0)), x.at(off(1)), w.at(off(2)), nullptr));
      EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRMSNorm(norm, nullptr, 0, y.at(off(0)),
                                                         x.at(off(1)), w.at(off(2)), nullptr));
    }
  EXPECT_NE(nullptr, std::strstr(infiniGetLastErrorString(), "w ("));
  EXPECT_OK(infiniopAdd(add, nullptr, 0, y.at(4), x.at(4), w.at(4), nullptr));
  EXPECT_OK(infinirtDeviceSynchronize());
  infiniopDestroyAddDescriptor(add);
  infiniopDestroyRMSNormDescriptor(norm);
}

// y in the place of a table or of weights is not an operator in place: rope's second half would read sines that its first
// half has overwritten.
TEST(HostileOperators, OnlyTheFirstSourceOfARowFunctionMayBeWritten) {
  const Handle handle;
  const Tensor head({1, 1, 6}), positions({1}, {}, INFINI_DTYPE_I32), table({1, 3}), row({6});
  const Floats y({1, 2, 3, 4, 5, 6}), x({1, 2, 3, 4, 5, 6}), other({1, 2, 3, 0});
  infiniopRoPEDescriptor_t rope = nullptr;
  ASSERT_OK(infiniopCreateRoPEDescriptor(handle.handle, &rope, head.desc, head.desc, positions.desc,
                                         table.desc, table.desc, INFINIOP_ROPE_ALGO_GPT_NEOX));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRoPE(rope, nullptr, 0, y.at(), x.at(), other.at(12),
                                                  y.at(), other.at(), nullptr));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRoPE(rope, nullptr, 0, y.at(), x.at(), other.at(12),
                                                  other.at(), y.at(), nullptr));
  EXPECT_OK(infiniopRoPE(rope, nullptr, 0, x.at(), x.at(), other.at(12), other.at(), other.at(),
                         nullptr));
  EXPECT_EQ(x.values(), (std::vector<float>{-3, -6, -9, 5, 14, 27}));
  infiniopDestroyRoPEDescriptor(rope);

  infiniopRMSNormDescriptor_t norm = nullptr;
  ASSERT_OK(infiniopCreateRMSNormDescriptor(handle.handle, &norm, row.desc, row.desc, row.desc, 0));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRMSNorm(norm, nullptr, 0, y.at(), x.at(), y.at(), nullptr));
  infiniopDestroyRMSNormDescriptor(norm);
}

TEST(HostileOperators, TablesWithoutRowsAreNotRead) {
  const Handle handle;
  const Tensor head({2, 1, 8}), positions({2}, {}, INFINI_DTYPE_I32), table({0, 4});
  const Floats x(std::vector<float>(16, 1)), zeros({0, 0});
  infiniopRoPEDescriptor_t rope = nullptr;
  ASSERT_OK(infiniopCreateRoPEDescriptor(handle.handle, &rope, head.desc, head.desc, positions.desc,
                                         table.desc, table.desc, INFINIOP_ROPE_ALGO_GPT_J));
  EXPECT_OK(infiniopRoPE(rope, nullptr, 0, x.at(), x.at(), zeros.at(), x.at(), x.at(), nullptr));
  for (const float value : x.values()) EXPECT_TRUE(std::isnan(value));
  infiniopDestroyRoPEDescriptor(rope);
}

// Strides of dims of size 1 may be any number, as may those of tables that nobody walks along.
TEST(HostileOperators, StridesOfSingleElementsAreNotUsed) {
  const Handle handle;
  constexpr ptrdiff_t far = std::numeric_limits<ptrdiff_t>::max();
  const Tensor one({2, 1, 1}, {1, far, -far}), row({1}, {far}),
      pair({1, 1, 2}, {far, far, far / 8}), table({1, 1}, {far, far}),
      position({1}, {far}, INFINI_DTYPE_I32);
  const Floats y({0, 0}), x({3, 5}), w({2, 7});
  infiniopCausalSoftmaxDescriptor_t softmax = nullptr;
  ASSERT_OK(infiniopCreateCausalSoftmaxDescriptor(handle.handle, &softmax, one.desc, one.desc));
  EXPECT_OK(infiniopCausalSoftmax(softmax, nullptr, 0, y.at(), x.at(), nullptr));
  EXPECT_EQ((std::vector<float>{1, 1}), y.values());
  infiniopDestroyCausalSoftmaxDescriptor(softmax);
  infiniopRMSNormDescriptor_t norm = nullptr;
  ASSERT_OK(infiniopCreateRMSNormDescriptor(handle.handle, &norm, one.desc, one.desc, row.desc, 0));
  EXPECT_OK(infiniopRMSNorm(norm, nullptr, 0, y.at(), x.at(), w.at(), nullptr));
  EXPECT_EQ((std::vector<float>{2, 2}), y.values());
  infiniopDestroyRMSNormDescriptor(norm);
  infiniopRoPEDescriptor_t rope = nullptr;  // made, and not run: its elements are too far apart
  EXPECT_OK(infiniopCreateRoPEDescriptor(handle.handle, &rope, pair.desc, pair.desc, position.desc,
                                         table.desc, table.desc, INFINIOP_ROPE_ALGO_GPT_J));
  EXPECT_OK(infiniopDestroyRoPEDescriptor(rope));
}

TEST(HostileOperators, PositionsOfAnyIntegerAndOutsideOfTheTable) {
  const Handle handle;
  const Tensor head({2, 1, 4}), table({3, 2}), wide_head({2, 1, 4}, {}, INFINI_DTYPE_F64),
      wide_table({3, 2}, {}, INFINI_DTYPE_F64);
  for (const auto& [dtype, bytes] : {std::pair{INFINI_DTYPE_I8, 1},
                                     {INFINI_DTYPE_U8, 1},
                                     {INFINI_DTYPE_I16, 2},
                                     {INFINI_DTYPE_U16, 2},
                                     {INFINI_DTYPE_I32, 4},
                                     {INFINI_DTYPE_U32, 4},
                                     {INFINI_DTYPE_I64, 8},
                                     {INFINI_DTYPE_U64, 8}}) {
    const Tensor positions({2}, {}, dtype);
    infiniopRoPEDescriptor_t rope = nullptr;
    ASSERT_OK(infiniopCreateRoPEDescriptor(handle.handle, &rope, head.desc, head.desc,
                                           positions.desc, table.desc, table.desc,
                                           INFINIOP_ROPE_ALGO_GPT_J));
    const Floats x({1, 2, 3, 4, 1, 2, 3, 4}), y(std::vector<float>(8)), at({0, 0, 0, 0});
    const char two = 2, three = 3;  // the first is a row, the second behind the last one
    EXPECT_OK(infinirtMemcpy(at.at(), &two, 1, INFINIRT_MEMCPY_H2D));
    EXPECT_OK(infinirtMemcpy(at.at(bytes), &three, 1, INFINIRT_MEMCPY_H2D));
    const Floats sin({9, 9, 9, 9, 0, 1}), cos({9, 9, 9, 9, 1, 0});
    EXPECT_OK(infiniopRoPE(rope, nullptr, 0, y.at(), x.at(), at.at(), sin.at(), cos.at(), nullptr));
    const std::vector<float> found = y.values();
    EXPECT_EQ((std::vector<float>{1, 2, -4, 3}),
              std::vector<float>(found.begin(), found.begin() + 4));
    for (size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(found[i]));
    infiniopDestroyRoPEDescriptor(rope);
  }
  const Tensor position({2}, {}, INFINI_DTYPE_I32);
  infiniopRoPEDescriptor_t rope = nullptr;  // in f64: two floats are a number of the result
  ASSERT_OK(infiniopCreateRoPEDescriptor(handle.handle, &rope, wide_head.desc, wide_head.desc,
                                         position.desc, wide_table.desc, wide_table.desc,
                                         INFINIOP_ROPE_ALGO_GPT_NEOX));
  const Floats x(std::vector<float>(16, 1)), y(std::vector<float>(16)), nowhere({nan, nan}),
      tables(std::vector<float>(12, 1));
  EXPECT_OK(infiniopRoPE(rope, nullptr, 0, y.at(), x.at(), nowhere.at(), tables.at(), tables.at(),
                         nullptr));
  const std::vector<float> found = y.values();
  for (size_t i = 0; i < 16; i += 2) {
    double number;
    std::memcpy(&number, &found[i], sizeof number);
    EXPECT_TRUE(std::isnan(number));
  }
  infiniopDestroyRoPEDescriptor(rope);
}

class Sampling : public testing::Test {
 protected:
  // The status, or the token.
  int64_t sample(const std::vector<float>& logits, float random_val, float topp, int topk,
                 float temperature) {
    const Tensor result({}, {}, INFINI_DTYPE_I32), probs({logits.size()});
    const Floats in(logits), out({-1});
    infiniopRandomSampleDescriptor_t desc = nullptr;
    EXPECT_OK(infiniopCreateRandomSampleDescriptor(handle_.handle, &desc, result.desc, probs.desc));
    size_t size = 0;
    EXPECT_OK(infiniopGetRandomSampleWorkspaceSize(desc, &size));
    void* workspace = nullptr;
    EXPECT_OK(infinirtMalloc(&workspace, size + 64));
    status_ = infiniopRandomSample(desc, workspace, size, out.at(), in.at(), random_val, topp, topk,
                                   temperature, nullptr);
    int32_t token;
    const float bits = out.values()[0];
    std::memcpy(&token, &bits, sizeof token);
    infinirtFree(workspace);
    infiniopDestroyRandomSampleDescriptor(desc);
    return token;
  }
  Handle handle_;
  infiniStatus_t status_ = INFINI_STATUS_SUCCESS;
};

TEST_F(Sampling, InfiniteLogitsShareTheWholeMass) {
  EXPECT_EQ(2, sample({0, 1, inf, 3}, 0.9f, 1, 0, 1));
  EXPECT_EQ(1, sample({0, inf, 1, inf}, 0.4f, 1, 0, 1));
  EXPECT_EQ(3, sample({0, inf, 1, inf}, 0.6f, 1, 0, 1));
  EXPECT_EQ(3, sample({0, inf, 1, inf}, 0.6f, 1, 3, 0.5f));
  EXPECT_EQ(2, sample({-inf, -inf, -inf, -inf}, 0.7f, 1, 0, 1));  // all are the largest
}

TEST_F(Sampling, NothingWithoutMassIsDrawn) {
  // However the sums are rounded: the last token has no mass, nor has NaN.
  std::vector<float> logits;
  for (int i = 0; i < 300; ++i) logits.push_back(static_cast<float>(i * 37 % 101) / 7);
  logits.push_back(-inf);
  logits.push_back(nan);
  EXPECT_LT(sample(logits, 1, 1, 0, 1), 300);
  EXPECT_LT(sample(logits, 1, 1, 0, 0.3f), 300);
  EXPECT_EQ(0, sample({nan, nan}, 0.9f, 1, 0, 1));
  EXPECT_EQ(1, sample({nan, -inf}, 0, 1, 0, 1));
  EXPECT_EQ(1, sample({nan, -inf}, 0.9f, 1, 0, 1));
}

TEST_F(Sampling, ZerosAreEqualAndTheFirstIsTaken) {
  EXPECT_EQ(0, sample({-0.0f, 0.0f}, 0, 1, 0, 1));
  EXPECT_EQ(0, sample({-0.0f, 0.0f}, 0.4f, 1, 0, 1));
  EXPECT_EQ(1, sample({-0.0f, 0.0f}, 0.9f, 1, 0, 1));
}

// As many equal logits as there are: a way through them one by one would take a pass for each.
TEST_F(Sampling, EqualLogitsAreTakenAsTheyLie) {
  std::vector<float> logits(5000, 2.5f);
  logits[7] = -1;
  EXPECT_EQ(2500, sample(logits, 0.5f, 1, 0, 1));
  EXPECT_EQ(9, sample(logits, 0.9f, 1, 10, 1));  // of the first ten, which do not have the 8th
  EXPECT_EQ(4999, sample(logits, 1, 1, 4999, 1));
}

TEST_F(Sampling, OptionsThatMeanNothingAreRefused) {
  struct {
    float random_val, topp, temperature;
  } const wrong[] = {{nan, 1, 1},   {-0.1f, 1, 1},  {1.5f, 1, 1},  {0.5f, nan, 1},
                     {0.5f, -1, 1}, {0.5f, 1, nan}, {0.5f, 1, -1}, {0.5f, 1, inf}};
  for (const auto& options : wrong) {
    EXPECT_EQ(-1, [&] {
      const int64_t token =
          sample({1, 2, 3}, options.random_val, options.topp, 0, options.temperature);
      int32_t untouched;
      const float before = -1;
      std::memcpy(&untouched, &before, sizeof untouched);
      return token == untouched ? -1 : token;
    }());
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM, status_);
  }
  EXPECT_EQ(2, sample({1, 2, 3}, nan, nan, 1, nan));  // greedy: nothing else is looked at
}

TEST_F(Sampling, OptionsThatMeanNothingAreRefusedByEveryDoor) {
  const Tensor result({}, {}, INFINI_DTYPE_I32), probs({3});
  const Floats in({1, 2, 3}), out({-1});
  const infiniopTensorDescriptor_t descs[] = {result.desc, probs.desc};
  void* const operands[] = {out.at(), in.at()};
  infiniopOperatorDescriptor_t desc = nullptr;
  ASSERT_OK(
      infiniopCreateOperatorDescriptor(handle_.handle, &desc, "random_sample", descs, 2, nullptr));
  size_t size = 0;
  EXPECT_OK(infiniopGetOperatorWorkspaceSize(desc, &size));
  void* workspace = nullptr;
  EXPECT_OK(infinirtMalloc(&workspace, size + 64));
  const infiniopSampleOptions_t wrong[] = {{-2, 2, 50, 1}, {nan, 1, 0, 1}, {0.5f, 1, 0, -1}};
  for (const auto& options : wrong)
    EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
              infiniopRunOperator(desc, workspace, size, operands, 2, &options, nullptr));
  EXPECT_EQ(-1, out.values()[0]);
  infinirtFree(workspace);
  infiniopDestroyOperatorDescriptor(desc);
}

TEST_F(Sampling, TheResultMayHaveAnyIntegerType) {
  for (const auto dtype :
       {INFINI_DTYPE_I8, INFINI_DTYPE_U8, INFINI_DTYPE_I16, INFINI_DTYPE_U16, INFINI_DTYPE_I32,
        INFINI_DTYPE_U32, INFINI_DTYPE_I64, INFINI_DTYPE_U64}) {
    const Tensor result({}, {}, dtype), probs({5});
    const Floats in({0, 1, 2, 9, 4}), out({0, 0});
    infiniopRandomSampleDescriptor_t desc = nullptr;
    ASSERT_OK(infiniopCreateRandomSampleDescriptor(handle_.handle, &desc, result.desc, probs.desc));
    size_t size = 0;
    EXPECT_OK(infiniopGetRandomSampleWorkspaceSize(desc, &size));
    const Floats workspace(std::vector<float>(size / 4 + 16));
    EXPECT_OK(
        infiniopRandomSample(desc, workspace.at(), size, out.at(), in.at(), 0, 1, 1, 1, nullptr));
    const std::vector<float> found = out.values();
    uint64_t token;
    std::memcpy(&token, found.data(), sizeof token);
    EXPECT_EQ(3u, token) << dtype;
    infiniopDestroyRandomSampleDescriptor(desc);
  }
}

TEST_F(Sampling, TokensFitIntoTheResult) {
  const Tensor small({}, {}, INFINI_DTYPE_I8), byte({}, {}, INFINI_DTYPE_U8), some({128}),
      more({129}), most({256}), many({257});
  infiniopRandomSampleDescriptor_t desc = nullptr;
  const auto create = [&](const Tensor& result, const Tensor& probs) {
    const auto status =
        infiniopCreateRandomSampleDescriptor(handle_.handle, &desc, result.desc, probs.desc);
    if (desc != nullptr) infiniopDestroyRandomSampleDescriptor(desc);
    return status;
  };
  EXPECT_EQ(INFINI_STATUS_SUCCESS, create(small, some));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, create(small, more));
  EXPECT_EQ(INFINI_STATUS_SUCCESS, create(byte, most));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_DTYPE, create(byte, many));
}

}  // namespace
}  // namespace infini
