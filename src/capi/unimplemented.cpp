// infiniop/ops/{topkrouter,dequantize_awq}.h: names that clients link against and nobody offers here yet.
#include "capi/boundary.h"
#include "capi/objects.h"
#include "infiniop.h"

using namespace infini;

namespace {

infiniStatus_t refuse(const char* name) {
  return at_boundary(
      [&] { fail(INFINI_STATUS_NOT_IMPLEMENTED, name, " is not implemented on any device"); });
}

template <class Desc>
infiniStatus_t refuse_create(const char* name, Desc* desc) {
  return at_boundary([&] {
    require_out(desc, "desc");
    fail(INFINI_STATUS_NOT_IMPLEMENTED, name, " is not implemented on any device");
  });
}

}  // namespace

infiniStatus_t infiniopCreateTopkrouterDescriptor(infiniopHandle_t,
                                                  infiniopTopkrouterDescriptor_t* desc,
                                                  infiniopTensorDescriptor_t,
                                                  infiniopTensorDescriptor_t) {
  return refuse_create("Topkrouter", desc);
}
infiniStatus_t infiniopGetTopkrouterWorkspaceSize(infiniopTopkrouterDescriptor_t, size_t*) {
  return refuse("Topkrouter");
}
infiniStatus_t infiniopTopkrouter(infiniopTopkrouterDescriptor_t, void*, size_t, void*, void*,
                                  const void*, const void*, float, size_t, void*) {
  return refuse("Topkrouter");
}
infiniStatus_t infiniopDestroyTopkrouterDescriptor(infiniopTopkrouterDescriptor_t desc) {
  return desc == nullptr ? INFINI_STATUS_SUCCESS : refuse("Topkrouter");
}

infiniStatus_t infiniopCreateDequantizeAWQDescriptor(
    infiniopHandle_t, infiniopDequantizeAWQDescriptor_t* desc, infiniopTensorDescriptor_t,
    infiniopTensorDescriptor_t, infiniopTensorDescriptor_t, infiniopTensorDescriptor_t) {
  return refuse_create("DequantizeAWQ", desc);
}
infiniStatus_t infiniopGetDequantizeAWQWorkspaceSize(infiniopDequantizeAWQDescriptor_t, size_t*) {
  return refuse("DequantizeAWQ");
}
infiniStatus_t infiniopDequantizeAWQ(infiniopDequantizeAWQDescriptor_t, void*, size_t, void*,
                                     const void*, const void*, const void*, void*) {
  return refuse("DequantizeAWQ");
}
infiniStatus_t infiniopDestroyDequantizeAWQDescriptor(infiniopDequantizeAWQDescriptor_t desc) {
  return desc == nullptr ? INFINI_STATUS_SUCCESS : refuse("DequantizeAWQ");
}
