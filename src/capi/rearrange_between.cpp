// infiniop/ops/rearrange_between.h.
#include "capi/boundary.h"
#include "capi/objects.h"
#include "ops/transfer/between.h"

using namespace infini;

namespace {

using Transfers = Operators<RearrangeBetween, 0x62657477>;

Transfers& transfers() {
  static constinit Lazy<Transfers> all;
  return all.get();
}

}  // namespace

infiniStatus_t infiniopCreateRearrangeBetweenDescriptor(infiniopHandle_t handle,
                                                        infiniopRearrangeBetweenDescriptor_t* desc,
                                                        infiniopTensorDescriptor_t dst,
                                                        infiniopTensorDescriptor_t src,
                                                        infinirtMemcpyKind_t kind) {
  return at_boundary([&] {
    require_out(desc, "desc");
    require(kind == INFINIRT_MEMCPY_H2D || kind == INFINIRT_MEMCPY_D2H, INFINI_STATUS_BAD_PARAM,
            "kind is ", kind, "; expected INFINIRT_MEMCPY_H2D or INFINIRT_MEMCPY_D2H");
    const Direction direction =
        kind == INFINIRT_MEMCPY_H2D ? Direction::to_device : Direction::to_host;
    *desc = create_descriptor(transfers(),
                              RearrangeBetween(device_of(handle), direction, layout_of(dst, "dst"),
                                               layout_of(src, "src")));
  });
}

infiniStatus_t infiniopRearrangeBetween(infiniopRearrangeBetweenDescriptor_t desc, void* dst,
                                        const void* src, void* stream) {
  return at_boundary([&] { Transfers::pin(desc, "desc")->run(dst, src, stream); });
}

infiniStatus_t infiniopDestroyRearrangeBetweenDescriptor(
    infiniopRearrangeBetweenDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { transfers().destroy(desc, "desc"); });
}
