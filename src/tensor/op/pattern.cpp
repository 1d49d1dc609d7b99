// op::rearrange and op::view by patterns.
#include "infinicore/pattern.hpp"

#include "infinicore/ops/rearrange.hpp"
#include "plan/pattern/pattern.h"
#include "tensor/edge.h"
#include "tensor/graph/step.h"
#include "tensor/thread_state.h"

namespace infinicore {
namespace {

using namespace detail;

// The sizes as the plan takes them.
std::vector<infini::AxisSize> plain(AxisSizes sizes) {
  std::vector<infini::AxisSize> list;
  for (const AxisSize& given : sizes) {
    infini::require(given.size <= static_cast<Size>(INT64_MAX), INFINI_STATUS_BAD_PARAM, given.name,
                    " is ", given.size, "; expected a size");
    list.push_back({given.name, static_cast<int64_t>(given.size)});
  }
  return list;
}

infini::PatternWalk walk(const infini::Pattern& pattern, const Shape& shape, AxisSizes sizes) {
  infini::require(shape.size() <= infini::max_rank, INFINI_STATUS_BAD_TENSOR_SHAPE, "x has ",
                  shape.size(), " dims; at most ", infini::max_rank, " are possible");
  const std::vector<int64_t> extents(shape.begin(), shape.end());
  const std::vector<infini::AxisSize> list = plain(sizes);
  return infini::walk_of(pattern, static_cast<int>(shape.size()), extents.data(),
                         {list.data(), list.size()});
}

PatternCopy prepare(const PatternCall& call) {
  PatternCopy copy;
  copy.walk = walk(infini::parse_pattern(call.text), call.x.shape(), call.sizes);
  copy.shape.assign(copy.walk.shape, copy.walk.shape + copy.walk.rank);
  const infini::Layout x = layout_of(call.x), y = infini::result_layout(copy.walk, x.dtype);
  copy.prepared = std::make_shared<const infini::Rearrange>(
      call.place.device, infini::walked_result(copy.walk, y), infini::walked_source(copy.walk, x));
  return copy;
}

// `tensor` under a layout over its own memory, from its own first element.
Tensor under(const TensorImpl& tensor, const infini::Layout& layout) {
  return TensorAccess::make({layout.shape, layout.shape + layout.rank},
                            {layout.strides, layout.strides + layout.rank}, tensor.dtype(),
                            tensor.memory(), const_cast<std::byte*>(tensor.data()));
}

std::shared_ptr<const PatternCopy> find(ThreadState& thread, const PatternCall& call) {
  return thread.patterns.get(call, [&] { return prepare(call); });
}

void run(ThreadState& thread, const PatternCopy& copy, TensorImpl& y, const TensorImpl& x,
         infini::Place& place) {
  if (thread.recording || !y.is_contiguous())
    return op::rearrange_(under(y, infini::walked_result(copy.walk, layout_of(y))),
                          under(x, infini::walked_source(copy.walk, layout_of(x))));
  void* stream = thread.stream(place);
  note_use({&y, &x}, stream);
  copy.prepared->run(y.data(), x.data(), stream);
}

}  // namespace

PatternWalk walk_pattern(std::string_view pattern, const Shape& shape, AxisSizes sizes) {
  return at_edge([&] {
    const infini::PatternWalk found = walk(infini::parse_pattern(pattern), shape, sizes);
    PatternWalk made{{found.shape, found.shape + found.rank}, {}};
    for (int i = 0; i < found.axes; ++i) {
      const auto& axis = found.walk[i];
      made.axes.push_back({static_cast<Size>(axis.extent), axis.src_dim,
                           static_cast<Size>(axis.src_scale), axis.dst_dim,
                           static_cast<Size>(axis.dst_scale)});
    }
    return made;
  });
}

bool pattern_has(std::string_view pattern, std::string_view name) {
  return at_edge([&] { return infini::has_axis(infini::parse_pattern(pattern), name); });
}

std::vector<std::pair<std::string, Size>> parse_shape(std::string_view pattern,
                                                      const Shape& shape) {
  return at_edge([&] {
    const std::vector<int64_t> extents(shape.begin(), shape.end());
    const infini::Pattern side = infini::parse_side(pattern);
    std::vector<std::pair<std::string, Size>> sizes;
    for (const auto& [name, size] :
         infini::sizes_of(side, static_cast<int>(shape.size()), extents.data()))
      sizes.emplace_back(name, static_cast<Size>(size));
    return sizes;
  });
}

namespace op {

Tensor rearrange(const Tensor& x, std::string_view pattern, AxisSizes sizes) {
  return at_edge([&] {
    const TensorImpl& src = TensorAccess::impl(x, "x");
    infini::Place& place = src.memory()->place();
    ThreadState& thread = this_thread();
    const auto copy = find(thread, {place, src, pattern, sizes});
    Tensor y = empty_at(place, copy->shape, src.dtype());
    run(thread, *copy, *y.operator->(), src, place);
    return y;
  });
}

void rearrange_(const Tensor& y, const Tensor& x, std::string_view pattern, AxisSizes sizes) {
  return at_edge([&] {
    TensorImpl& dst = TensorAccess::impl(y, "y");
    const TensorImpl& src = TensorAccess::impl(x, "x");
    infini::Place& place = common_place(dst, "y", src, "x");
    ThreadState& thread = this_thread();
    const auto copy = find(thread, {place, src, pattern, sizes});
    infini::require(dst.dtype() == src.dtype(), INFINI_STATUS_BAD_TENSOR_DTYPE, "y is ",
                    toString(dst.dtype()), ", x is ", toString(src.dtype()));
    infini::require(dst.shape() == copy->shape, INFINI_STATUS_BAD_TENSOR_SHAPE, "y is ",
                    text(dst.shape()), "; the pattern makes ", text(copy->shape));
    run(thread, *copy, dst, src, place);
  });
}

Tensor view(const Tensor& x, std::string_view pattern, AxisSizes sizes) {
  return at_edge([&] {
    const TensorImpl& src = TensorAccess::impl(x, "x");
    const infini::Pattern parsed = infini::parse_pattern(pattern);
    return under(src, infini::view_of(parsed, walk(parsed, src.shape(), sizes), layout_of(src)));
  });
}

}  // namespace op
}  // namespace infinicore
