// What one asynchronous call costs the host on an NVIDIA GPU: infiniopRearrange of a tiny tensor, and infiniopGemm
// beside a bare cublasLtMatmul with its algorithm chosen beforehand; both beside the launch of an empty kernel.
//
// usage: host_cost. Times are host times only: a batch of calls is queued, the clock stops,
// and the device is waited for outside the clock. The sides take turns; medians and minima count.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "infiniop.h"
#include "infinirt.h"

namespace {

constexpr int calls = 100, batches = 201;  // fewer calls than a queue holds

__global__ void nothing() {}

void check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: status %d, %s\n", what, status, infiniGetLastErrorString());
  std::exit(1);
}

struct Side {
  const char* name;
  std::function<void()> call;
  std::vector<double> times = {};
};

void measure(std::vector<Side>& sides) {
  using Clock = std::chrono::steady_clock;
  for (int batch = 0; batch < batches; ++batch)
    for (Side& side : sides) {
      check(cudaDeviceSynchronize(), "synchronize");
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) side.call();
      side.times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                           calls);
    }
  for (Side& side : sides) {
    std::sort(side.times.begin(), side.times.end());
    std::printf("  %-34s %6.2f us (least %.2f)\n", side.name, side.times[batches / 2],
                side.times[0]);
  }
}

// Row-major C = A·B of bf16 squares, as cuBLASLt sees it: Cᵀ = Bᵀ·Aᵀ, all column-major.
struct BareLt {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t square = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};

  explicit BareLt(int n, size_t workspace) {
    check(cublasLtCreate(&handle), "create");
    check(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "desc");
    check(cublasLtMatrixLayoutCreate(&square, CUDA_R_16BF, n, n, n), "layout");
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "preference");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace, sizeof workspace),
          "preference");
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, desc, square, square, square, square, preference,
                                         1, &choice, &count),
          "heuristic");
  }
  void operator()(void* c, const void* a, const void* b, void* workspace,
                  cudaStream_t stream) const {
    const float one = 1, zero = 0;
    cublasLtMatmul(handle, desc, &one, b, square, a, square, &zero, c, square, c, square,
                   &choice.algo, workspace, choice.workspaceSize, stream);
  }
};

void compare(size_t n) {
  constexpr size_t workspace_bytes = size_t{32} << 20;
  void *a = nullptr, *b = nullptr, *c = nullptr, *workspace = nullptr;
  for (void** p : {&a, &b, &c}) check(cudaMalloc(p, n * n * 2), "malloc");
  check(cudaMalloc(&workspace, workspace_bytes), "malloc");
  check(cudaMemset(a, 0, n * n * 2), "memset");
  check(cudaMemset(b, 0, n * n * 2), "memset");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");

  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t square = nullptr;
  infiniopGemmDescriptor_t gemm = nullptr;
  const size_t shape[] = {n, n};
  size_t needed = 0;
  check(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0), "device");
  check(infiniopCreateHandle(&handle), "handle");
  check(infiniopCreateTensorDescriptor(&square, 2, shape, nullptr, INFINI_DTYPE_BF16),
        "descriptor");
  check(infiniopCreateGemmDescriptor(handle, &gemm, square, square, square), "gemm");
  check(infiniopGetGemmWorkspaceSize(gemm, &needed), "workspace");

  const BareLt lt(static_cast<int>(n), workspace_bytes);
  std::vector<Side> sides;
  sides.push_back({"empty kernel", [&] { nothing<<<1, 32, 0, stream>>>(); }});
  sides.push_back({"cublasLtMatmul", [&] { lt(c, a, b, workspace, stream); }});
  sides.push_back({"infiniopGemm", [&] {
                     check(infiniopGemm(gemm, workspace, workspace_bytes, c, a, b, 1, 0, stream),
                           "gemm");
                   }});
  sides.push_back({"(one cudaPointerGetAttributes)", [&] {
                     cudaPointerAttributes facts;
                     cudaPointerGetAttributes(&facts, a);
                   }});
  sides.push_back({"(one cudaSetDevice)", [&] { cudaSetDevice(0); }});
  std::printf("bf16 %zux%zux%zu, workspace %zu\n", n, n, n, needed);
  measure(sides);
}

void rearrange_tiny() {
  const size_t shape[] = {3, 3};
  const ptrdiff_t transposed[] = {1, 3};
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t dst = nullptr, src = nullptr;
  infiniopRearrangeDescriptor_t rearrange = nullptr;
  check(infinirtSetDevice(INFINI_DEVICE_NVIDIA, 0), "device");
  check(infiniopCreateHandle(&handle), "handle");
  check(infiniopCreateTensorDescriptor(&dst, 2, shape, nullptr, INFINI_DTYPE_F32), "dst");
  check(infiniopCreateTensorDescriptor(&src, 2, shape, transposed, INFINI_DTYPE_F32), "src");
  check(infiniopCreateRearrangeDescriptor(handle, &rearrange, dst, src), "rearrange");
  void *x = nullptr, *y = nullptr;
  for (void** p : {&x, &y}) check(cudaMalloc(p, 64), "malloc");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream), "stream");
  std::vector<Side> sides;
  sides.push_back({"empty kernel", [&] { nothing<<<1, 32, 0, stream>>>(); }});
  sides.push_back(
      {"infiniopRearrange", [&] { check(infiniopRearrange(rearrange, y, x, stream), "run"); }});
  std::printf("f32 3x3, transposed\n");
  measure(sides);
}

}  // namespace

int main() {
  rearrange_tiny();
  for (const size_t n : {size_t{8}, size_t{128}, size_t{512}, size_t{1024}, size_t{2048}})
    compare(n);
}
