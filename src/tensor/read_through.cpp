// Reading through copies: following them in the order of recording, then dropping the unread ones.
#include "tensor/read_through.h"

#include <algorithm>
#include <functional>
#include <map>

#include "plan/source_view.h"
#include "tensor/segment.h"

namespace infinicore::detail {
namespace {

constexpr size_t most_copies = 512;  // that are followed at a time: each reader looks at all of them

Span span_of(const Tensor& tensor) { return detail::span_of(*tensor.operator->()); }

// A copy that has been made and still equals its source.
struct Copy {
  Copy(const Step& step)
      : dst(step.operands()[0]),
        src(step.operands()[1]),
        dst_span(span_of(dst)),
        src_span(span_of(src)) {}

  bool survives(const Span& written) const {
    return !overlap(written, dst_span) && !overlap(written, src_span);
  }
  // The source's view of the same elements; none when the tensor is not a view into this copy.
  Tensor seen(const Tensor& tensor, const Span& its) const {
    if (its.begin < dst_span.begin || its.end > dst_span.end || tensor->dtype() != dst->dtype() ||
        &tensor->memory()->place() != &dst->memory()->place())
      return {};
    const auto plan = infini::make_rearrange_plan(layout_of(*dst.operator->()),
                                                  layout_of(*src.operator->()));
    const auto view =
        infini::source_view(plan, layout_of(*tensor.operator->()), tensor->data() - dst->data());
    if (!view) return {};
    const int64_t* strides = view->layout.strides;
    return TensorAccess::make(tensor->shape(), Strides(strides, strides + view->layout.rank),
                              tensor->dtype(), src->memory(),
                              const_cast<std::byte*>(src->data()) + view->offset);
  }

  Tensor dst, src;
  Span dst_span, src_span;
};

class Follower {
 public:
  explicit Follower(const Memories& hidden) : hidden_(hidden) {}

  // Looks at what runs in the order in which it runs.
  void visit(PlannedStep& planned) {
    if (planned.step == nullptr) return copies_.clear();  // it may write anything
    const Step& recorded = *planned.step;
    if (recorded.operands().empty()) return;
    redirect(planned);
    const Span written = span_of(recorded.operands()[0]);
    std::erase_if(copies_, [&](const Copy& copy) { return !copy.survives(written); });
    if (!recorded.is_copy()) return;
    remember(recorded);
    if (planned.own) remember(*planned.own);  // the further source, which readers try first
  }

 private:
  // One operand after another, each as far back as the step accepts.
  void redirect(PlannedStep& planned) const {
    const Step& recorded = *planned.step;
    std::vector<Tensor> operands = recorded.operands();
    for (size_t i = 1; i < operands.size(); ++i) {
      const Tensor as_recorded = operands[i];
      const Span its = span_of(as_recorded);
      for (size_t back = copies_.size(); back-- > 0;) {
        const Copy& copy = copies_[back];
        if (!pays(recorded, copy)) continue;
        operands[i] = copy.seen(as_recorded, its);
        auto other = operands[i] ? recorded.reading(operands) : nullptr;
        if (other) {
          planned.own = std::move(other);
          planned.step = planned.own.get();
          planned.step->reads_through = true;
          break;
        }
        operands[i] = as_recorded;
      }
    }
  }

  bool pays(const Step& reader, const Copy& copy) const {
    return may_capture(reader) || hidden_.count(copy.dst->memory().get()) != 0;
  }

  void remember(const Step& step) {
    const Copy copy(step);
    if (overlap(copy.dst_span, copy.src_span)) return;
    if (copies_.size() == most_copies) copies_.erase(copies_.begin());
    copies_.push_back(copy);
  }

  const Memories& hidden_;
  std::vector<Copy> copies_;
};

// The spans whose contents a step may depend on. A copy overwrites its destination; of other steps
// that is not known.
std::vector<Span> read_by(const Step& step) {
  std::vector<Span> spans;
  for (size_t i = step.is_copy() ? 1 : 0; i < step.operands().size(); ++i)
    spans.push_back(span_of(step.operands()[i]));
  return spans;
}

class Dropper {
 public:
  explicit Dropper(const std::vector<PlannedStep>& planned) {
    for (const PlannedStep& one : planned) {
      recorded_.push_back(read_by(*one.op->step()));
      running_.push_back(one.own ? read_by(*one.own) : recorded_.back());
    }
  }
  // Whether step i was read by another, and is no longer.
  bool is_unread(size_t i, const Span& written) const {
    return reads(recorded_, i, written) && !reads(running_, i, written);
  }
  void drop(size_t i) { running_[i].clear(); }

 private:
  using Spans = std::vector<std::vector<Span>>;  // by step

  static bool reads(const Spans& all, size_t except, const Span& written) {
    for (size_t i = 0; i < all.size(); ++i)
      if (i != except && std::any_of(all[i].begin(), all[i].end(),
                                     [&](const Span& span) { return overlap(span, written); }))
        return true;
    return false;
  }

  Spans recorded_, running_;
};

// The last first: a copy that is dropped reads nothing.
void drop_unread(std::vector<PlannedStep>& planned, const Memories& hidden) {
  if (hidden.empty()) return;
  Dropper dropper(planned);
  for (size_t i = planned.size(); i-- > 0;) {
    const Step& step = *planned[i].step;
    if (!step.is_copy() || hidden.count(step.operands()[0]->memory().get()) == 0) continue;
    if (!dropper.is_unread(i, span_of(step.operands()[0]))) continue;
    planned[i].dropped = true;
    dropper.drop(i);
  }
}

struct SameTensor {
  bool operator()(const Tensor* a, const Tensor* b) const {
    return std::less<>()(a->operator->(), b->operator->());
  }
};

}  // namespace

// A memory is hidden when every handle of every tensor over it is an operand of these operators, and
// nobody else holds one of the operators, which could be run on its own.
Memories hidden_memories(const Operators& recorded) {
  std::map<const Tensor*, size_t, SameTensor> handles;  // that the operators have
  std::map<const Memory*, size_t> tensors;              // over each memory
  Memories shown;
  for (const auto& op : recorded) {
    if (op->step() == nullptr) return {};
    for (const Tensor& tensor : op->step()->operands()) {
      const Memory* memory = tensor->memory().get();
      if (++handles[&tensor] == 1) ++tensors[memory];
      if (op.use_count() > 1 || !memory->is_pooled()) shown.insert(memory);
    }
  }
  Memories hidden;
  for (const auto& [tensor, count] : handles) {
    const auto& memory = (*tensor)->memory();
    if (TensorAccess::handles(*tensor) != count ||
        static_cast<size_t>(memory.use_count()) != tensors[memory.get()])
      shown.insert(memory.get());
    hidden.insert(memory.get());
  }
  for (const Memory* memory : shown) hidden.erase(memory);
  return hidden;
}

std::vector<PlannedStep> take_as_recorded(const Operators& recorded) {
  std::vector<PlannedStep> planned;
  for (const auto& op : recorded) planned.push_back({op.get(), op->step(), nullptr, false});
  return planned;
}

std::vector<PlannedStep> read_through_copies(const Operators& recorded, const Memories& hidden) {
  std::vector<PlannedStep> planned = take_as_recorded(recorded);
  Follower follower(hidden);
  for (PlannedStep& step : planned) follower.visit(step);
  drop_unread(planned, hidden);
  return planned;
}

}  // namespace infinicore::detail
