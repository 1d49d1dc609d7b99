// Gemm through the C API: bad arguments, aliasing, workspaces, threads, captured streams.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "tests/allocation_counter.h"
#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

struct GemmOp {
  GemmOp(const Handle& handle, const Tensor& c, const Tensor& a, const Tensor& b) {
    EXPECT_OK(infiniopCreateGemmDescriptor(handle.handle, &desc, c.desc, a.desc, b.desc));
    EXPECT_OK(infiniopGetGemmWorkspaceSize(desc, &bytes));
    EXPECT_EQ(0, posix_memalign(&workspace, 64, bytes + 64));
  }
  ~GemmOp() {
    infiniopDestroyGemmDescriptor(desc);
    free(workspace);
  }
  GemmOp(const GemmOp&) = delete;
  GemmOp& operator=(const GemmOp&) = delete;
  infiniStatus_t run(void* c, const void* a, const void* b, float alpha = 1, float beta = 0) const {
    return infiniopGemm(desc, workspace, bytes, c, a, b, alpha, beta, nullptr);
  }
  infiniopGemmDescriptor_t desc = nullptr;
  size_t bytes = 0;
  void* workspace = nullptr;
};

void expect_words(const char* words) {
  EXPECT_NE(std::string(infiniGetLastErrorString()).find(words), std::string::npos)
      << infiniGetLastErrorString();
}

TEST(CapiGemm, MultipliesTwoByTwo) {
  const Handle handle;
  const Tensor square({2, 2});
  const GemmOp op(handle, square, square, square);
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[] = {NAN, NAN, NAN, NAN};
  ASSERT_OK(op.run(c, a, b));
  EXPECT_EQ(std::vector<float>({19, 22, 43, 50}), std::vector<float>(c, c + 4));
  ASSERT_OK(op.run(c, a, b, 2, -1));
  EXPECT_EQ(std::vector<float>({19, 22, 43, 50}), std::vector<float>(c, c + 4));
  ASSERT_OK(op.run(c, nullptr, nullptr, 0, 2)) << "alpha 0 reads neither a nor b";
  EXPECT_EQ(std::vector<float>({38, 44, 86, 100}), std::vector<float>(c, c + 4));
}

TEST(CapiGemm, ScalesAreDoubles) {
  const Handle handle;
  const Tensor wide({1, 1}, {}, INFINI_DTYPE_F64), narrow({1, 1});
  const GemmOp of_f64(handle, wide, wide, wide), of_f32(handle, narrow, narrow, narrow);
  const double a = 3, b = 1;
  double c = 5;
  infiniopGemmScales_t scales{sizeof scales, 0.1, 1.0 / 3};
  const auto run = [&](const GemmOp& op, void* to, const void* left, const void* right) {
    return infiniopGemmWithScales(op.desc, op.workspace, op.bytes, to, left, right, &scales,
                                  nullptr);
  };
  ASSERT_OK(run(of_f64, &c, &a, &b));
  EXPECT_NEAR(c, 0.1 * 3 + 1.0 / 3 * 5, 1e-15);
  const float x = 3, y = 1;
  float z = 5, expected = 5;
  ASSERT_OK(run(of_f32, &z, &x, &y));
  ASSERT_OK(of_f32.run(&expected, &x, &y, 0.1f, static_cast<float>(1.0 / 3)));
  EXPECT_EQ(z, expected) << "rounded to f32";
  scales = {sizeof scales, 1e-60, 1};
  ASSERT_OK(run(of_f32, &z, nullptr, nullptr)) << "rounded to 0: reads neither a nor b";
  ASSERT_OK(run(of_f64, &c, &a, &b));
  scales.size = 8;
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(of_f64, &c, &a, &b));
  expect_words("scales->size is 8");
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER,
            infiniopGemmWithScales(of_f64.desc, of_f64.workspace, of_f64.bytes, &c, &a, &b, nullptr,
                                   nullptr));
}

TEST(CapiGemm, EveryNullPointerIsAnswered) {
  const Handle handle;
  const Tensor square({2, 2});
  const GemmOp op(handle, square, square, square);
  float x[4] = {};
  const auto null = INFINI_STATUS_NULL_POINTER;
  infiniopGemmDescriptor_t desc = nullptr;
  EXPECT_EQ(null,
            infiniopCreateGemmDescriptor(nullptr, &desc, square.desc, square.desc, square.desc));
  EXPECT_EQ(null, infiniopCreateGemmDescriptor(handle.handle, nullptr, square.desc, square.desc,
                                               square.desc));
  EXPECT_EQ(null,
            infiniopCreateGemmDescriptor(handle.handle, &desc, nullptr, square.desc, square.desc));
  EXPECT_EQ(null,
            infiniopCreateGemmDescriptor(handle.handle, &desc, square.desc, nullptr, square.desc));
  EXPECT_EQ(null,
            infiniopCreateGemmDescriptor(handle.handle, &desc, square.desc, square.desc, nullptr));
  size_t bytes = 0;
  EXPECT_EQ(null, infiniopGetGemmWorkspaceSize(nullptr, &bytes));
  EXPECT_EQ(null, infiniopGetGemmWorkspaceSize(op.desc, nullptr));
  EXPECT_EQ(null, infiniopGemm(nullptr, nullptr, 0, x, x, x, 1, 0, nullptr));
  EXPECT_EQ(null, op.run(nullptr, x, x));
  EXPECT_EQ(null, op.run(x, nullptr, x));
  EXPECT_EQ(null, op.run(x, x, nullptr));
  EXPECT_OK(infiniopDestroyGemmDescriptor(nullptr));
}

TEST(CapiGemm, WorkspacesAreChecked) {
  const Handle handle;
  // f16 is widened on the way, whichever library INFINI_GEMM names: none of them takes it.
  const Tensor half({300, 300}, {}, INFINI_DTYPE_F16), square({300, 300});
  const GemmOp op(handle, square, half, half);
  ASSERT_GT(op.bytes, 0u);
  constexpr uint16_t one = 0x3c00;
  std::vector<uint16_t> a(90000, one), b(90000, one);
  std::vector<float> c(90000);
  const auto run = [&](void* workspace, size_t size) {
    return infiniopGemm(op.desc, workspace, size, c.data(), a.data(), b.data(), 1, 0, nullptr);
  };
  EXPECT_EQ(INFINI_STATUS_INSUFFICIENT_WORKSPACE, run(op.workspace, op.bytes - 1));
  expect_words(std::to_string(op.bytes).c_str());
  expect_words(std::to_string(op.bytes - 1).c_str());
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, run(nullptr, op.bytes));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, run(static_cast<char*>(op.workspace) + 4, op.bytes));
  expect_words("64-byte aligned");
  EXPECT_OK(run(op.workspace, op.bytes));
  EXPECT_EQ(300, c[77]);
}

TEST(CapiGemm, RefusesToWorkInPlaceButTakesNeighbours) {
  const Handle handle;
  const Tensor square({4, 4}), left({4, 4}, {12, 1});
  std::vector<float> x(48, 1);
  const GemmOp op(handle, square, square, square);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, op.run(x.data(), x.data(), x.data() + 16));
  expect_words("shares memory with a");
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, op.run(x.data(), x.data() + 16, x.data() + 15));
  expect_words("shares memory with b");
  const GemmOp slices(handle, left, left, left);  // three column slices of one buffer
  EXPECT_OK(slices.run(x.data() + 8, x.data(), x.data() + 4));
  EXPECT_EQ(4, x[8]);
  EXPECT_EQ(1, x[7]);
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, slices.run(x.data() + 3, x.data(), x.data() + 8));
}

TEST(CapiGemm, RefusesPointersBetweenElements) {
  const Handle handle;
  const Tensor square({2, 2});
  const GemmOp op(handle, square, square, square);
  alignas(8) char x[64] = {};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, op.run(x + 2, x + 16, x + 32));
  expect_words("c (");
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, op.run(x, x + 17, x + 32));
}

TEST(CapiGemm, OptionsAreVersioned) {
  const Handle handle;
  const Tensor square({2, 2});
  infiniopGemmDescriptor_t desc = nullptr;
  infiniopGemmOptions_t options{0, 1};
  const auto create = [&] {
    return infiniopCreateGemmDescriptorWithOptions(handle.handle, &desc, square.desc, square.desc,
                                                   square.desc, &options);
  };
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create());
  options.size = sizeof options;
  EXPECT_OK(create());
  EXPECT_OK(infiniopDestroyGemmDescriptor(desc));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, infiniopDestroyGemmDescriptor(desc)) << "destroyed already";
}

TEST(CapiGemm, HugeEmptyProductsAreNothing) {
  const Handle handle;
  const size_t huge = size_t{1} << 62;
  const Tensor c({huge, 0}), a({huge, 0}), b({0, 0});
  const GemmOp op(handle, c, a, b);
  EXPECT_EQ(0u, op.bytes);
  EXPECT_OK(op.run(nullptr, nullptr, nullptr));
}

TEST(CapiGemm, OneDescriptorServesManyThreads) {
  const Handle handle;
  const Tensor square({64, 64});
  const GemmOp op(handle, square, square, square);
  const std::vector<float> a(4096, 2), b(4096, 3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      std::vector<float> c(4096);
      void* workspace = nullptr;
      ASSERT_EQ(0, posix_memalign(&workspace, 64, op.bytes + 64));
      for (int i = 0; i < 20; ++i)
        EXPECT_OK(infiniopGemm(op.desc, workspace, op.bytes, c.data(), a.data(), b.data(), 1, 1,
                               nullptr));
      EXPECT_EQ(20 * 64 * 6, c[4095]);
      free(workspace);
    });
  for (auto& thread : threads) thread.join();
}

TEST(CapiGemm, ReplaysFromAGraphAfterItsDescriptorIsGone) {
  const Handle handle;
  const Tensor square({2, 2});
  const float a[] = {1, 0, 0, 1}, b[] = {1, 2, 3, 4};
  float c[4] = {};
  alignas(64) char workspace[4096];  // outlives the descriptor
  infinirtStream_t stream = nullptr;
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  ASSERT_OK(infinirtStreamCreate(&stream));
  {
    const GemmOp op(handle, square, square, square);
    ASSERT_LE(op.bytes, sizeof workspace)
        << "small products need none, or little where INFINI_GEMM forbids `direct`";
    ASSERT_OK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
    ASSERT_OK(infiniopGemm(op.desc, workspace, sizeof workspace, c, a, b, 1, 1, stream));
    ASSERT_OK(infinirtStreamEndCapture(stream, &graph));
  }
  EXPECT_EQ(0, c[3]) << "recorded, not run";
  ASSERT_OK(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  ASSERT_OK(infinirtGraphLaunch(exec, stream));
  ASSERT_OK(infinirtGraphLaunch(exec, stream));
  ASSERT_OK(infinirtStreamSynchronize(stream));
  EXPECT_EQ(8, c[3]);
  EXPECT_OK(infinirtGraphExecDestroy(exec));
  EXPECT_OK(infinirtGraphDestroy(graph));
  EXPECT_OK(infinirtStreamDestroy(stream));
}

TEST(CapiGemm, ARunAllocatesNothing) {
  const Handle handle;
  const Tensor square({200, 200});
  const GemmOp op(handle, square, square, square);
  const std::vector<float> a(40000, 1), b(40000, 1);
  std::vector<float> c(40000);
  ASSERT_OK(op.run(c.data(), a.data(), b.data()));  // threads are made here
  const auto before = allocation_count();
  ASSERT_OK(op.run(c.data(), a.data(), b.data()));
  EXPECT_EQ(before, allocation_count());
}

}  // namespace
}  // namespace infini::test
