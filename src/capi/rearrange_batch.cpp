// infiniop/ops/rearrange_batch.h.
#include "ops/rearrange_batch.h"

#include "capi/boundary.h"
#include "capi/objects.h"

using namespace infini;

namespace {

using Batches = Operators<RearrangeBatch, 0x62617463>;

Batches& batches() {
  static constinit Lazy<Batches> all;
  return all.get();
}

std::vector<Layout> layouts_of(const infiniopTensorDescriptor_t* descs, size_t count,
                               const char* argument) {
  require_pointer(descs, argument);
  std::vector<Layout> layouts;
  for (size_t i = 0; i < count; ++i) layouts.push_back(layout_of(descs[i], argument));
  return layouts;
}

}  // namespace

infiniStatus_t infiniopCreateRearrangeBatchDescriptor(infiniopHandle_t handle,
                                                      infiniopRearrangeBatchDescriptor_t* desc,
                                                      size_t layouts,
                                                      const infiniopTensorDescriptor_t* dst,
                                                      const infiniopTensorDescriptor_t* src) {
  return at_boundary([&] {
    require_out(desc, "desc");
    *desc = create_descriptor(batches(),
                              RearrangeBatch(device_of(handle), layouts_of(dst, layouts, "dst"),
                                             layouts_of(src, layouts, "src")));
  });
}

infiniStatus_t infiniopRearrangeBatch(infiniopRearrangeBatchDescriptor_t desc, size_t count,
                                      void* const* dst, const void* const* src, void* stream) {
  return at_boundary([&] { Batches::pin(desc, "desc")->run(count, dst, src, stream); });
}

infiniStatus_t infiniopDestroyRearrangeBatchDescriptor(infiniopRearrangeBatchDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { batches().destroy(desc, "desc"); });
}
