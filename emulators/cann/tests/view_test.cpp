// The classifier: which unit of the chip takes which destination and source.
#include "view.h"

#include "fixture.h"

namespace cann_emulator {
namespace {

Tensor view(std::vector<int64_t> dims, std::vector<int64_t> strides,
            aclDataType dtype = ACL_INT32) {
  Tensor t;
  t.dims = std::move(dims);
  t.strides = std::move(strides);
  t.dtype = dtype;
  return t;
}

TEST(Target, DenseAndPermuted) {
  EXPECT_EQ(classify_target(view({4, 5, 6}, {30, 6, 1})), TargetPath::tensor_move);
  EXPECT_EQ(classify_target(view({4, 5, 6}, {1, 4, 20})), TargetPath::transpose);
}

TEST(Target, OneGapIsForTheAiCore) {
  EXPECT_EQ(classify_target(view({10, 7}, {9, 1})), TargetPath::ai_core);  // row pitch
  EXPECT_EQ(classify_target(view({70}, {2})), TargetPath::ai_core);        // uniform step
  EXPECT_EQ(classify_target(view({10, 7}, {14, 2})),
            TargetPath::ai_core);  // the same in two dimensions
  EXPECT_EQ(classify_target(view({4, 10, 7}, {90, 9, 1})), TargetPath::ai_core);
}

TEST(Target, SeveralPitchesNeedRunsOf32) {
  EXPECT_EQ(classify_target(view({4, 10, 32}, {500, 40, 1})), TargetPath::ai_core);
  EXPECT_EQ(classify_target(view({4, 10, 31}, {500, 40, 1})), TargetPath::ai_cpu);
  EXPECT_EQ(classify_target(view({2, 4, 10, 32}, {5000, 500, 40, 1})), TargetPath::ai_core);
  EXPECT_EQ(classify_target(view({2, 2, 4, 10, 32}, {50000, 5000, 500, 40, 1})),
            TargetPath::ai_cpu);
}

TEST(Target, StepAndPitchTogetherGoToTheAiCpu) {
  EXPECT_EQ(classify_target(view({10, 7}, {20, 2})), TargetPath::ai_cpu);
  EXPECT_EQ(classify_target(view({10, 7}, {1, 20})), TargetPath::ai_cpu);
  EXPECT_EQ(classify_target(view({10, 7}, {9, 1}, ACL_DOUBLE)), TargetPath::ai_cpu);
}

TEST(Source, Patterns) {
  EXPECT_EQ(classify_source(view({4, 5}, {5, 1})), SourcePath::direct);
  EXPECT_EQ(classify_source(view({4, 5}, {1, 4})), SourcePath::transpose);
  EXPECT_EQ(classify_source(view({4, 5}, {0, 1})), SourcePath::broadcast);
  EXPECT_EQ(classify_source(view({4, 5}, {8, 1})), SourcePath::slice);
  EXPECT_EQ(classify_source(view({4, 5}, {10, 2})), SourcePath::strided_slice);
  EXPECT_EQ(classify_source(view({4, 5}, {11, 2})), SourcePath::as_strided);
  EXPECT_EQ(classify_source(view({4, 5}, {11, 2}, ACL_DOUBLE)), SourcePath::ai_cpu);
}

TEST(StridedCopy, WalksAnyStrides) {
  auto src = iota<int32_t>(24);
  std::vector<int32_t> dst(12, 0);
  strided_copy(reinterpret_cast<unsigned char*>(dst.data()), {1, 3},
               reinterpret_cast<unsigned char*>(src.data() + 23), {-1, -6}, {3, 4}, 4);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(dst[static_cast<size_t>(i + 3 * j)], 24 - i - 6 * j);
}

}  // namespace
}  // namespace cann_emulator
