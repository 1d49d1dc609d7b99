// The emulated BLAS: column-major products, ordered with the stream, bounds checked.
#include <gtest/gtest.h>

#include <vector>

#include "cublas_v2.h"
#include "xpu/runtime.h"
#include "xpu_emulator.h"

namespace {
class Blas : public testing::Test {
 protected:
  void SetUp() override {
    xpu_emu_clear();
    ASSERT_EQ(CUBLAS_STATUS_SUCCESS, cublasCreate(&handle));
  }
  void TearDown() override {
    EXPECT_EQ(CUBLAS_STATUS_SUCCESS, cublasDestroy(handle));
    EXPECT_EQ(CUBLAS_STATUS_NOT_INITIALIZED, cublasDestroy(handle));
    xpu_emu_reset_device(0);
    xpu_emu_clear();
  }
  float* upload(const std::vector<float>& values) {
    void* p = nullptr;
    EXPECT_EQ(0, xpu_malloc(&p, values.size() * 4));
    EXPECT_EQ(0, xpu_memcpy(p, values.data(), values.size() * 4, XPU_HOST_TO_DEVICE));
    return static_cast<float*>(p);
  }
  std::vector<float> download(const float* p, size_t n) {
    std::vector<float> values(n);
    EXPECT_EQ(0, xpu_memcpy(values.data(), p, n * 4, XPU_DEVICE_TO_HOST));
    return values;
  }
  cublasStatus_t gemm(cublasOperation_t ta, int m, int n, int k, const float* a, int lda,
                      const float* b, int ldb, float beta, float* c, int ldc,
                      cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
    const float alpha = 1;
    return cublasGemmStridedBatchedEx(handle, ta, CUBLAS_OP_N, m, n, k, &alpha, a, CUDA_R_32F, lda,
                                      0, b, CUDA_R_32F, ldb, 0, &beta, c, CUDA_R_32F, ldc, 0, 1,
                                      compute, CUBLAS_GEMM_DEFAULT);
  }
  cublasHandle_t handle = nullptr;
};

TEST_F(Blas, ColumnMajorProduct) {
  float* a = upload({1, 2, 3, 4, 5, 6});  // 2x3: rows 1 3 5, 2 4 6
  float* b = upload({1, 0, 1, 0, 1, 0});  // 3x2
  float* c = upload({9, 9, 9, 9});
  ASSERT_EQ(CUBLAS_STATUS_SUCCESS, gemm(CUBLAS_OP_N, 2, 2, 3, a, 2, b, 3, 0, c, 2));
  EXPECT_EQ((std::vector<float>{6, 8, 3, 4}), download(c, 4));
  ASSERT_EQ(CUBLAS_STATUS_SUCCESS, gemm(CUBLAS_OP_T, 2, 2, 3, a, 3, b, 3, 1, c, 2));
  EXPECT_EQ((std::vector<float>{10, 18, 5, 9}), download(c, 4));
  EXPECT_EQ(0, xpu_emu_violations());
  for (float* p : {a, b, c}) xpu_free(p);
}

TEST_F(Blas, RefusesWhatIsWrong) {
  float* c = upload({0, 0, 0, 0});
  EXPECT_EQ(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 2, 2, 1, c, 1, c, 1, 0, c, 2));
  EXPECT_EQ(CUBLAS_STATUS_SUCCESS, gemm(CUBLAS_OP_N, 8, 8, 8, c, 8, c, 8, 0, c, 8));
  EXPECT_EQ(-XPUERR_KEXCEPTION, xpu_wait());
  EXPECT_EQ(1, xpu_emu_violations_of(XPU_EMU_BOUNDS));
  xpu_free(c);
}

TEST_F(Blas, TensorFloat32LosesBits) {
  float* a = upload({1.0f + 1.0f / 8192});
  float* b = upload({1});
  float* c = upload({0});
  ASSERT_EQ(CUBLAS_STATUS_SUCCESS, gemm(CUBLAS_OP_N, 1, 1, 1, a, 1, b, 1, 0, c, 1));
  EXPECT_EQ(1.0f + 1.0f / 8192, download(c, 1)[0]);
  ASSERT_EQ(CUBLAS_STATUS_SUCCESS,
            gemm(CUBLAS_OP_N, 1, 1, 1, a, 1, b, 1, 0, c, 1, CUBLAS_COMPUTE_32F_FAST_TF32));
  EXPECT_EQ(1.0f, download(c, 1)[0]);
  for (float* p : {a, b, c}) xpu_free(p);
}
}  // namespace
