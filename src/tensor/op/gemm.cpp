// op::gemm: c = alpha·a·b + beta·c on one device.
#include "infinicore/ops/gemm.hpp"

#include "ops/gemm.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/op/workspace.h"
#include "tensor/thread_state.h"

namespace infinicore::op {
namespace {

using namespace detail;
using infini::require;
using Prepared = std::shared_ptr<const infini::Gemm>;

Prepared prepare(ThreadState& thread, infini::Place& place, const TensorImpl& c,
                 const TensorImpl& a, const TensorImpl& b) {
  return thread.gemms.get(Problem(place, 0, {&c, &a, &b}), [&] {
    return std::make_shared<const infini::Gemm>(place.device, layout_of(c), layout_of(a),
                                                layout_of(b));
  });
}

void run(const infini::Gemm& gemm, infini::Place& place, void* c, const void* a, const void* b,
         double alpha, double beta, void* stream) {
  const size_t bytes = gemm.workspace_bytes();
  const Workspace workspace(place.memory, bytes, stream);
  gemm.run(workspace.data(), bytes, c, a, b, alpha, beta, stream);
}

class GemmStep : public Step {
 public:
  GemmStep(std::vector<Tensor> tensors, infini::Place& place, Prepared prepared, double alpha,
           double beta)
      : Step(place, std::move(tensors)),
        prepared_(std::move(prepared)),
        alpha_(alpha),
        beta_(beta) {}

  void run(void* stream) const override {
    if (workspace() == nullptr)
      return op::run(*prepared_, place(), data(0), data(1), data(2), alpha_, beta_, stream);
    prepared_->run(workspace(), workspace_bytes(), data(0), data(1), data(2), alpha_, beta_,
                   stream);
  }
  size_t workspace_bytes() const override { return prepared_->workspace_bytes(); }
  std::string describe() const override {
    const infini::GemmKernel* kernel = prepared_->kernel();
    return "gemm " + operands()[0]->info() + " <- " + operands()[1]->info() + " · " +
           operands()[2]->info() + ", " + (kernel ? kernel->candidate() : "nothing to do");
  }
  std::unique_ptr<Step> reading(const std::vector<Tensor>& tensors) const override;
  void check(const std::vector<Tensor>& tensors) const override {
    prepared_->require_operands(tensors[0]->data(), tensors[1]->data(), tensors[2]->data(), alpha_);
  }

 private:
  Prepared prepared_;
  double alpha_, beta_;
};

// Matrices whose rows and columns both lie apart are fetched element by element: packing them first
// is no waste.
bool lies_in_lines(const TensorImpl& x) {
  const auto is_line = [&](size_t dim) { return x.shape()[dim] == 1 || x.strides()[dim] == 1; };
  return is_line(x.ndim() - 1) || is_line(x.ndim() - 2);
}

std::unique_ptr<Step> GemmStep::reading(const std::vector<Tensor>& tensors) const {
  const TensorImpl &c = *tensors[0].operator->(), &a = *tensors[1].operator->(),
                   &b = *tensors[2].operator->();
  const std::string arithmetic = prepared_->arithmetic();
  if (arithmetic.empty() || !lies_in_lines(a) || !lies_in_lines(b)) return nullptr;
  if (overlap(span_of(c), span_of(a)) || overlap(span_of(c), span_of(b))) return nullptr;
  Prepared other = prepare(this_thread(), place(), c, a, b);
  if (other->arithmetic() != arithmetic) return nullptr;
  return std::make_unique<GemmStep>(tensors, place(), std::move(other), alpha_, beta_);
}

std::unique_ptr<Step> make_step(const Tensor& c, const Tensor& a, const Tensor& b, double alpha,
                                double beta) {
  const TensorImpl &to = TensorAccess::impl(c, "c"), &left = TensorAccess::impl(a, "a"),
                   &right = TensorAccess::impl(b, "b");
  infini::Place& place = common_place(to, "c", left, "a");
  common_place(to, "c", right, "b");
  auto step =
      std::make_unique<GemmStep>(std::vector<Tensor>{c, a, b}, place,
                                 prepare(this_thread(), place, to, left, right), alpha, beta);
  step->check(step->operands());
  return step;
}

}  // namespace

void gemm_(const Tensor& c, const Tensor& a, const Tensor& b, double alpha, double beta) {
  return at_edge([&] {
    ThreadState& thread = this_thread();
    if (thread.recording) return record_or_run(make_step(c, a, b, alpha, beta));
    TensorImpl& to = TensorAccess::impl(c, "c");
    const TensorImpl &left = TensorAccess::impl(a, "a"), &right = TensorAccess::impl(b, "b");
    infini::Place& place = common_place(to, "c", left, "a");
    common_place(to, "c", right, "b");
    const Prepared prepared = prepare(thread, place, to, left, right);
    void* stream = thread.stream(place);
    note_use({&to, &left, &right}, stream);
    run(*prepared, place, to.data(), left.data(), right.data(), alpha, beta, stream);
  });
}

Tensor gemm(const Tensor& a, const Tensor& b, double alpha, double beta) {
  return at_edge([&] {
    const TensorImpl &left = TensorAccess::impl(a, "a"), &right = TensorAccess::impl(b, "b");
    require(beta == 0, INFINI_STATUS_BAD_PARAM, "beta is ", beta,
            " but gemm() makes a new c, which holds nothing; use gemm_(c, a, b, alpha, beta)");
    const size_t rank = left.ndim();
    require((rank == 2 || rank == 3) && right.ndim() == rank, INFINI_STATUS_BAD_TENSOR_SHAPE,
            "a is ", text(left.shape()), ", b is ", text(right.shape()),
            "; both must have 2 dims, or 3 with a batch");
    Shape shape = left.shape();
    shape[rank - 1] = right.shape()[rank - 1];
    if (rank == 3 && shape[0] == 1) shape[0] = right.shape()[0];
    common_place(left, "a", right, "b");
    Tensor c = empty_at(left.memory()->place(), shape, left.dtype());
    gemm_(c, a, b, alpha, 0);
    return c;
  });
}

Gemm::Gemm(const Tensor& c, const Tensor& a, const Tensor& b, double alpha, double beta)
    : step_(at_edge([&] { return make_step(c, a, b, alpha, beta); })) {}
Gemm::~Gemm() = default;
void Gemm::run() const {
  return at_edge([&] { run_now(*step_); });
}
std::string Gemm::describe() const {
  return at_edge([&] { return step_->describe(); });
}

}  // namespace infinicore::op
