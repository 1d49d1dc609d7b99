// Giving the steps of a graph other tensors.
#include "tensor/graph/rebind.h"

namespace infinicore::detail {
namespace {

using infini::require;

constexpr auto bad_param = INFINI_STATUS_BAD_PARAM;

struct Change {
  explicit Change(const std::pair<Tensor, Tensor>& pair)
      : from(pair.first), to(pair.second), span(span_of(TensorAccess::impl(from, "from"))) {
    TensorAccess::impl(to, "to");
    require(from->device() == to->device() && same_layout(*from.operator->(), *to.operator->()),
            bad_param, "from is ", from->info(), ", to is ", to->info(),
            "; they must have the same dtype, shape, strides and device");
  }

  bool touches(const Tensor& tensor, const Span& its) const {
    return &tensor->memory()->place() == &from->memory()->place() && overlap(span, its);
  }
  // The same view into `to`.
  Tensor moved(const Tensor& tensor) const {
    return TensorAccess::make(tensor->shape(), tensor->strides(), tensor->dtype(), to->memory(),
                              const_cast<std::byte*>(to->data()) + (tensor->data() - from->data()));
  }

  Tensor from, to;
  Span span;
  bool used = false;
};

Tensor replaced(const Tensor& tensor, std::vector<Change>& changes) {
  const Span its = span_of(*tensor.operator->());
  Change* match = nullptr;
  for (Change& change : changes) {
    if (!change.touches(tensor, its)) continue;
    require(holds(*change.from.operator->(), *tensor.operator->()), bad_param, "the graph uses ",
            tensor->info(), ", which lies only partly inside from (", change.from->info(), ")");
    require(match == nullptr, bad_param, "the graph's ", tensor->info(),
            " lies inside two of the tensors to be replaced");
    match = &change;
    change.used = true;
  }
  return match ? match->moved(tensor) : tensor;
}

}  // namespace

std::vector<std::vector<Tensor>> rebind(const std::vector<Step*>& steps,
                                        const std::vector<std::pair<Tensor, Tensor>>& pairs) {
  std::vector<Change> changes(pairs.begin(), pairs.end());
  std::vector<std::vector<Tensor>> operands;
  for (const Step* step : steps) {
    std::vector<Tensor> tensors;
    for (const Tensor& tensor : step->operands()) tensors.push_back(replaced(tensor, changes));
    step->check(tensors);
    operands.push_back(std::move(tensors));
  }
  for (const Change& change : changes)
    require(change.used, bad_param, "the graph does not use from (", change.from->info(), ")");
  for (size_t i = 0; i < steps.size(); ++i) steps[i]->swap_operands(operands[i]);
  return operands;
}

}  // namespace infinicore::detail
