// Gemm by cuBLASLt. Layouts, algorithm and workspace are chosen when a kernel is made; a run is the
// packing of what cuBLASLt cannot read (or reads slowly), one matmul, and the unpacking of C.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "backends/gpu/rearrange/rearrange.h"
#include "backends/gpu/runtime/check.h"
#include "backends/nvidia/gemm/gemm.h"
#include "backends/nvidia/gemm/lt/cublaslt.h"
#include "backends/nvidia/gemm/lt/recorded_call.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/environment.h"
#include "base/error.h"

namespace infini::nvidia {
namespace {

constexpr size_t usual_workspace = size_t{32} << 20;
constexpr int64_t vector_bytes = 16;  // leading dimensions that tensor cores are fed from
constexpr size_t slot_alignment = 256;

cudaDataType_t cuda_type(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F16    ? CUDA_R_16F
         : dtype == INFINI_DTYPE_BF16 ? CUDA_R_16BF
         : dtype == INFINI_DTYPE_F32  ? CUDA_R_32F
                                      : CUDA_R_64F;
}

// A rectangle of bytes in the workspace that must be zeros: the padding along k.
struct Zeros {
  size_t offset = 0, pitch = 0, width = 0, height = 0;
};

// One operand as cuBLASLt sees it, after packing where that was decided.
struct Prepared {
  GemmOperand operand;
  BlasMatrix blas;
  std::unique_ptr<RearrangeKernel> pack = nullptr, unpack = nullptr;
  size_t offset = 0;  // of the packed copy in the workspace
  Zeros zeros = {};
};

struct Extents {
  int64_t m, n, k;
};

// Tensor cores want all three extents, not only the rows in memory, in whole vectors.
Extents whole_vectors(const GemmPlan& plan) {
  const int64_t unit = vector_bytes / dtype_bytes(plan.a.dtype);
  return {round_up(plan.m, unit), round_up(plan.n, unit), round_up(plan.k, unit)};
}

bool rows_aligned(const BlasMatrix& x, infiniDtype_t dtype) {
  const int64_t bytes = dtype_bytes(dtype);
  return x.leading * bytes % vector_bytes == 0 && x.batch_stride * bytes % vector_bytes == 0;
}

bool same(const OperandShape& a, const OperandShape& b) {
  return a.batch == b.batch && a.rows == b.rows && a.cols == b.cols;
}

// The bits in which no address of an aligned operand differs from its base.
uint32_t alignment_of(const BlasMatrix& x, infiniDtype_t dtype) {
  const auto bytes = static_cast<uint64_t>(dtype_bytes(dtype));
  const uint64_t bits = static_cast<uint64_t>(x.leading) * bytes |
                        static_cast<uint64_t>(x.batch_stride) * bytes | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

struct Choice {
  bool found = false;
  cublasLtMatmulAlgo_t algo;
  size_t workspace = 0;
  std::shared_ptr<const RecordedCall> recorded =
      nullptr;  // the matmul with alpha 1 and beta 0, where that can be had
};

// Everything that the heuristic looks at; equal keys have equal answers.
using ChoiceKey = std::array<int64_t, 21>;

class LtGemm final : public gpu::GpuGemm {
 public:
  LtGemm(const GemmContext& context, const GemmPlan& plan, bool transposes, bool pad,
         size_t most_workspace, const Lt& lt);
  // False when cuBLASLt has no algorithm for this product.
  bool usable() const { return aligned_.found && loose_.found; }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  const char* candidate() const override { return padded_ ? "lt_padded" : "lt"; }
  std::string schedule() const override;

 protected:
  void multiply(const Call& call) const override;

 private:
  Prepared prepare(const GemmOperand& x, const OperandShape& shape, const OperandShape& padded);
  Zeros zeros_after_k(const Prepared& x, const OperandShape& padded, bool k_inside) const;
  void make_layouts();
  cublasLtMatrixLayout_t make_layout(const Prepared& x, const OperandShape& shape) const;
  Choice choose(uint32_t most_alignment) const;
  Choice ask(const std::array<uint32_t, 3>& alignments, int number) const;
  bool record(Choice& choice) const;
  cublasStatus_t matmul(const Choice& choice, const Addresses& addresses, const void* alpha,
                        const void* beta, gpu::Stream stream) const;
  ChoiceKey key(const std::array<uint32_t, 3>& alignments) const;

  const Lt& lt_;
  cublasLtHandle_t handle_;
  GemmOptions options_;
  bool swapped_, padded_;
  Extents extents_;  // of the matmul: the plan's, or padded ones
  size_t most_workspace_;
  Prepared a_, b_, c_;
  Layouts layouts_;
  Choice aligned_, loose_;  // for base pointers that are multiples of 16 bytes, and for others
  size_t packed_bytes_ = 0, workspace_bytes_ = 0;
};

LtGemm::LtGemm(const GemmContext& context, const GemmPlan& plan, bool transposes, bool pad,
               size_t most_workspace, const Lt& lt)
    : gpu::GpuGemm(context.device, plan),
      lt_(lt),
      handle_(lt_handle(lt, context.device.id())),
      options_(context.options),
      swapped_(transposes),
      padded_(pad),
      most_workspace_(most_workspace),
      layouts_(lt) {
  extents_ = pad ? whole_vectors(plan_) : Extents{plan_.m, plan_.n, plan_.k};
  a_ = prepare(plan_.a, shape_of_a(plan_), {plan_.batch, extents_.m, extents_.k});
  b_ = prepare(plan_.b, shape_of_b(plan_), {plan_.batch, extents_.k, extents_.n});
  c_ = prepare(plan_.c, shape_of_c(plan_), {plan_.batch, extents_.m, extents_.n});
  if (c_.pack)
    c_.unpack =
        gpu::make_rearrange(context.device, operand_copy(plan_.c, c_.operand, shape_of_c(plan_)));
  a_.zeros = zeros_after_k(a_, {plan_.batch, extents_.m, extents_.k}, !a_.blas.columns_first);
  b_.zeros = zeros_after_k(b_, {plan_.batch, extents_.k, extents_.n}, b_.blas.columns_first);
  make_layouts();
  aligned_ = choose(vector_bytes);
  loose_ = choose(1);
  const size_t matmul = std::max(aligned_.workspace, loose_.workspace);
  workspace_bytes_ = packed_bytes_ + (matmul == 0 ? 0 : matmul + slot_alignment);
}

Prepared LtGemm::prepare(const GemmOperand& x, const OperandShape& shape,
                         const OperandShape& padded) {
  Prepared result{x, blas_matrix(x, shape)};
  const bool fits = result.blas.addressable && same(shape, padded) &&
                    (!padded_ || rows_aligned(result.blas, x.dtype));
  if (fits) return result;
  const bool by_columns = result.blas.addressable && result.blas.columns_first;
  const int64_t inner = by_columns ? padded.rows : padded.cols;
  const int64_t leading = round_up(std::max<int64_t>(inner, 1), 128 / dtype_bytes(x.dtype));
  result.operand = dense_operand(x, padded, leading, by_columns);
  result.blas = blas_matrix(result.operand, padded);
  result.pack = gpu::make_rearrange(const_cast<gpu::GpuDevice&>(device_),
                                    operand_copy(result.operand, x, shape));
  result.offset = packed_bytes_;
  const auto bytes = static_cast<size_t>(dense_bytes(x, padded, leading, by_columns));
  packed_bytes_ += (bytes + slot_alignment - 1) / slot_alignment * slot_alignment;
  return result;
}

// What lies behind the plan's k in a packed A or B; rows and columns behind m and n may hold anything,
// for what comes of them is not unpacked. k_inside: k runs along the contiguous direction.
Zeros LtGemm::zeros_after_k(const Prepared& x, const OperandShape& padded, bool k_inside) const {
  if (!x.pack || extents_.k == plan_.k) return {};
  const auto bytes = static_cast<size_t>(dtype_bytes(x.operand.dtype));
  const size_t row = static_cast<size_t>(x.blas.leading) * bytes,
               behind = static_cast<size_t>(extents_.k - plan_.k), k = static_cast<size_t>(plan_.k);
  const auto outer = static_cast<size_t>(x.blas.columns_first ? padded.cols : padded.rows),
             batch = static_cast<size_t>(x.operand.batch_step == 0 ? 1 : padded.batch);
  if (k_inside) return {x.offset + k * bytes, row, behind * bytes, outer * batch};
  return {x.offset + k * row, outer * row, behind * row, batch};
}

cublasLtMatrixLayout_t LtGemm::make_layout(const Prepared& x, const OperandShape& shape) const {
  cublasLtMatrixLayout_t layout = nullptr;
  const auto inner = static_cast<uint64_t>(x.blas.columns_first ? shape.rows : shape.cols),
             outer = static_cast<uint64_t>(x.blas.columns_first ? shape.cols : shape.rows);
  check_lt(lt_,
           lt_.layout_create(&layout, cuda_type(x.operand.dtype), inner, outer, x.blas.leading),
           "cannot describe a matrix");
  const auto batch = static_cast<int32_t>(shape.batch);
  lt_.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
  lt_.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &x.blas.batch_stride,
                 sizeof x.blas.batch_stride);
  return layout;
}

// A row-major matrix read as column-major is its transpose, so Cᵀ = Bᵀ·Aᵀ needs no transposition
// where B and A are row-major.
void LtGemm::make_layouts() {
  const bool f64 = plan_.a.dtype == INFINI_DTYPE_F64;
  const bool tf32 = plan_.a.dtype == INFINI_DTYPE_F32 && options_.allow_tf32;
  const auto compute = f64    ? CUBLAS_COMPUTE_64F
                       : tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                              : CUBLAS_COMPUTE_32F;
  check_lt(lt_, lt_.desc_create(&layouts_.desc, compute, f64 ? CUDA_R_64F : CUDA_R_32F),
           "cannot describe a matmul");
  const auto set_transposition = [&](cublasLtMatmulDescAttributes_t attribute, const Prepared& x) {
    const cublasOperation_t op = x.blas.columns_first ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_lt(lt_, lt_.desc_set(layouts_.desc, attribute, &op, sizeof op),
             "cannot describe a matmul");
  };
  set_transposition(CUBLASLT_MATMUL_DESC_TRANSA, b_);
  set_transposition(CUBLASLT_MATMUL_DESC_TRANSB, a_);
  layouts_.a = make_layout(b_, {plan_.batch, extents_.k, extents_.n});
  layouts_.b = make_layout(a_, {plan_.batch, extents_.m, extents_.k});
  layouts_.c = make_layout(c_, {plan_.batch, extents_.m, extents_.n});
}

// Algorithms and what they launch are remembered: asking costs far more than the rest of making a kernel.
Choice LtGemm::choose(uint32_t most_alignment) const {
  const auto limit = [&](const Prepared& x) {
    const auto element = static_cast<uint32_t>(dtype_bytes(x.operand.dtype));
    return std::max(element, std::min(most_alignment, alignment_of(x.blas, x.operand.dtype)));
  };
  const std::array<uint32_t, 3> alignments{limit(b_), limit(a_), limit(c_)};
  static auto* const mutex = new std::mutex;
  static auto* const known = new std::map<ChoiceKey, Choice>;
  const ChoiceKey problem = key(alignments);
  {
    const std::lock_guard lock(*mutex);
    if (const auto place = known->find(problem); place != known->end()) return place->second;
  }
  Choice choice = ask(alignments, 0);
  // Where a driver or a library makes trouble of it: INFINI_NVIDIA_RECORD=0 calls the library every time.
  static const bool may_record = environment_flag("INFINI_NVIDIA_RECORD", true);
  if (most_alignment == vector_bytes && may_record)
    for (int next = 1; choice.found && !record(choice); ++next) choice = ask(alignments, next);
  const std::lock_guard lock(*mutex);
  if (known->size() > 4096) known->clear();
  return known->emplace(problem, choice).first->second;
}

ChoiceKey LtGemm::key(const std::array<uint32_t, 3>& alignments) const {
  const auto order = [](const Prepared& x) { return int64_t{x.blas.columns_first}; };
  return {device_.id(),
          plan_.batch,
          extents_.m,
          extents_.n,
          extents_.k,
          plan_.a.dtype,
          plan_.c.dtype,
          options_.allow_tf32,
          order(a_),
          order(b_),
          order(c_),
          a_.blas.leading,
          b_.blas.leading,
          c_.blas.leading,
          a_.blas.batch_stride,
          b_.blas.batch_stride,
          c_.blas.batch_stride,
          alignments[0],
          alignments[1],
          alignments[2],
          static_cast<int64_t>(most_workspace_)};
}

// False: the library refuses to run what it has offered itself.
bool LtGemm::record(Choice& choice) const {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  choice.recorded = RecordedCall::record([&](const Addresses& addresses, gpu::Stream stream) {
    const Call plain{nullptr, nullptr, nullptr, nullptr, 1, 0, stream, 1, 0};
    status = matmul(choice, addresses, alpha_of(plain), beta_of(plain), stream);
    return status == CUBLAS_STATUS_SUCCESS;
  });
  return status != CUBLAS_STATUS_INVALID_VALUE && status != CUBLAS_STATUS_NOT_SUPPORTED;
}

// The answer of that number, the first one being what the library thinks best.
Choice LtGemm::ask(const std::array<uint32_t, 3>& alignments, int number) const {
  constexpr int most_answers = 8;
  if (number >= most_answers) return {};
  cublasLtMatmulPreference_t preference = nullptr;
  check_lt(lt_, lt_.preference_create(&preference), "cannot ask for an algorithm");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    lt_.preference_set(preference, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace_);
  // Parts of k are never added in the output's type: that would round more than once.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments[0]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments[1]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments[2]);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments[2]);
  cublasLtMatmulHeuristicResult_t results[most_answers]{};
  int count = 0;
  const auto status = lt_.heuristic(handle_, layouts_.desc, layouts_.a, layouts_.b, layouts_.c,
                                    layouts_.c, preference, number + 1, results, &count);
  lt_.preference_destroy(preference);
  const cublasLtMatmulHeuristicResult_t& result = results[number];
  if (status != CUBLAS_STATUS_SUCCESS || count <= number || result.state != CUBLAS_STATUS_SUCCESS)
    return {};
  return {true, result.algo, result.workspaceSize};
}

std::string LtGemm::schedule() const {
  std::ostringstream text;
  const auto name = [&](const Prepared& x, const char* operand) {
    if (x.pack) text << operand << " packed to rows of " << x.blas.leading << " elements, ";
  };
  name(a_, "a");
  name(b_, "b");
  name(c_, "c");
  text << (b_.blas.columns_first ? "T" : "N") << (a_.blas.columns_first ? "T" : "N")
       << (swapped_ ? ", transposed" : "") << ", matmul workspace "
       << workspace_bytes_ - packed_bytes_ << " bytes";
  if (aligned_.recorded) text << ", " << aligned_.recorded->steps() << " launched as recorded";
  return text.str();
}

// Addresses of A, B, C and the workspace; of alpha and beta, which have the type of the sums.
cublasStatus_t LtGemm::matmul(const Choice& choice, const Addresses& addresses, const void* alpha,
                              const void* beta, gpu::Stream stream) const {
  const auto at = [&](int which) {
    return reinterpret_cast<void*>(addresses[static_cast<size_t>(which)]);
  };
  return lt_.matmul(handle_, layouts_.desc, alpha, at(1), layouts_.a, at(0), layouts_.b, beta,
                    at(2), layouts_.c, at(2), layouts_.c, &choice.algo, at(3), choice.workspace,
                    stream);
}

void LtGemm::multiply(const Call& call) const {
  const char *given_a = swapped_ ? call.b : call.a, *given_b = swapped_ ? call.a : call.b;
  const auto packed = [&](const Prepared& x, const char* given) -> const char* {
    if (!x.pack) return given;
    x.pack->run(call.workspace + x.offset, given, call.stream);
    if (x.zeros.height > 0)
      gpu::check(cudaMemset2DAsync(call.workspace + x.zeros.offset, x.zeros.pitch, 0, x.zeros.width,
                                   x.zeros.height, call.stream),
                 "cannot clear the padding");
    return call.workspace + x.offset;
  };
  const char *a = packed(a_, given_a), *b = packed(b_, given_b);
  char* c = call.c;
  if (c_.pack) {
    c = call.workspace + c_.offset;
    if (call.beta != 0) c_.pack->run(c, call.c, call.stream);
  }
  // The library refuses a workspace that does not begin at a multiple of 256 bytes; a caller's may begin anywhere.
  const uint64_t behind = reinterpret_cast<uint64_t>(call.workspace + packed_bytes_);
  const Addresses addresses{reinterpret_cast<uint64_t>(a), reinterpret_cast<uint64_t>(b),
                            reinterpret_cast<uint64_t>(c),
                            (behind + slot_alignment - 1) / slot_alignment * slot_alignment};
  const bool aligned = (addresses[0] | addresses[1] | addresses[2]) % vector_bytes == 0;
  const Choice& choice = aligned ? aligned_ : loose_;
  if (choice.recorded && call.alpha == 1 && call.beta == 0 && addresses[3] % slot_alignment == 0)
    gpu::check(choice.recorded->launch(addresses, call.stream), "cannot launch a recorded matmul");
  else
    check_lt(lt_, matmul(choice, addresses, alpha_of(call), beta_of(call), call.stream),
             "cannot start a matmul");
  if (c_.unpack) c_.unpack->run(call.c, c, call.stream);
}

}  // namespace

std::unique_ptr<GemmKernel> make_bare_lt(const GemmContext& context, const GemmPlan& original,
                                         bool pad, size_t most_workspace) {
  std::string why;
  const Lt* lt = load_lt(why);
  if (lt == nullptr || original.k == 0 || original.batch > INT32_MAX) return nullptr;
  const BlasMatrix c = blas_matrix(original.c, shape_of_c(original));
  const bool transposes = c.addressable && c.columns_first;
  auto kernel = std::make_unique<LtGemm>(context, transposes ? transposed(original) : original,
                                         transposes, pad, most_workspace, *lt);
  if (!kernel->usable()) return nullptr;
  return kernel;
}

namespace {

std::unique_ptr<GemmKernel> make(const GemmContext& context, const GemmPlan& plan, bool pad) {
  auto kernel = make_bare_lt(context, plan, pad, usual_workspace);
  if (!kernel || dtype_bytes(plan.c.dtype) != 2) return kernel;
  return round_once(context, plan, pad, std::move(kernel));
}

}  // namespace

std::unique_ptr<GemmKernel> make_lt(const GemmContext& context, const GemmPlan& plan) {
  return make(context, plan, false);
}

std::unique_ptr<GemmKernel> make_padded(const GemmContext& context, const GemmPlan& plan) {
  return make(context, plan, true);
}

}  // namespace infini::nvidia
