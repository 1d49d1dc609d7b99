// op::copy_pages_: pages that ids name.
#include "infinicore/ops/pages.hpp"

#include "ops/rearrange_paged.h"
#include "plan/pattern/pattern.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/thread_state.h"

namespace infinicore::op {
namespace {

using namespace detail;
using infini::require;

void require_pages(const TensorImpl& tensor, const char* name) {
  require(tensor.ndim() >= 1, INFINI_STATUS_BAD_TENSOR_SHAPE, name,
          " is a scalar; expected pages along its first dim");
}

// One page: all dims but the first.
infini::Layout page_of(const TensorImpl& tensor) {
  const infini::Layout all = layout_of(tensor);
  infini::Layout page = all;
  --page.rank;
  std::copy_n(all.shape + 1, page.rank, page.shape);
  std::copy_n(all.strides + 1, page.rank, page.strides);
  return page;
}

// The loops of one page on both sides.
struct PageLayouts {
  infini::Layout dst, src;
};

PageLayouts layouts_of(const TensorImpl& dst, const TensorImpl& src, std::string_view pattern,
                       AxisSizes sizes) {
  const PageLayouts pages{page_of(dst), page_of(src)};
  if (pattern.empty()) return pages;
  std::vector<infini::AxisSize> list;
  for (const AxisSize& given : sizes)
    list.push_back({given.name, static_cast<int64_t>(given.size)});
  const infini::PatternWalk walk = infini::walk_of(infini::parse_pattern(pattern), pages.src.rank,
                                                   pages.src.shape, {list.data(), list.size()});
  const infini::Layout result = infini::result_layout(walk, pages.src.dtype);
  require(infini::same_shape(pages.dst, result), INFINI_STATUS_BAD_TENSOR_SHAPE,
          "a page of dst is ", infini::ShapeOf{pages.dst}, "; the pattern makes ",
          infini::ShapeOf{result});
  return {infini::walked_result(walk, pages.dst), infini::walked_source(walk, pages.src)};
}

infini::PagedSideOptions side_of(const TensorImpl& tensor) {
  infini::PagedSideOptions side;
  side.pages = static_cast<int64_t>(tensor.shape()[0]);
  side.pitch = tensor.strides()[0];
  return side;
}

// Whether the ids are on the accelerator of the pages.
bool check_ids(const Tensor& ids, const char* name, const infini::Place& place) {
  const TensorImpl& given = TensorAccess::impl(ids, name);
  require(given.dtype() == DataType::I32 || given.dtype() == DataType::I64,
          INFINI_STATUS_BAD_TENSOR_DTYPE, name, " is ", given.dtype(), "; expected i32 or i64");
  require(given.ndim() == 1 && given.is_contiguous(), INFINI_STATUS_BAD_TENSOR_SHAPE, name, " is ",
          given.info(), "; expected a contiguous vector");
  const infini::Device& device = given.memory()->place().device;
  const bool host = device.kind() == INFINI_DEVICE_CPU;
  require(host || &given.memory()->place() == &place, INFINI_STATUS_BAD_PARAM, name, " is on ",
          given.device().toString(), "; expected the host's memory or the pages' device");
  return !host;
}

struct Ids {
  size_t count = 0;
  int bytes = 4;
  bool on_device = false;
};

Ids ids_of(const Tensor& dst_ids, const Tensor& src_ids, const Tensor& dst, const Tensor& src,
           const infini::Place& place) {
  Ids ids;
  if (!dst_ids && !src_ids) {
    ids.count = std::min(dst->shape()[0], src->shape()[0]);
    return ids;
  }
  const Tensor& first = dst_ids ? dst_ids : src_ids;
  ids.on_device = check_ids(first, dst_ids ? "dst_ids" : "src_ids", place);
  ids.count = first->shape()[0];
  ids.bytes = first->dtype() == DataType::I64 ? 8 : 4;
  if (!dst_ids || !src_ids) return ids;
  const bool same_place = check_ids(src_ids, "src_ids", place) == ids.on_device;
  require(same_place && src_ids->dtype() == dst_ids->dtype(), INFINI_STATUS_BAD_PARAM,
          "dst_ids is ", dst_ids->info(), ", src_ids is ", src_ids->info(),
          "; expected one type, both in the host's memory or both on the device");
  require(src_ids->shape() == dst_ids->shape(), INFINI_STATUS_BAD_TENSOR_SHAPE, "dst_ids has ",
          dst_ids->shape()[0], " ids, src_ids has ", src_ids->shape()[0]);
  return ids;
}

using Prepared = std::shared_ptr<const PreparedPages>;

PreparedPages make(infini::Place& place, const TensorImpl& dst, const TensorImpl& src,
                   const Ids& ids, std::string_view pattern, AxisSizes sizes) {
  const PageLayouts pages = layouts_of(dst, src, pattern, sizes);
  infini::PagedPlan plan =
      infini::make_paged_plan(pages.dst, pages.src, side_of(dst), side_of(src));
  plan.id_bytes = ids.bytes;
  plan.ids_on_device = ids.on_device;
  return {PagesPattern(pattern, sizes), infini::RearrangePaged(place.device, plan)};
}

Prepared prepare(infini::Place& place, const TensorImpl& dst, const TensorImpl& src, const Ids& ids,
                 std::string_view pattern, AxisSizes sizes) {
  const auto anew = [&] {
    return std::make_shared<const PreparedPages>(make(place, dst, src, ids, pattern, sizes));
  };
  const uint64_t options = PagesPattern::hash_of(pattern, sizes) << 2 |
                           static_cast<uint64_t>(ids.on_device) << 1 | (ids.bytes == 8 ? 1 : 0);
  const Prepared found = this_thread().pages.get(Problem(place, options, {&dst, &src}), anew);
  return found->pattern.is(pattern, sizes) ? found : anew();
}

class PagesStep : public Step {
 public:
  // Operands: dst, src and those ids that there are.
  PagesStep(std::vector<Tensor> operands, bool dst_ids, bool src_ids, const Ids& ids,
            Prepared prepared)
      : Step(operands[0]->memory()->place(), operands),
        dst_ids_(dst_ids ? 2 : -1),
        src_ids_(src_ids ? (dst_ids ? 3 : 2) : -1),
        ids_(ids),
        prepared_(std::move(prepared)) {}
  void run(void* stream) const override {
    void* dst[] = {data(0)};
    const void* src[] = {data(1)};
    prepared_->copy.run({ids_.count, dst, at(dst_ids_), src, at(src_ids_), stream});
  }
  std::string describe() const override {
    return "copy " + counted(ids_.count, "page") + " of " + operands()[0]->info() + " <- " +
           operands()[1]->info();
  }
  // Ids of the host would be those of the capture.
  bool can_capture() const override { return ids_.on_device; }

 private:
  const void* at(int operand) const {
    return operand < 0 ? nullptr : data(static_cast<size_t>(operand));
  }

  int dst_ids_, src_ids_;
  Ids ids_;
  Prepared prepared_;
};

}  // namespace

void copy_pages_(const Tensor& dst, const Tensor& dst_ids, const Tensor& src, const Tensor& src_ids,
                 std::string_view pattern, AxisSizes sizes) {
  return at_edge([&] {
    TensorImpl& to = TensorAccess::impl(dst, "dst");
    const TensorImpl& from = TensorAccess::impl(src, "src");
    infini::Place& place = common_place(to, "dst", from, "src");
    require_pages(to, "dst");
    require_pages(from, "src");
    const Ids ids = ids_of(dst_ids, src_ids, dst, src, place);
    if (to.shape()[0] == 0 || from.shape()[0] == 0) {
      layouts_of(to, from, pattern, sizes);  // says what is wrong with them
      require(ids.count == 0, INFINI_STATUS_BAD_PARAM, "there are ids but no pages");
      return;
    }
    std::vector<Tensor> operands = {dst, src};
    for (const Tensor& each : {dst_ids, src_ids})
      if (each) operands.push_back(each);
    record_or_run(std::make_unique<PagesStep>(std::move(operands), static_cast<bool>(dst_ids),
                                              static_cast<bool>(src_ids), ids,
                                              prepare(place, to, from, ids, pattern, sizes)));
  });
}

}  // namespace infinicore::op
