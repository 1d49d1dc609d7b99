// Preparing and running paged copies.
#include "ops/rearrange_paged.h"

#include "base/threads/thread_slot.h"
#include "runtime/registry.h"

namespace infini {
namespace {

std::shared_ptr<const PagedKernel> make_kernel(Device& device, const PagedPlan& plan) {
  const Backend* backend = find_backend(device.kind());
  if (plan.piece.atom_bytes == 0) return nullptr;
  std::shared_ptr<const PagedKernel> kernel;
  if (backend->kernels.rearrange_paged != nullptr) {
    const Section whole;  // what backends find out once must not be cut in two by a fork
    device.make_current();
    kernel = backend->kernels.rearrange_paged(device, plan);
  }
  require(kernel != nullptr || !plan.ids_on_device, INFINI_STATUS_NOT_IMPLEMENTED, "the ",
          backend->name,
          " backend cannot read the ids of these pages on the device; give them in host memory");
  return kernel;
}

}  // namespace

RearrangePaged::RearrangePaged(Device& device, const PagedPlan& plan)
    : plan_(std::make_unique<PagedPlan>(plan)),
      piece_(device, plan.piece),
      kernel_(make_kernel(device, plan)) {
  require(plan.layers >= 1, INFINI_STATUS_BAD_PARAM, "layers is ", plan.layers,
          "; expected at least 1");
  told_ = ToldCalls::make(device, kernel_ ? kernel_->candidate() : "loop",
                          [&] { return "pages\n" + to_string(plan); });
}

void RearrangePaged::run_untold(const PagedRun& run) const {
  if (run.count == 0 || piece_.kernel() == nullptr) return;
  require_pointer(run.dst, "dst");
  require_pointer(run.src, "src");
  for (int64_t i = 0; i < plan_->layers; ++i) {
    require(run.dst[i] != nullptr, INFINI_STATUS_NULL_POINTER, "dst[", i, "] is NULL");
    require(run.src[i] != nullptr, INFINI_STATUS_NULL_POINTER, "src[", i, "] is NULL");
  }
  require(run.count <= UINT32_MAX, INFINI_STATUS_BAD_PARAM, "count is ", run.count,
          "; expected fewer than 2^32 copies");
  if (!plan_->ids_on_device) {
    require_good_ids(*plan_, plan_->dst, run.dst_ids, run.count, "dst");
    require_good_ids(*plan_, plan_->src, run.src_ids, run.count, "src");
  }
  if (!kernel_) return run_one_by_one(run);
  device().make_current();
  kernel_->run(run);
}

void RearrangePaged::run_one_by_one(const PagedRun& run) const {
  device().make_current();
  for (int64_t layer = 0; layer < plan_->layers; ++layer)
    for (int64_t i = 0; i < static_cast<int64_t>(run.count); ++i)
      piece_.kernel()->run(
          static_cast<char*>(run.dst[layer]) + place_piece(*plan_, plan_->dst, run.dst_ids, i),
          static_cast<const char*>(run.src[layer]) +
              place_piece(*plan_, plan_->src, run.src_ids, i),
          run.stream);
}

void RearrangePaged::check(void* stream) const {
  if (!kernel_) return;
  device().make_current();
  kernel_->check(stream);
}

}  // namespace infini
