// Steps: recording and running them.
#include "tensor/graph/step.h"

#include <algorithm>

#include "infinicore/context/context.hpp"
#include "tensor/thread_state.h"

namespace infinicore::detail {
namespace {

class StepOperator : public graph::GraphOperator {
 public:
  explicit StepOperator(std::unique_ptr<Step> step) : step_(std::move(step)) {}
  void run() const override { run_now(*step_); }
  std::string describe() const override { return step_->describe(); }
  Step* step() const override { return step_.get(); }

 private:
  std::unique_ptr<Step> step_;
};

[[noreturn, gnu::cold]] void fail_devices(const TensorImpl& a, const char* a_name,
                                          const TensorImpl& b, const char* b_name) {
  infini::fail(INFINI_STATUS_BAD_PARAM, a_name, " is on ", a.device().toString(), ", ", b_name,
               " is on ", b.device().toString(), "; both must be on one device");
}

}  // namespace

std::string counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

Span span_of(const TensorImpl& tensor) {
  const infini::ByteRange range = infini::byte_range(layout_of(tensor));
  const auto base = reinterpret_cast<std::uintptr_t>(tensor.data());
  return {base + static_cast<std::uintptr_t>(range.begin),
          base + static_cast<std::uintptr_t>(range.end)};
}

bool overlap(const Span& a, const Span& b) { return a.begin < b.end && b.begin < a.end; }

bool same_layout(const TensorImpl& a, const TensorImpl& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  for (size_t i = 0; i < a.ndim(); ++i)
    if (a.shape()[i] != 1 && a.strides()[i] != b.strides()[i]) return false;
  return true;
}

bool holds(const TensorImpl& whole, const TensorImpl& part) {
  const Span outer = span_of(whole), inner = span_of(part);
  if (outer.end - outer.begin == whole.nbytes())
    return outer.begin <= inner.begin && inner.end <= outer.end;
  return part.data() == whole.data() && same_layout(part, whole);
}

Step::Step(infini::Place& place, std::vector<Tensor> operands) : place_(&place) {
  swap_operands(operands);
}

void Step::swap_operands(std::vector<Tensor>& operands) noexcept {
  operands_.swap(operands);
  std::transform(operands_.begin(), operands_.end(), data_,
                 [](Tensor& tensor) { return tensor->data(); });
}

Span Step::workspace_span() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(workspace());
  return {begin, begin + (workspace_ ? workspace_->size() : 0)};
}

void run_now(const Step& step) {
  void* stream = this_thread().stream(step.place());
  for (const Tensor& tensor : step.operands()) tensor->memory()->used_on(stream);
  step.run(stream);
}

void record_or_run(std::unique_ptr<Step> step) {
  if (!this_thread().recording) return run_now(*step);
  context::addGraphOperator(std::make_shared<StepOperator>(std::move(step)));
}

infini::Place& common_place(const TensorImpl& a, const char* a_name, const TensorImpl& b,
                            const char* b_name) {
  infini::Place& place = a.memory()->place();
  if (&place != &b.memory()->place()) [[unlikely]]
    fail_devices(a, a_name, b, b_name);
  return place;
}

}  // namespace infinicore::detail
