// infiniop/ops/rearrange.h.
#include "ops/rearrange.h"

#include "capi/boundary.h"
#include "capi/objects.h"

using namespace infini;

namespace {

using Rearranges = Operators<Rearrange, rearrange_tag>;

Rearranges& rearranges() {
  static constinit Lazy<Rearranges> all;
  return all.get();
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

infiniStatus_t infiniopRearrange(infiniopRearrangeDescriptor_t desc, void* dst, const void* src,
                                 void* stream) {
  return at_boundary([&] { Rearranges::pin(desc, "desc")->run(dst, src, stream); });
}

infiniStatus_t infiniopDestroyRearrangeDescriptor(infiniopRearrangeDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { rearranges().destroy(desc, "desc"); });
}
