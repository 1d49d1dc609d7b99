// The elementwise and row operators of the emulated CANN: what they compute, and that each of their rules is enforced.
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_gelu_v2.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_masked_fill_scalar.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_softmax.h"
#include "fixture.h"

namespace cann_emulator {
namespace {

class FunctionTest : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    a_ = std::make_unique<Buffer>(4096);
    b_ = std::make_unique<Buffer>(4096);
    out_ = std::make_unique<Buffer>(4096);
    room_ = std::make_unique<Buffer>(8192);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeDevice(), 0);
    for (aclTensor* tensor : tensors_) EXPECT_EQ(aclDestroyTensor(tensor), 0);
    for (aclScalar* scalar : scalars_) EXPECT_EQ(aclDestroyScalar(scalar), 0);
    for (auto* buffer : {&a_, &b_, &out_, &room_}) buffer->reset();
    OnDevice::TearDown();
  }
  aclTensor* tensor(View view, const Buffer& buffer, aclDataType dtype = ACL_FLOAT) {
    view.dtype = dtype;
    tensors_.push_back(make_tensor(view, buffer.get()));
    return tensors_.back();
  }
  aclScalar* scalar(float value) {
    scalars_.push_back(aclCreateScalar(&value, ACL_FLOAT));
    return scalars_.back();
  }
  template <class Second>
  void run(Second second) {
    ASSERT_EQ(second(room_->get(), 8192, executor_, nullptr), 0);
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  }
  std::unique_ptr<Buffer> a_, b_, out_, room_;
  std::vector<aclTensor*> tensors_;
  std::vector<aclScalar*> scalars_;
  uint64_t size_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

TEST_F(FunctionTest, AddBroadcastsAndHonoursStrides) {
  a_->write(std::vector<float>{1, 2, 3, 4, 5, 6});
  b_->write(std::vector<float>{10, 20, 30});
  auto *x = tensor({{2, 3}, {1, 2}}, *a_), *row = tensor({{3}, {1}}, *b_),
       *y = tensor({{2, 3}, {4, 1}}, *out_);
  ASSERT_EQ(aclnnAddGetWorkspaceSize(x, row, scalar(1), y, &size_, &executor_), 0);
  EXPECT_GT(size_, 0u);  // strided operands pass through the workspace
  run(aclnnAdd);
  const auto out = out_->read<float>();
  const float expected[2][3] = {{11, 23, 35}, {12, 24, 36}};
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 3; ++j) EXPECT_EQ(out[4 * i + j], expected[i][j]);
}

TEST_F(FunctionTest, IntegersWrapAround) {
  a_->write(std::vector<int8_t>{127, -128, 5});
  auto *x = tensor({{3}, {1}}, *a_, ACL_INT8), *y = tensor({{3}, {1}}, *out_, ACL_INT8);
  ASSERT_EQ(aclnnMulGetWorkspaceSize(x, x, y, &size_, &executor_), 0);
  run(aclnnMul);
  const auto out = out_->read<int8_t>();
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[2], 25);
}

TEST_F(FunctionTest, OperandsAreChecked) {
  auto *x = tensor({{2, 3}, {3, 1}}, *a_), *wide = tensor({{4}, {1}}, *b_),
       *half = tensor({{2, 3}, {3, 1}}, *b_, ACL_FLOAT16), *y = tensor({{2, 3}, {3, 1}}, *out_),
       *bits = tensor({{2, 3}, {3, 1}}, *out_, ACL_UINT32),
       *shifted = tensor({{2, 3}, {3, 1}, 1}, *out_);
  expect_broken(aclnnMulGetWorkspaceSize(x, wide, y, &size_, &executor_), 161002, Rule::shape);
  expect_broken(aclnnMulGetWorkspaceSize(x, half, y, &size_, &executor_), 161002, Rule::shape);
  expect_broken(aclnnMulGetWorkspaceSize(bits, bits, bits, &size_, &executor_), 161002,
                Rule::dtype);
  expect_broken(aclnnMulGetWorkspaceSize(y, x, shifted, &size_, &executor_), 161002,
                Rule::aliasing);
  expect_broken(aclnnSiluGetWorkspaceSize(wide, y, &size_, &executor_), 161002, Rule::shape);
  expect_refused(aclnnAddGetWorkspaceSize(x, x, nullptr, y, &size_, &executor_), 161001);
  expect_refused(aclnnAddGetWorkspaceSize(x, x, scalar(2), y, &size_, &executor_), 161002);
  expect_refused(aclnnGeluV2GetWorkspaceSize(x, 2, y, &size_, &executor_), 161002);
  expect_refused(aclnnSiluGetWorkspaceSize(nullptr, y, &size_, &executor_), 161001);
  ASSERT_EQ(aclnnMulGetWorkspaceSize(y, x, y, &size_, &executor_), 0);  // in place
  ASSERT_EQ(aclnnMul(room_->get(), 8192, executor_, nullptr), 0);
  expect_broken(aclnnMul(room_->get(), 8192, executor_, nullptr), 561103, Rule::executor_reuse);
}

TEST_F(FunctionTest, GeluIsByErfOrTanh) {
  a_->write(std::vector<float>{1.5f});
  auto *x = tensor({{1}, {1}}, *a_), *y = tensor({{1}, {1}}, *out_);
  float results[2];
  for (int64_t by_tanh : {0, 1}) {
    ASSERT_EQ(aclnnGeluV2GetWorkspaceSize(x, by_tanh, y, &size_, &executor_), 0);
    run(aclnnGeluV2);
    results[by_tanh] = out_->read<float>()[0];
  }
  EXPECT_FLOAT_EQ(results[0], 1.39978919f);
  EXPECT_NEAR(results[1], results[0], 1e-3);
  EXPECT_NE(results[1], results[0]);
}

TEST_F(FunctionTest, CastTruncatesAndWraps) {
  a_->write(std::vector<float>{2.7f, -2.7f, 300.0f, 0.3f});
  auto *x = tensor({{4}, {1}}, *a_), *y = tensor({{4}, {1}}, *out_, ACL_INT8),
       *yes = tensor({{4}, {1}}, *b_, ACL_BOOL);
  expect_broken(aclnnCastGetWorkspaceSize(x, ACL_INT16, y, &size_, &executor_), 161002,
                Rule::shape);
  ASSERT_EQ(aclnnCastGetWorkspaceSize(x, ACL_INT8, y, &size_, &executor_), 0);
  run(aclnnCast);
  const auto out = out_->read<int8_t>();
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], -2);
  EXPECT_EQ(out[2], 44);
  ASSERT_EQ(aclnnCastGetWorkspaceSize(x, ACL_BOOL, yes, &size_, &executor_), 0);
  run(aclnnCast);
  EXPECT_EQ(b_->read<int8_t>()[3], 1);
}

TEST_F(FunctionTest, RmsNormWantsRstdAndDenseOperands) {
  a_->write(std::vector<float>{3, 4, 0, 0});
  b_->write(std::vector<float>{1, 2});
  auto *x = tensor({{2, 2}, {2, 1}}, *a_), *w = tensor({{2}, {1}}, *b_),
       *y = tensor({{2, 2}, {2, 1}}, *out_), *crossed = tensor({{2, 2}, {1, 2}}, *out_),
       *rstd = tensor({{2, 1}, {1, 1}}, *room_), *flat = tensor({{2}, {1}}, *room_);
  const auto first = [&](aclTensor* to, aclTensor* factors) {
    return aclnnRmsNormGetWorkspaceSize(x, w, 0.5, to, factors, &size_, &executor_);
  };
  expect_refused(first(y, nullptr), 161001);
  expect_broken(first(y, flat), 161002, Rule::shape);
  expect_broken(first(crossed, rstd), 161002, Rule::tensor_layout);
  ASSERT_EQ(first(y, rstd), 0);
  ASSERT_EQ(size_, 0u);
  ASSERT_EQ(aclnnRmsNorm(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  const auto out = out_->read<float>();
  EXPECT_FLOAT_EQ(out[0], 3 / std::sqrt(13.0f));
  EXPECT_FLOAT_EQ(out[1], 8 / std::sqrt(13.0f));
  EXPECT_EQ(out[2], 0);
}

TEST_F(FunctionTest, MaskedSoftmaxSeesWhatIsNotHidden) {
  a_->write(std::vector<float>{1, NAN, 1, 1});
  b_->write(std::vector<int8_t>{0, 1, 0, 0});
  auto *x = tensor({{2, 2}, {2, 1}}, *a_), *mask = tensor({{2, 2}, {2, 1}}, *b_, ACL_BOOL),
       *y = tensor({{2, 2}, {2, 1}}, *out_);
  ASSERT_EQ(
      aclnnInplaceMaskedFillScalarGetWorkspaceSize(x, mask, scalar(-INFINITY), &size_, &executor_),
      0);
  run(aclnnInplaceMaskedFillScalar);
  expect_broken(aclnnSoftmaxGetWorkspaceSize(x, 2, y, &size_, &executor_), 161002, Rule::shape);
  ASSERT_EQ(aclnnSoftmaxGetWorkspaceSize(x, -1, y, &size_, &executor_), 0);
  run(aclnnSoftmax);
  const auto out = out_->read<float>();
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[3], 0.5f);
}

TEST_F(FunctionTest, IndicesStayInside) {
  a_->write(std::vector<float>{1, 2, 3, 4});
  b_->write(std::vector<int64_t>{1, 0, 2});
  auto *table = tensor({{2, 2}, {2, 1}}, *a_), *good = tensor({{2}, {1}}, *b_, ACL_INT64),
       *bad = tensor({{3}, {1}}, *b_, ACL_INT64), *y = tensor({{2, 2}, {2, 1}}, *out_),
       *more = tensor({{3, 2}, {2, 1}}, *out_);
  expect_broken(aclnnIndexSelectGetWorkspaceSize(table, 0, bad, y, &size_, &executor_), 161002,
                Rule::shape);
  ASSERT_EQ(aclnnIndexSelectGetWorkspaceSize(table, 0, good, y, &size_, &executor_), 0);
  run(aclnnIndexSelect);
  EXPECT_EQ(out_->read<float>()[0], 3);
  ASSERT_EQ(aclnnIndexSelectGetWorkspaceSize(table, 0, bad, more, &size_, &executor_), 0);
  run(aclnnIndexSelect);
  expect_broken(0, 0, Rule::out_of_bounds);
}

}  // namespace
}  // namespace cann_emulator
