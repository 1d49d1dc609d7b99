// Two-phase operators: results, and misuse of tensors, executors, addresses, workspaces and types
// is caught.
#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_flip.h"
#include "aclnnop/aclnn_gemm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "fixture.h"

namespace cann_emulator {
namespace {

class Operator : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    a_ = std::make_unique<Buffer>(4096);
    b_ = std::make_unique<Buffer>(4096);
    scratch_ = std::make_unique<Buffer>(8192);
    a_->write(iota<int32_t>(1024));
    ASSERT_EQ(aclrtMemset(b_->get(), 4096, 0, 4096), 0);
  }
  void TearDown() override {
    for (auto* t : tensors_) EXPECT_EQ(aclDestroyTensor(t), 0);
    ASSERT_EQ(aclrtSynchronizeDevice(), 0);
    a_.reset();
    b_.reset();
    scratch_.reset();
    OnDevice::TearDown();
  }
  aclTensor* tensor(const View& v, void* p) { return tensors_.emplace_back(make_tensor(v, p)); }
  int first(aclTensor* dst, aclTensor* src) {
    return aclnnInplaceCopyGetWorkspaceSize(dst, src, &size_, &executor_);
  }
  int second() { return aclnnInplaceCopy(scratch_->get(), 8192, executor_, nullptr); }

  std::unique_ptr<Buffer> a_, b_, scratch_;
  std::vector<aclTensor*> tensors_;
  uint64_t size_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

const View dense{{8, 16}, {16, 1}};

TEST_F(Operator, CopiesAndBroadcasts) {
  auto* dst = tensor({{8, 16}, {1, 8}}, b_->get());
  auto* src = tensor({{8, 1}, {5, 1}}, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  EXPECT_GT(size_, 0u);
  ASSERT_EQ(second(), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  auto out = b_->read<int32_t>();
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 16; ++j) EXPECT_EQ(out[static_cast<size_t>(i + 8 * j)], 5 * i + 1);
  EXPECT_EQ(counters().transpose, 1u);
  EXPECT_EQ(counters().source_slice, 1u);
}

TEST_F(Operator, AnExecutorRunsOnce) {
  auto *dst = tensor(dense, b_->get()), *src = tensor(dense, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  ASSERT_EQ(second(), 0);
  expect_broken(second(), 561103, Rule::executor_reuse);
  ASSERT_EQ(first(dst, src), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(second(), 0);
  EXPECT_EQ(counters().repeatable_runs, 2u);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
  expect_refused(aclDestroyAclOpExecutor(nullptr), 561103);
}

TEST_F(Operator, AFailedSecondPhaseAlsoConsumes) {
  auto *dst = tensor(dense, b_->get()), *src = tensor({{8, 16}, {1, 8}}, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  expect_broken(aclnnInplaceCopy(nullptr, 0, executor_, nullptr), 161001, Rule::workspace);
  expect_broken(second(), 561103, Rule::executor_reuse);
}

TEST_F(Operator, ThePhasesBelongTogether) {
  auto *dst = tensor(dense, b_->get()), *src = tensor(dense, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  expect_broken(aclnnFlip(nullptr, 0, executor_, nullptr), 161002, Rule::executor_reuse);
  ASSERT_EQ(second(), 0);
  ASSERT_EQ(first(dst, src), 0);
  EXPECT_EQ(aclDestroyTensor(tensors_.back()), 0);
  tensors_.pop_back();
  EXPECT_EQ(violations().size(), 1u);
  clear_violations();
  expect_broken(second(), 161002, Rule::live_handle);
}

TEST_F(Operator, WorkspaceRules) {
  auto *dst = tensor(dense, b_->get()), *src = tensor({{8, 16}, {1, 8}}, a_->get());
  auto attempt = [&](void* workspace, uint64_t size) {
    EXPECT_EQ(first(dst, src), 0);
    return aclnnInplaceCopy(workspace, size, executor_, nullptr);
  };
  expect_broken(attempt(scratch_->get(), 16), 161001, Rule::workspace);
  expect_broken(attempt(scratch_->get(8), 4096), 161002, Rule::workspace);
  expect_broken(attempt(b_->get(), 4096), 161002, Rule::workspace);
  expect_broken(attempt(scratch_->get(8128), 4096), 161002, Rule::workspace);
  ASSERT_EQ(attempt(scratch_->get(), 8192), 0);
  expect_broken(aclrtFree(scratch_->get()), 507000,
                Rule::free_in_flight);  // must live until the stream has run
}

TEST_F(Operator, TensorLayouts) {
  auto* good = tensor(dense, b_->get());
  auto* deep = tensor({std::vector<int64_t>(9, 1), std::vector<int64_t>(9, 1)}, a_->get());
  expect_broken(first(good, deep), 161002, Rule::tensor_layout);
  auto* backwards = tensor({{8, 16}, {-16, 1}, 112, 128}, a_->get());
  expect_broken(first(good, backwards), 161002, Rule::tensor_layout);
  auto* uncovered = tensor({{8, 16}, {17, 1}, 0, 128}, a_->get());
  expect_broken(first(good, uncovered), 561103, Rule::storage_coverage);
  auto* crooked = tensor(dense, a_->get(4));
  expect_broken(first(good, crooked), 161002, Rule::alignment);
  auto* beyond = tensor({{8, 16}, {16, 1}, 0, 2000}, a_->get());
  expect_broken(first(good, beyond), 361001, Rule::out_of_bounds);
  auto* other_shape = tensor({{8, 15}, {15, 1}}, a_->get());
  expect_broken(first(good, other_shape), 161002, Rule::shape);
  expect_refused(first(good, nullptr), 161001);
}

TEST_F(Operator, AddressesDoNotChangeBetweenThePhases) {
  auto *dst = tensor(dense, b_->get()), *src = tensor(dense, a_->get());
  ASSERT_EQ(aclSetRawTensorAddr(src, a_->get(512)), 0);
  ASSERT_EQ(first(dst, src), 0);
  expect_broken(aclSetRawTensorAddr(src, a_->get()), 161002, Rule::address_between_phases);
  expect_refused(AclSetTensorAddr(nullptr, 0, src, a_->get()), 561103);  // and stores nothing
  expect_broken(aclSetInputTensorAddr(executor_, 0, src, a_->get()), 161002,
                Rule::address_between_phases);
  ASSERT_EQ(second(), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(b_->read<int32_t>()[0], 129);
}

TEST_F(Operator, ARepeatableExecutorTakesNewAddresses) {
  auto *dst = tensor(dense, b_->get()), *src = tensor(dense, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
  ASSERT_EQ(aclSetInputTensorAddr(executor_, 0, src, a_->get(512)), 0);
  ASSERT_EQ(second(), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  EXPECT_EQ(b_->read<int32_t>()[0], 129);
  ASSERT_EQ(aclDestroyAclOpExecutor(executor_), 0);
}

TEST_F(Operator, TypesAreChecked) {
  View gapped{{4, 5}, {20, 2}, 0, -1, ACL_UINT32};
  auto *dst = tensor(gapped, b_->get()), *src = tensor(gapped, a_->get());
  expect_broken(first(dst, src), 561103, Rule::dtype);  // the AI CPU does not take it
  gapped.dtype = ACL_INT32;
  dst = tensor(gapped, b_->get());
  expect_broken(first(dst, src), 161002, Rule::dtype);  // a cast
  src = tensor(gapped, a_->get());
  ASSERT_EQ(first(dst, src), 0);
  ASSERT_EQ(second(), 0);
  EXPECT_EQ(counters().ai_cpu, 1u);
  View complex{{8, 4}, {1, 8}, 0, -1, ACL_COMPLEX64};
  expect_broken(first(tensor(complex, b_->get()), tensor(complex, a_->get())), 161002, Rule::dtype);
}

TEST_F(Operator, AliasingIsExact) {
  auto *even = tensor({{8}, {2}, 0}, a_->get()), *odd = tensor({{8}, {2}, 1}, a_->get()),
       *shifted = tensor({{8}, {2}, 2}, a_->get());
  ASSERT_EQ(first(even, odd), 0);  // interleaved, but disjoint
  expect_refused(aclSetAclOpExecutorRepeatable(executor_),
                 561000);  // one address for both: not repeatable
  ASSERT_EQ(second(), 0);
  expect_broken(first(even, shifted), 161002, Rule::aliasing);
}

TEST_F(Operator, FlipReverses) {
  int64_t last[] = {-1}, wrong[] = {2};
  aclIntArray *dims = aclCreateIntArray(last, 1), *outside = aclCreateIntArray(wrong, 1);
  auto *dst = tensor(dense, b_->get()), *src = tensor(dense, a_->get());
  expect_broken(aclnnFlipGetWorkspaceSize(src, outside, dst, &size_, &executor_), 161002,
                Rule::shape);
  ASSERT_EQ(aclnnFlipGetWorkspaceSize(src, dims, dst, &size_, &executor_), 0);
  ASSERT_EQ(aclnnFlip(scratch_->get(), 8192, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  auto out = b_->read<int32_t>();
  EXPECT_EQ(out[0], 16);
  EXPECT_EQ(out[15], 1);
  EXPECT_EQ(out[16], 32);
  EXPECT_EQ(aclDestroyIntArray(dims), 0);
  EXPECT_EQ(aclDestroyIntArray(outside), 0);
  expect_broken(aclDestroyIntArray(dims), 161002, Rule::live_handle);
}

TEST_F(Operator, CopiesCastBetweenFloats) {
  a_->write(std::vector<float>{1.0f, 1.0f + 0x1p-11f, -70000.0f, NAN});
  auto* half = tensor({{4}, {1}, 0, -1, ACL_FLOAT16}, b_->get());
  ASSERT_EQ(first(half, tensor({{4}, {1}, 0, -1, ACL_FLOAT}, a_->get())), 0);
  ASSERT_EQ(second(), 0);
  auto* wide = tensor({{4}, {1}, 0, -1, ACL_FLOAT}, b_->get(64));
  ASSERT_EQ(first(wide, half), 0);
  ASSERT_EQ(second(), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  auto out = b_->read<float>();
  EXPECT_EQ(out[16], 1.0f);
  EXPECT_EQ(out[17], 1.0f);  // a tie goes to even
  EXPECT_EQ(out[18], -INFINITY);
  EXPECT_TRUE(std::isnan(out[19]));
}

class Matrix : public Operator {
 protected:
  void SetUp() override {
    Operator::SetUp();
    std::vector<float> values(1024);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
    a_->write(values);
    values_ = values;
  }
  std::vector<float> values_;
};

TEST_F(Matrix, BatchProductWithTransposedInput) {
  auto* a = tensor({{2, 3, 4}, {12, 1, 3}, 0, -1, ACL_FLOAT}, a_->get());
  auto* b = tensor({{1, 4, 5}, {20, 5, 1}, 0, -1, ACL_FLOAT}, a_->get(2048));
  auto* c = tensor({{2, 3, 5}, {15, 5, 1}, 0, -1, ACL_FLOAT}, b_->get());
  ASSERT_EQ(aclnnBatchMatMulGetWorkspaceSize(a, b, c, 0, &size_, &executor_), 0);
  EXPECT_EQ(size_, 0u);
  ASSERT_EQ(aclnnBatchMatMul(nullptr, 0, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  auto out = b_->read<float>();
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 5; ++j) {
        float sum = 0;
        for (int k = 0; k < 4; ++k)
          sum += values_[static_cast<size_t>(n * 12 + i + 3 * k)] *
                 values_[static_cast<size_t>(512 + k * 5 + j)];
        EXPECT_EQ(out[static_cast<size_t>(n * 15 + i * 5 + j)], sum);
      }
}

TEST_F(Matrix, GemmScalesAndDoesNotReadCWithoutBeta) {
  std::vector<float> poison(9, NAN);
  b_->write(poison);
  View square{{3, 3}, {3, 1}, 0, -1, ACL_FLOAT};
  auto *a = tensor(square, a_->get()), *b = tensor(square, a_->get(64)),
       *c = tensor(square, b_->get());
  ASSERT_EQ(aclnnGemmGetWorkspaceSize(a, b, c, 2.0f, 0.0f, 0, 1, c, 0, &size_, &executor_), 0);
  ASSERT_EQ(aclnnGemm(scratch_->get(), 8192, executor_, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  auto out = b_->read<float>();
  float sum = 0;
  for (size_t k = 0; k < 3; ++k) sum += 2 * values_[3 + k] * values_[16 + 6 + k];
  EXPECT_EQ(out[5], sum);
  expect_broken(aclnnGemmGetWorkspaceSize(a, b, c, 1.0f, 1.0f, 0, 0, a, 0, &size_, &executor_),
                161002, Rule::aliasing);
}

TEST_F(Matrix, ShapesTypesAndModes) {
  View square{{3, 3}, {3, 1}, 0, -1, ACL_FLOAT};
  auto *a = tensor(square, a_->get()), *c = tensor(square, b_->get());
  auto* wide = tensor({{4, 3}, {3, 1}, 0, -1, ACL_FLOAT}, a_->get());
  auto* half = tensor({{3, 3}, {3, 1}, 0, -1, ACL_FLOAT16}, a_->get());
  auto* integer = tensor({{3, 3}, {3, 1}, 0, -1, ACL_INT32}, a_->get());
  expect_broken(aclnnMmGetWorkspaceSize(a, wide, c, 0, &size_, &executor_), 161002, Rule::shape);
  expect_broken(aclnnMatmulGetWorkspaceSize(a, half, c, 0, &size_, &executor_), 161002,
                Rule::dtype);
  expect_broken(aclnnMatmulGetWorkspaceSize(a, integer, c, 0, &size_, &executor_), 161002,
                Rule::dtype);
  expect_refused(aclnnMatmulGetWorkspaceSize(a, a, c, 9, &size_, &executor_), 161002);
}

TEST_F(Matrix, DownPrecisionIsVisible) {
  std::vector<float> fine(16, 1.0f + 1.0f / (1 << 20));
  a_->write(fine);
  View one{{1, 1}, {1, 1}, 0, -1, ACL_FLOAT};
  float results[2];
  for (int8_t mode : {0, 1}) {
    auto *a = tensor(one, a_->get()), *b = tensor(one, a_->get(32)), *c = tensor(one, b_->get());
    ASSERT_EQ(aclnnMmGetWorkspaceSize(a, b, c, mode, &size_, &executor_), 0);
    ASSERT_EQ(aclnnMm(nullptr, 0, executor_, nullptr), 0);
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
    results[mode] = b_->read<float>()[0];
  }
  EXPECT_GT(results[0], 1.0f);
  EXPECT_EQ(results[1], 1.0f);
}

}  // namespace
}  // namespace cann_emulator
