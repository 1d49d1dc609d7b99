// Preparing and running rearrange operators.
#include "ops/rearrange.h"

#include <algorithm>

#include "base/threads/thread_slot.h"
#include "plan/problem_text.h"
#include "runtime/registry.h"

namespace infini {
namespace {

std::shared_ptr<const RearrangeKernel> make_kernel(Device& device, const RearrangePlan& plan,
                                                   const Choice& choice) {
  const Backend* backend = find_backend(device.kind());
  require(backend->kernels.rearrange != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ",
          backend->name, " backend has no rearrange");
  const Section whole;  // what backends find out once must not be cut in two by a fork
  device.make_current();
  std::shared_ptr<const RearrangeKernel> kernel = backend->kernels.rearrange(device, plan, choice);
  require(kernel != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "the ", backend->name,
          " backend declines this rearrangement:\n", plan);
  return kernel;
}

}  // namespace

Rearrange::Rearrange(Device& device, const Layout& dst, const Layout& src, const Choice& choice)
    : Rearrange(device, make_rearrange_plan(dst, src), choice) {
  if (kernel_)
    told_ = ToldCalls::make(device, kernel_->candidate(), [&] { return rearrange_text(dst, src); });
}

Rearrange::Rearrange(Device& device, const RearrangePlan& plan, const Choice& choice)
    : device_(&device),
      dst_range_(dst_range(plan)),
      src_range_(src_range(plan)),
      identity_(is_identity(plan)),
      depth_(plan.depth),
      atom_bytes_(plan.atom_bytes),
      dst_offset_(plan.dst_offset),
      src_offset_(plan.src_offset) {
  if (plan.atom_bytes == 0) return;
  kernel_ = make_kernel(device, plan, choice);
  loops_.reset(new Loop[static_cast<size_t>(depth_)]);
  std::copy_n(plan.loops, depth_, loops_.get());
}

RearrangePlan Rearrange::plan() const {
  RearrangePlan plan;
  plan.atom_bytes = atom_bytes_;
  plan.dst_offset = dst_offset_;
  plan.src_offset = src_offset_;
  plan.depth = depth_;
  std::copy_n(loops_.get(), depth_, plan.loops);
  return plan;
}

bool Rearrange::overlaps(const void* dst, const void* src) const {
  const auto to = reinterpret_cast<intptr_t>(dst), from = reinterpret_cast<intptr_t>(src);
  return to + dst_range_.begin < from + src_range_.end &&
         from + src_range_.begin < to + dst_range_.end;
}

void Rearrange::run_untold(void* dst, const void* src, void* stream) const {
  if (!kernel_) return;
  require_pointer(dst, "dst");
  require_pointer(src, "src");
  if (overlaps(dst, src)) [[unlikely]] {
    if (identity_ && dst == src) return;
    return run_staged(dst, src, stream);
  }
  device_->make_current();
  kernel_->run(dst, src, stream);
}

// src -> dense temporary -> dst.
void Rearrange::run_staged(void* dst, const void* src, void* stream) const {
  const auto [gather, scatter] = stage_through_dense(plan());
  device_->make_current();
  const auto gathers = make_kernel(*device_, gather, {});
  const auto scatters = make_kernel(*device_, scatter, {});
  void* dense = device_->allocate_async(static_cast<size_t>(moved_bytes(gather)), stream);
  try {
    gathers->run(dense, src, stream);
    scatters->run(dst, dense, stream);
  } catch (...) {
    device_->free_async(dense, stream);
    throw;
  }
  device_->free_async(dense, stream);
}

}  // namespace infini
