// Gemm on the XPU through the vendor's BLAS, which speaks cuBLAS: column-major, 32-bit sizes.
// Operands that it cannot address are copied into dense matrices of the workspace by Rearrange.
#include <algorithm>
#include <climits>
#include <utility>

#include "backends/kunlun/backend.h"
#include "backends/kunlun/runtime/blas_handles.h"
#include "backends/kunlun/runtime/device_memory.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "plan/gemm/gemm_operand.h"

namespace infini::kunlun {
namespace {

constexpr int64_t workspace_alignment = 256;

bool blas_type(infiniDtype_t dtype, cudaDataType& type) {
  switch (dtype) {
    case INFINI_DTYPE_F16: type = CUDA_R_16F; return true;
    case INFINI_DTYPE_BF16: type = CUDA_R_16BF; return true;
    case INFINI_DTYPE_F32: type = CUDA_R_32F; return true;
    default: return false;
  }
}

// An operand as BLAS sees it, and the copy that makes it so where one is needed.
struct Operand {
  BlasMatrix matrix;
  int64_t workspace = -1;  // where its dense copy lies; -1: used as it is
  std::unique_ptr<RearrangeKernel> pack, unpack;

  const void* address(const void* user, char* base) const {
    return workspace < 0 ? user : base + workspace;
  }
};

class BlasGemm final : public GemmKernel {
 public:
  BlasGemm(Device& device, const GemmPlan& plan, const GemmOptions& options)
      : blas_(device.blas()) {
    blas_type(plan.a.dtype, type_);
    blas_type(plan.c.dtype, c_type_);
    compute_ = options.allow_tf32 && type_ == CUDA_R_32F ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                         : CUBLAS_COMPUTE_32F;
    c_.matrix = blas_matrix(plan.c, shape_of_c(plan));
    // Rows first: BLAS computes the transposed product into the same memory.
    swapped_ = !c_.matrix.addressable || !c_.matrix.columns_first;
    plan_ = swapped_ ? transposed(plan) : plan;
    prepare(device, c_, plan_.c, shape_of_c(plan_), true);
    a_.matrix = blas_matrix(plan_.a, shape_of_a(plan_));
    prepare(device, a_, plan_.a, shape_of_a(plan_), false);
    b_.matrix = blas_matrix(plan_.b, shape_of_b(plan_));
    prepare(device, b_, plan_.b, shape_of_b(plan_), false);
  }

  // BLAS counts in int.
  bool fits() const {
    for (int64_t value : {plan_.batch, plan_.m, plan_.n, plan_.k, c_.matrix.leading,
                          a_.matrix.leading, b_.matrix.leading})
      if (value > INT_MAX) return false;
    return true;
  }

  size_t workspace_bytes() const override { return static_cast<size_t>(workspace_); }
  const char* candidate() const override { return workspace_ ? "xblas_packed" : "xblas"; }

  // Sums are f32, and so are alpha and beta.
  void run(void* workspace, void* c, const void* a, const void* b, double alpha, double beta,
           void* stream) const override {
    const bool reads_inputs = alpha != 0 && plan_.k != 0;  // else they may be null
    require_device_memory(c, "c");
    if (reads_inputs) require_device_memory(a, "a");
    if (reads_inputs) require_device_memory(b, "b");
    if (workspace_ > 0) require_device_memory(workspace, "workspace");
    if (swapped_) std::swap(a, b);
    char* const base = static_cast<char*>(workspace);
    if (a_.pack && reads_inputs) a_.pack->run(base + a_.workspace, a, stream);
    if (b_.pack && reads_inputs) b_.pack->run(base + b_.workspace, b, stream);
    if (c_.pack && beta != 0) c_.pack->run(base + c_.workspace, c, stream);
    void* const out = const_cast<void*>(c_.address(c, base));
    multiply(out, reads_inputs ? a_.address(a, base) : out,
             reads_inputs ? b_.address(b, base) : out, static_cast<float>(alpha),
             static_cast<float>(beta), stream);
    if (c_.unpack) c_.unpack->run(c, out, stream);
  }

 private:
  void multiply(void* c, const void* a, const void* b, float alpha, float beta,
                void* stream) const {
    const BlasHandles::Borrowed handle(blas_, stream);
    auto op = [](const BlasMatrix& x) { return x.columns_first ? CUBLAS_OP_N : CUBLAS_OP_T; };
    auto narrow = [](int64_t value) { return static_cast<int>(value); };
    check_blas(cublasGemmStridedBatchedEx(
                   handle.get(), op(a_.matrix), op(b_.matrix), narrow(plan_.m), narrow(plan_.n),
                   narrow(plan_.k), &alpha, a, type_, narrow(a_.matrix.leading),
                   a_.matrix.batch_stride, b, type_, narrow(b_.matrix.leading),
                   b_.matrix.batch_stride, &beta, c, c_type_, narrow(c_.matrix.leading),
                   c_.matrix.batch_stride, narrow(plan_.batch), compute_, CUBLAS_GEMM_DEFAULT),
               "cublasGemmStridedBatchedEx");
  }

  // Gives an operand a dense, column-major copy in the workspace where BLAS cannot address it.
  void prepare(Device& device, Operand& operand, const GemmOperand& x, const OperandShape& shape,
               bool written) {
    if (operand.matrix.addressable) return;
    const int64_t leading = std::max<int64_t>(1, shape.rows);
    const GemmOperand dense = dense_operand(x, shape, leading, true);
    operand.matrix = {true, true, leading, dense.batch_step / dtype_bytes(x.dtype)};
    operand.workspace = workspace_;
    workspace_ += round_up(dense_bytes(x, shape, leading, true), workspace_alignment);
    operand.pack = copy_kernel(device, operand_copy(dense, x, shape));
    if (written) operand.unpack = copy_kernel(device, operand_copy(x, dense, shape));
  }
  static std::unique_ptr<RearrangeKernel> copy_kernel(Device& device, const RearrangePlan& plan) {
    return plan.atom_bytes == 0 ? nullptr : make_rearrange(device, plan);
  }

  BlasHandles& blas_;
  GemmPlan plan_;
  bool swapped_ = false;
  cudaDataType type_ = CUDA_R_32F, c_type_ = CUDA_R_32F;  // of a and b; of c
  cublasComputeType_t compute_ = CUBLAS_COMPUTE_32F;
  Operand c_, a_, b_;
  int64_t workspace_ = 0;
};

}  // namespace

std::unique_ptr<GemmKernel> make_gemm(infini::Device& device, const GemmPlan& plan,
                                      const GemmOptions& options, const Choice&) {
  cudaDataType type;
  if (!blas_type(plan.a.dtype, type)) return nullptr;  // f64
  auto kernel = std::make_unique<BlasGemm>(static_cast<Device&>(device), plan, options);
  return kernel->fits() ? std::move(kernel) : nullptr;
}

}  // namespace infini::kunlun
