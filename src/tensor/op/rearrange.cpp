// op::rearrange: y = x on one device.
#include "infinicore/ops/rearrange.hpp"

#include "ops/explain/explain.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/thread_state.h"

namespace infinicore::op {
namespace {

using namespace detail;
using Prepared = std::shared_ptr<const infini::Rearrange>;

Prepared prepare(ThreadState& thread, infini::Place& place, const TensorImpl& y,
                 const TensorImpl& x) {
  return thread.rearranges.get(Problem(place, 0, {&y, &x}), [&] {
    return std::make_shared<const infini::Rearrange>(place.device, layout_of(y), layout_of(x));
  });
}

// Equal layouts over equal memory: nothing to do. Any other overlap needs a temporary.
bool needs_staging(const TensorImpl& y, const TensorImpl& x) {
  if (!overlap(span_of(y), span_of(x))) return false;
  return y.data() != x.data() || y.strides() != x.strides();
}

class RearrangeStep : public Step {
 public:
  RearrangeStep(const Tensor& y, const Tensor& x, infini::Place& place, Prepared prepared)
      : Step(place, {y, x}), prepared_(std::move(prepared)) {}
  void run(void* stream) const override { prepared_->run(data(0), data(1), stream); }
  std::string describe() const override {
    const infini::RearrangeKernel* kernel = prepared_->kernel();
    return "rearrange " + operands()[0]->info() + " <- " + operands()[1]->info() + ", " +
           (kernel ? kernel->candidate() : "nothing to move");
  }
  // Staging allocates, which a capture may not.
  bool can_capture() const override {
    return !needs_staging(*operands()[0].operator->(), *operands()[1].operator->());
  }
  bool is_copy() const override { return true; }
  const infini::Rearrange& prepared() const { return *prepared_; }
  std::unique_ptr<Step> reading(const std::vector<Tensor>& tensors) const override;
  void check(const std::vector<Tensor>& tensors) const override {
    infini::require(!needs_staging(*tensors[0].operator->(), *tensors[1].operator->()),
                    INFINI_STATUS_BAD_PARAM, "rearrange ", tensors[0]->info(), " <- ",
                    tensors[1]->info(), " would overlap");
  }

 private:
  Prepared prepared_;
};

std::unique_ptr<Step> make_step(const Tensor& y, const Tensor& x) {
  infini::Place& place =
      common_place(TensorAccess::impl(y, "y"), "y", TensorAccess::impl(x, "x"), "x");
  Prepared prepared = prepare(this_thread(), place, *y.operator->(), *x.operator->());
  return std::make_unique<RearrangeStep>(y, x, place, std::move(prepared));
}

std::unique_ptr<Step> RearrangeStep::reading(const std::vector<Tensor>& tensors) const {
  if (overlap(span_of(*tensors[0].operator->()), span_of(*tensors[1].operator->()))) return nullptr;
  return make_step(tensors[0], tensors[1]);
}

void record(const Tensor& y, const Tensor& x) {
  if (!needs_staging(*y.operator->(), *x.operator->())) return record_or_run(make_step(y, x));
  const Tensor dense = empty_at(y->memory()->place(), x->shape(), x->dtype());
  record_or_run(make_step(dense, x));
  record_or_run(make_step(y, dense));
}

}  // namespace

void rearrange_(const Tensor& y, const Tensor& x) {
  return at_edge([&] {
    TensorImpl& dst = TensorAccess::impl(y, "y");
    const TensorImpl& src = TensorAccess::impl(x, "x");
    infini::Place& place = common_place(dst, "y", src, "x");
    ThreadState& thread = this_thread();
    const Prepared prepared = prepare(thread, place, dst, src);
    if (thread.recording) return record(y, x);
    void* stream = thread.stream(place);
    note_use({&dst, &src}, stream);
    prepared->run(dst.data(), src.data(), stream);
  });
}

Tensor rearrange(const Tensor& x) {
  return at_edge([&] {
    const TensorImpl& src = TensorAccess::impl(x, "x");
    Tensor y = empty_at(src.memory()->place(), src.shape(), src.dtype());
    rearrange_(y, x);
    return y;
  });
}

Rearrange::Rearrange(const Tensor& y, const Tensor& x)
    : step_(at_edge([&] { return make_step(y, x); })) {}
Rearrange::~Rearrange() = default;
void Rearrange::run() const {
  return at_edge([&] { run_now(*step_); });
}
std::string Rearrange::describe() const {
  return at_edge([&] { return step_->describe(); });
}

RearrangePlan Rearrange::plan() const {
  return at_edge([&] {
    const infini::Rearrange& prepared = static_cast<const RearrangeStep&>(*step_).prepared();
    const infini::RearrangePlan plan = prepared.plan();
    RearrangePlan facts{plan.atom_bytes,
                        plan.dst_offset,
                        plan.src_offset,
                        {},
                        moved_bytes(plan),
                        distinct_source_bytes(plan),
                        "",
                        "",
                        explain(prepared)};
    for (int i = 0; i < plan.depth; ++i)
      facts.loops.push_back({plan.loops[i].extent, plan.loops[i].dst_step, plan.loops[i].src_step});
    if (const infini::RearrangeKernel* kernel = prepared.kernel()) {
      facts.candidate = kernel->candidate();
      facts.schedule = kernel->schedule();
    }
    return facts;
  });
}

}  // namespace infinicore::op
