// Preparing and running gemm operators.
#include "ops/gemm.h"

#include "base/dtype.h"
#include "base/environment.h"
#include "base/threads/thread_slot.h"
#include "ops/aligned.h"
#include "plan/gemm/gemm_operand.h"
#include "plan/problem_text.h"
#include "runtime/registry.h"

namespace infini {
namespace {

constexpr uintptr_t workspace_alignment = 64;

std::shared_ptr<const GemmKernel> make_kernel(Device& device, const GemmPlan& plan,
                                              const GemmOptions& options, const Choice& choice) {
  const Backend* backend = find_backend(device.kind());
  require(backend->kernels.gemm != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ", backend->name,
          " backend has no gemm");
  const Section whole;  // what backends find out once must not be cut in two by a fork
  device.make_current();
  std::shared_ptr<const GemmKernel> kernel = backend->kernels.gemm(device, plan, options, choice);
  require(kernel != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ", backend->name,
          " backend declines this product:\n", plan);
  return kernel;
}

}  // namespace

GemmOptions default_gemm_options() {
  return {.allow_tf32 = environment_flag("INFINI_ALLOW_TF32", false)};
}

Gemm::Gemm(Device& device, const Layout& c, const Layout& a, const Layout& b,
           const GemmOptions& options, const Choice& choice)
    : device_(&device),
      plan_(make_gemm_plan(c, a, b)),
      c_range_(byte_range(c)),
      a_range_(byte_range(a)),
      b_range_(byte_range(b)),
      c_mask_(static_cast<uintptr_t>(dtype_bytes(c.dtype)) - 1),
      ab_mask_(static_cast<uintptr_t>(dtype_bytes(a.dtype)) - 1),
      sums_in_f64_(a.dtype == INFINI_DTYPE_F64),
      options_(options) {
  if (element_count(c) == 0) return;
  kernel_ = make_kernel(device, plan_, options, choice);
  told_ = ToldCalls::make(device, kernel_->candidate(), [&] { return gemm_text(c, a, b); });
}

std::vector<BidLine> Gemm::bids() const {
  std::vector<BidLine> lines;
  if (kernel_) make_kernel(*device_, plan_, options_, {nullptr, &lines});
  return lines;
}

void Gemm::require_workspace(const void* workspace, size_t size) const {
  const size_t needed = kernel_->workspace_bytes();
  if (needed == 0) return;
  require(size >= needed, INFINI_STATUS_INSUFFICIENT_WORKSPACE, "workspace_size is ", size,
          "; this product needs ", needed, " bytes");
  require_pointer(workspace, "workspace");
  require(reinterpret_cast<uintptr_t>(workspace) % workspace_alignment == 0,
          INFINI_STATUS_BAD_PARAM, "workspace (", workspace, ") is not ", workspace_alignment,
          "-byte aligned");
}

void Gemm::require_apart(const void* c, const void* x, const char* name, const GemmOperand& operand,
                         const ByteRange& range) const {
  const auto to = reinterpret_cast<intptr_t>(c), from = reinterpret_cast<intptr_t>(x);
  if (to + c_range_.end <= from + range.begin || from + range.end <= to + c_range_.begin) return;
  const OperandShape shape = name[0] == 'a' ? shape_of_a(plan_) : shape_of_b(plan_);
  require(never_meet(plan_.c, shape_of_c(plan_), operand, shape, from - to),
          INFINI_STATUS_BAD_PARAM, "c (", c, ") shares memory with ", name, " (", x,
          "); gemm cannot work in place");
}

void Gemm::require_operands(const void* c, const void* a, const void* b, double alpha) const {
  if (!kernel_) return;
  require_pointer(c, "c");
  require_aligned(c, "c", plan_.c.dtype);
  if (alpha == 0 || plan_.k == 0) return;
  require_pointer(a, "a");
  require_pointer(b, "b");
  require_aligned(a, "a", plan_.a.dtype);
  require_aligned(b, "b", plan_.b.dtype);
  require_apart(c, a, "a", plan_.a, a_range_);
  require_apart(c, b, "b", plan_.b, b_range_);
}

bool Gemm::plainly_fine(const void* c, const void* a, const void* b) const {
  const auto at_c = reinterpret_cast<uintptr_t>(c), at_a = reinterpret_cast<uintptr_t>(a),
             at_b = reinterpret_cast<uintptr_t>(b);
  const auto apart = [&](uintptr_t x, const ByteRange& range) {
    const auto to = static_cast<intptr_t>(at_c), from = static_cast<intptr_t>(x);
    return to + c_range_.end <= from + range.begin || from + range.end <= to + c_range_.begin;
  };
  return at_c != 0 && at_a != 0 && at_b != 0 && (at_c & c_mask_) == 0 &&
         ((at_a | at_b) & ab_mask_) == 0 && apart(at_a, a_range_) && apart(at_b, b_range_);
}

void Gemm::run_untold(void* workspace, size_t workspace_size, void* c, const void* a, const void* b,
                      double alpha, double beta, void* stream) const {
  if (!kernel_) return;
  if (!sums_in_f64_) {
    alpha = static_cast<float>(alpha);
    beta = static_cast<float>(beta);
  }
  require_workspace(workspace, workspace_size);
  if (!plainly_fine(c, a, b)) [[unlikely]]
    require_operands(c, a, b, alpha);
  device_->make_current();
  kernel_->run(workspace, c, a, b, alpha, beta, stream);
}

}  // namespace infini
