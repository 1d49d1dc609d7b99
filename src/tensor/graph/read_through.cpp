// Reading through copies: following them in the order of recording, then dropping the unread ones.
#include "tensor/graph/read_through.h"

#include <functional>
#include <map>

#include "plan/layout/source_view.h"
#include "tensor/graph/segment.h"

namespace infinicore::detail {
namespace {

constexpr size_t most_copies =
    512;  // that are followed at a time: each reader looks at all of them
constexpr size_t farthest_step = 4096;  // that is asked whether it reads a copy

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
  bool reaches(const Span& span) const {
    return dst_span.begin <= span.begin && span.end <= dst_span.end;
  }
  // The source's view of the same elements; none when the tensor is not a view into this copy.
  Tensor seen(const Tensor& tensor) const {
    if (tensor->dtype() != dst->dtype() || &tensor->memory()->place() != &dst->memory()->place())
      return {};
    const auto plan =
        infini::make_rearrange_plan(layout_of(*dst.operator->()), layout_of(*src.operator->()));
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
        if (!copy.reaches(its) || !pays(recorded, copy)) continue;
        operands[i] = copy.seen(as_recorded);
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

// What becomes of a copy: another step reads it, a later copy takes its place unread, or neither.
enum class Fate { read, overwritten, left };

// A step as the search for readers sees it; `step` is null for an operator of the client's own, which
// may read anything.
struct Reader {
  explicit Reader(const Step* what) : step(what) {
    if (step == nullptr) return;
    for (const Tensor& tensor : step->operands()) spans.push_back(span_of(tensor));
  }
  // A copy overwrites its destination; of other steps that is not known.
  bool reads(const Span& span) const {
    if (step == nullptr) return true;
    const size_t first = step->is_copy() ? 1 : 0;
    for (size_t i = first; i < spans.size(); ++i)
      if (overlap(spans[i], span)) return true;
    return false;
  }
  bool overwrites(const Tensor& tensor, const Span& its) const {
    return step->is_copy() && overlap(spans[0], its) &&
           &step->operands()[0]->memory()->place() == &tensor->memory()->place() &&
           holds(*step->operands()[0].operator->(), *tensor.operator->());
  }

  const Step* step;
  std::vector<Span> spans;
  bool gone = false;
};

// Of what step i writes. What is hidden stays until the next run, whose first steps could read it.
Fate fate_of(size_t i, const std::vector<Reader>& all, bool hidden) {
  const Tensor& written = all[i].step->operands()[0];
  const Span span = all[i].spans[0];
  const size_t end = hidden ? i + all.size() : all.size();
  for (size_t at = i + 1; at < end; ++at) {
    if (at - i > farthest_step) return Fate::read;  // perhaps
    const Reader& next = all[at % all.size()];
    if (next.gone) continue;
    if (next.reads(span)) return Fate::read;
    if (next.overwrites(written, span)) return Fate::overwritten;
  }
  return Fate::left;
}

// The last first: a copy that is gone reads nothing.
void drop_unread(std::vector<PlannedStep>& planned, const Memories& hidden) {
  std::vector<Reader> recorded, running;
  for (const PlannedStep& one : planned) {
    recorded.emplace_back(one.op->step());
    running.emplace_back(one.step);
  }
  for (size_t i = planned.size(); i-- > 0;) {
    const Step* step = planned[i].step;
    if (step == nullptr || !step->is_copy()) continue;
    const bool unseen = hidden.count(step->operands()[0]->memory().get()) != 0;
    if (fate_of(i, recorded, unseen) != Fate::read) continue;
    const Fate fate = fate_of(i, running, unseen);
    if (fate == Fate::read || (fate == Fate::left && !unseen)) continue;
    planned[i].dropped = running[i].gone = true;
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
