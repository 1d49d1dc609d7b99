// Batches of rearrangements through the C API.
#include <gtest/gtest.h>

#include <numeric>

#include "backends/cpu/rearrange/schedule.h"
#include "base/threads/thread_count.h"
#include "tests/allocation_counter.h"
#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

struct BatchOp {
  BatchOp(const Handle& handle, std::vector<infiniopTensorDescriptor_t> dst,
          std::vector<infiniopTensorDescriptor_t> src) {
    EXPECT_OK(infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, dst.size(), dst.data(),
                                                     src.data()));
  }
  ~BatchOp() { infiniopDestroyRearrangeBatchDescriptor(desc); }
  infiniopRearrangeBatchDescriptor_t desc = nullptr;
};

// `count` matrices of rows x columns and room for their transposes.
struct Matrices {
  Matrices(size_t count, size_t rows, size_t columns)
      : rows(rows),
        columns(columns),
        x(count, std::vector<float>(rows * columns)),
        y(count, std::vector<float>(rows * columns)) {
    for (size_t i = 0; i < count; ++i) {
      std::iota(x[i].begin(), x[i].end(), static_cast<float>(i * 1000));
      src.push_back(x[i].data());
      dst.push_back(y[i].data());
    }
  }
  void expect_transposed(size_t count) const {
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c)
          ASSERT_EQ(i < count ? x[i][r * columns + c] : 0.0f, y[i][c * rows + r]) << "copy " << i;
  }
  size_t rows, columns;
  std::vector<std::vector<float>> x, y;
  std::vector<const void*> src;
  std::vector<void*> dst;
};

TEST(CapiRearrangeBatch, SharedLayoutsTakeAnyCount) {
  const Handle handle;
  const Tensor src({70, 33}), dst({70, 33}, {1, 70});
  const BatchOp op(handle, {dst.desc}, {src.desc});
  for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{100}}) {
    Matrices m(100, 70, 33);
    EXPECT_OK(infiniopRearrangeBatch(op.desc, count, m.dst.data(), m.src.data(), nullptr));
    m.expect_transposed(count);
  }
}

TEST(CapiRearrangeBatch, OwnLayoutsAreRunTogether) {
  const Handle handle;
  const Tensor a({2, 3}), at({2, 3}, {1, 2}), empty({0, 3}), big({300, 400}),
      bigt({300, 400}, {1, 300});
  const BatchOp op(handle, {at.desc, empty.desc, bigt.desc}, {a.desc, empty.desc, big.desc});
  Matrices small(1, 2, 3), large(1, 300, 400);
  void* dst[] = {small.dst[0], nullptr, large.dst[0]};
  const void* src[] = {small.src[0], nullptr, large.src[0]};
  set_thread_count(3);
  EXPECT_OK(infiniopRearrangeBatch(op.desc, 3, dst, src, nullptr));
  set_thread_count(0);
  small.expect_transposed(1);
  large.expect_transposed(1);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopRearrangeBatch(op.desc, 2, dst, src, nullptr));
  EXPECT_STREQ("count is 2 but the batch was made of 3 pairs of layouts",
               infiniGetLastErrorString());
}

TEST(CapiRearrangeBatch, ManyThreadsGiveTheSameBytes) {
  const Handle handle;
  const Tensor src({70, 33}), dst({70, 33}, {1, 70});
  const BatchOp op(handle, {dst.desc}, {src.desc});
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    Matrices m(400, 70, 33);
    EXPECT_OK(infiniopRearrangeBatch(op.desc, 400, m.dst.data(), m.src.data(), nullptr));
    m.expect_transposed(400);
  }
  set_thread_count(0);
}

// Shares of equal bytes, which do not divide what there is: the last copies are somebody's, too.
TEST(CapiRearrangeBatch, TheLastBytesAreMovedWhateverTheShares) {
  const Handle handle;
  const Tensor one({1}, {}, INFINI_DTYPE_U8);
  const BatchOp op(handle, {one.desc}, {one.desc});
  cpu::Policy policy;
  policy.threads = 4;
  policy.bytes_per_thread = 16;
  const cpu::ForcedPolicy lowered(policy);
  for (const size_t count : {size_t{64}, size_t{65}, size_t{66}, size_t{67}}) {
    std::vector<char> x(count, 1), y(count, 0);
    std::vector<const void*> src(count);
    std::vector<void*> dst(count);
    for (size_t i = 0; i < count; ++i) src[i] = &x[i], dst[i] = &y[i];
    EXPECT_OK(infiniopRearrangeBatch(op.desc, count, dst.data(), src.data(), nullptr));
    EXPECT_EQ(x, y) << count;
  }
}

// A copy onto itself goes through temporary memory, as it does alone.
TEST(CapiRearrangeBatch, OverlappingCopiesAreRight) {
  const Handle handle;
  const Tensor src({3, 3}), dst({3, 3}, {1, 3});
  const BatchOp op(handle, {dst.desc}, {src.desc});
  std::vector<float> x(9);
  std::iota(x.begin(), x.end(), 0.0f);
  void* to[] = {x.data()};
  const void* from[] = {x.data()};
  EXPECT_OK(infiniopRearrangeBatch(op.desc, 1, to, from, nullptr));
  EXPECT_EQ(std::vector<float>({0, 3, 6, 1, 4, 7, 2, 5, 8}), x);
}

TEST(CapiRearrangeBatch, BadArgumentsAreAnswered) {
  const Handle handle;
  const Tensor t({2, 3}), other({3, 2});
  infiniopRearrangeBatchDescriptor_t desc = nullptr;
  const infiniopTensorDescriptor_t two[] = {t.desc, t.desc}, wrong[] = {t.desc, other.desc};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, 0, two, two));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, 2, nullptr, two));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, 2, two, nullptr));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopCreateRearrangeBatchDescriptor(handle.handle, nullptr, 2, two, two));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE,
            infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, 2, wrong, two));
  EXPECT_STREQ("copy 1: dst has shape 3x2 but src has shape 2x3; they must be equal",
               infiniGetLastErrorString());
  EXPECT_EQ(nullptr, desc);
  const BatchOp op(handle, {t.desc}, {t.desc});
  float x[6] = {}, y[6] = {};
  void* to[] = {y, nullptr};
  const void* from[] = {x, x};
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniopRearrangeBatch(op.desc, 2, to, from, nullptr));
  EXPECT_STREQ("dst[1] is NULL", infiniGetLastErrorString());
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniopRearrangeBatch(op.desc, 1, nullptr, from, nullptr));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniopRearrangeBatch(nullptr, 1, to, from, nullptr));
}

TEST(CapiRearrangeBatch, RunningAllocatesNothing) {
  const Handle handle;
  const Tensor src({8, 16}), dst({8, 16}, {1, 8});
  const BatchOp op(handle, {dst.desc}, {src.desc});
  Matrices m(10, 8, 16);
  EXPECT_OK(infiniopRearrangeBatch(op.desc, 10, m.dst.data(), m.src.data(), nullptr));
  const auto before = allocation_count();
  EXPECT_OK(infiniopRearrangeBatch(op.desc, 10, m.dst.data(), m.src.data(), nullptr));
  EXPECT_EQ(before, allocation_count());
}

TEST(CapiRearrangeBatch, IsCapturedIntoGraphs) {
  const Handle handle;
  const Tensor src({70, 33}), dst({70, 33}, {1, 70});
  const BatchOp op(handle, {dst.desc}, {src.desc});
  Matrices m(3, 70, 33);
  infinirtStream_t stream;
  infinirtGraph_t graph;
  infinirtGraphExec_t exec;
  ASSERT_OK(infinirtStreamCreate(&stream));
  ASSERT_OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(infiniopRearrangeBatch(op.desc, 3, m.dst.data(), m.src.data(), stream));
  ASSERT_OK(infinirtStreamEndCapture(stream, &graph));
  m.expect_transposed(0);
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  EXPECT_OK(infinirtGraphLaunch(exec, stream));
  m.expect_transposed(3);
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

}  // namespace
}  // namespace infini::test
