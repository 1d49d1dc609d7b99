// The emulated BLAS: products in column-major order, f32 sums of f16, bf16 or f32 elements, put on
// the handle's stream like any other work.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "cublas_v2.h"
#include "operation.h"

struct cublasContext {
  XPUStream stream = nullptr;
};

namespace {
std::mutex handles_mutex;
std::set<cublasHandle_t> handles;

bool is_open(cublasHandle_t handle) {
  std::lock_guard lock(handles_mutex);
  return handles.count(handle) != 0;
}

float from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint32_t to_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float from_half(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return std::copysign(magnitude, half & 0x8000 ? -1.0f : 1.0f);
}

// To nearest, ties to even: the rounding of lrint.
uint16_t to_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  if (magnitude < 0x1p-14f) return sign | static_cast<uint16_t>(std::lrint(magnitude * 0x1p24f));
  const int exponent = std::ilogb(magnitude);
  const auto mantissa = std::lrint(std::ldexp(magnitude, 10 - exponent));  // 1024..2048
  return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + mantissa));
}

size_t size_of(cudaDataType type) { return type == CUDA_R_32F ? 4 : 2; }
bool known(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

float load(const void* base, int64_t index, cudaDataType type) {
  if (type == CUDA_R_32F) return static_cast<const float*>(base)[index];
  if (type == CUDA_R_16F) return from_half(static_cast<const uint16_t*>(base)[index]);
  return from_bits(static_cast<uint32_t>(static_cast<const uint16_t*>(base)[index]) << 16);
}

void store(void* base, int64_t index, float value, cudaDataType type) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(base)[index] = value;
  } else if (type == CUDA_R_16F) {
    static_cast<uint16_t*>(base)[index] = to_half(value);
  } else {
    const uint32_t bits = to_bits(value);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const uint32_t rounded = nan ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
    static_cast<uint16_t*>(base)[index] = static_cast<uint16_t>(rounded >> 16);
  }
}

// What a TF32 unit sees of an f32: ten bits of mantissa.
float to_tf32(float value) { return from_bits(to_bits(value) & 0xffffe000u); }

struct Matrix {
  const void* data;
  cudaDataType type;
  int64_t leading, stride;
  bool transposed;
  // One matrix as floats, row after row (or column after column).
  std::vector<float> unpack(int64_t batch, int64_t rows, int64_t cols, bool by_rows,
                            bool tf32) const {
    const void* const view = xpu_emu::device_view(data);
    const int64_t row_step = transposed ? leading : 1, col_step = transposed ? 1 : leading;
    std::vector<float> out(rows * cols);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) {
        const float value = load(view, batch * stride + i * row_step + j * col_step, type);
        out[by_rows ? i * cols + j : j * rows + i] = tf32 ? to_tf32(value) : value;
      }
    return out;
  }
};

// Bytes from the first to the last element; strides are never negative here.
uint64_t span(const Matrix& x, int64_t rows, int64_t cols, int64_t batch) {
  if (rows == 0 || cols == 0 || batch == 0) return 0;
  return ((batch - 1) * x.stride + (cols - 1) * x.leading + rows) * size_of(x.type);
}

struct Product {
  int64_t m, n, k, batch;
  float alpha, beta;
  Matrix a, b, c;
  bool tf32;
  void run() const {
    const bool multiplies = k != 0 && alpha != 0;  // else a and b are not read
    for (int64_t p = 0; p < batch; ++p) {
      const auto left = multiplies ? a.unpack(p, m, k, true, tf32) : std::vector<float>();
      const auto right = multiplies ? b.unpack(p, k, n, false, tf32) : std::vector<float>();
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
          put(p, i, j, multiplies ? dot(&left[i * k], &right[j * k]) : 0.0f);
    }
  }
  // Sixteen sums side by side, as a matrix unit has them.
  float dot(const float* x, const float* y) const {
    float sums[16] = {}, total = 0;
    int64_t l = 0;
    for (; l + 16 <= k; l += 16)
      for (int lane = 0; lane < 16; ++lane) sums[lane] += x[l + lane] * y[l + lane];
    for (; l < k; ++l) total += x[l] * y[l];
    for (float sum : sums) total += sum;
    return total;
  }
  void put(int64_t p, int64_t i, int64_t j, float product) const {
    void* const out = xpu_emu::device_view(c.data);
    const int64_t index = p * c.stride + i + j * c.leading;
    const float old = beta != 0 ? beta * load(out, index, c.type) : 0.0f;
    store(out, index, alpha * product + old, c.type);
  }
};
}  // namespace

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (xpu_emu::count_call(1)) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new cublasContext;
  std::lock_guard lock(handles_mutex);
  handles.insert(*handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  std::lock_guard lock(handles_mutex);
  if (!handles.erase(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!is_open(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (xpu_emu::count_call(1)) return CUBLAS_STATUS_INTERNAL_ERROR;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType Atype,
                                          int lda, long long int strideA, const void* B,
                                          cudaDataType Btype, int ldb, long long int strideB,
                                          const void* beta, void* C, cudaDataType Ctype, int ldc,
                                          long long int strideC, int batchCount,
                                          cublasComputeType_t computeType, cublasGemmAlgo_t) {
  if (!is_open(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (xpu_emu::count_call(1)) return CUBLAS_STATUS_EXECUTION_FAILED;
  const bool ta = transa != CUBLAS_OP_N, tb = transb != CUBLAS_OP_N;
  const int rows_a = ta ? k : m, rows_b = tb ? n : k;
  if (m < 0 || n < 0 || k < 0 || batchCount < 0 || lda < std::max(1, rows_a) ||
      ldb < std::max(1, rows_b) || ldc < std::max(1, m) || !alpha || !beta || strideA < 0 ||
      strideB < 0 || strideC < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!known(Atype) || Atype != Btype || (Ctype != Atype && Ctype != CUDA_R_32F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m == 0 || n == 0 || batchCount == 0) return CUBLAS_STATUS_SUCCESS;
  // Stricter: products must not overwrite one another, so one follows another, or their columns
  // alternate.
  const long long columns = static_cast<long long>(ldc) * (n - 1) + m;
  const bool alternate = strideC >= m && strideC * (batchCount - 1) + m <= ldc;
  if (batchCount > 1 && strideC < columns && !alternate) return CUBLAS_STATUS_INVALID_VALUE;
  Product product{m,
                  n,
                  k,
                  batchCount,
                  *static_cast<const float*>(alpha),
                  *static_cast<const float*>(beta),
                  {A, Atype, lda, strideA, ta},
                  {B, Btype, ldb, strideB, tb},
                  {C, Ctype, ldc, strideC, false},
                  computeType == CUBLAS_COMPUTE_32F_FAST_TF32 && Atype == CUDA_R_32F};
  std::vector<xpu_emu::DeviceRange> reads;
  if (k > 0 && product.alpha != 0) {
    reads.push_back({A, span(product.a, rows_a, ta ? m : k, batchCount)});
    reads.push_back({B, span(product.b, rows_b, tb ? k : n, batchCount)});
  }
  const xpu_emu::DeviceRange out{C, span(product.c, m, n, batchCount)};
  if (product.beta != 0) reads.push_back(out);
  const int code =
      xpu_emu::enqueue_work(handle->stream, "gemm", reads, {out}, [product] { product.run(); });
  return code ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
}
