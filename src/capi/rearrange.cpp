// infiniop/ops/rearrange.h.
#include "ops/rearrange.h"

#include "capi/boundary.h"
#include "capi/objects.h"
#include "plan/pattern/pattern.h"

using namespace infini;

namespace {

using Rearranges = Operators<Rearrange, rearrange_tag>;

Rearranges& rearranges() {
  static constinit Lazy<Rearranges> all;
  return all.get();
}

std::vector<AxisSize> sizes_of(const infiniopAxisSize_t* sizes, size_t count) {
  std::vector<AxisSize> list;
  if (count > 0) require_pointer(sizes, "sizes");
  require(count <= max_rank, INFINI_STATUS_BAD_PARAM, "count is ", count, "; expected at most ",
          max_rank);
  for (size_t i = 0; i < count; ++i) {
    require_pointer(sizes[i].name, "the name of a size");
    require(sizes[i].size <= static_cast<size_t>(INT64_MAX), INFINI_STATUS_BAD_PARAM, sizes[i].name,
            " is ", sizes[i].size, "; expected a size");
    list.push_back({sizes[i].name, static_cast<int64_t>(sizes[i].size)});
  }
  return list;
}

Rearrange by_pattern(Device& device, const Layout& dst, const Layout& src, const char* pattern,
                     const std::vector<AxisSize>& sizes) {
  const PatternWalk walk =
      walk_of(parse_pattern(pattern), src.rank, src.shape, {sizes.data(), sizes.size()});
  const Layout result = result_layout(walk, src.dtype);
  require(same_shape(dst, result), INFINI_STATUS_BAD_TENSOR_SHAPE, "dst is ", ShapeOf{dst},
          "; the pattern makes ", ShapeOf{result});
  return Rearrange(device, walked_result(walk, dst), walked_source(walk, src));
}

}  // namespace

infiniStatus_t infiniopCreateRearrangeDescriptor(infiniopHandle_t handle,
                                                 infiniopRearrangeDescriptor_t* desc,
                                                 infiniopTensorDescriptor_t dst,
                                                 infiniopTensorDescriptor_t src) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = create_descriptor(
        rearranges(), Rearrange(device_of(handle), layout_of(dst, "dst"), layout_of(src, "src")));
  });
}

infiniStatus_t infiniopCreateRearrangeFromPatternDescriptor(
    infiniopHandle_t handle, infiniopRearrangeDescriptor_t* desc, infiniopTensorDescriptor_t dst,
    infiniopTensorDescriptor_t src, const char* pattern, const infiniopAxisSize_t* sizes,
    size_t count) {
  return at_boundary([&] {
    require_out(desc, "desc");
    require_pointer(pattern, "pattern");
    *desc = create_descriptor(
        rearranges(), by_pattern(device_of(handle), layout_of(dst, "dst"), layout_of(src, "src"),
                                 pattern, sizes_of(sizes, count)));
  });
}

infiniStatus_t infiniopRearrange(infiniopRearrangeDescriptor_t desc, void* dst, const void* src,
                                 void* stream) {
  return at_boundary([&] { Rearranges::pin(desc, "desc")->run(dst, src, stream); });
}

infiniStatus_t infiniopDestroyRearrangeDescriptor(infiniopRearrangeDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { rearranges().destroy(desc, "desc"); });
}
