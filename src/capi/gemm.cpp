// infiniop/ops/gemm.h.
#include "ops/gemm.h"

#include "capi/boundary.h"
#include "capi/objects.h"

using namespace infini;

namespace {

using Gemms = Operators<Gemm, gemm_tag>;

Gemms& gemms() {
  static constinit Lazy<Gemms> all;
  return all.get();
}

}  // namespace

infiniStatus_t infiniopCreateGemmDescriptor(infiniopHandle_t handle, infiniopGemmDescriptor_t* desc,
                                            infiniopTensorDescriptor_t c,
                                            infiniopTensorDescriptor_t a,
                                            infiniopTensorDescriptor_t b) {
  return infiniopCreateGemmDescriptorWithOptions(handle, desc, c, a, b, nullptr);
}

infiniStatus_t infiniopCreateGemmDescriptorWithOptions(infiniopHandle_t handle,
                                                       infiniopGemmDescriptor_t* desc,
                                                       infiniopTensorDescriptor_t c,
                                                       infiniopTensorDescriptor_t a,
                                                       infiniopTensorDescriptor_t b,
                                                       const infiniopGemmOptions_t* options) {
  return at_boundary([&] {
    require_out(desc, "desc");
    GemmOptions chosen = default_gemm_options();
    if (options != nullptr) {
      require(options->size >= sizeof *options, INFINI_STATUS_BAD_PARAM, "options->size is ",
              options->size, "; expected sizeof(infiniopGemmOptions_t), ", sizeof *options);
      chosen.allow_tf32 = options->allow_tf32 != 0;
    }
    *desc = create_descriptor(gemms(), Gemm(device_of(handle), layout_of(c, "c"), layout_of(a, "a"),
                                            layout_of(b, "b"), chosen));
  });
}

infiniStatus_t infiniopGetGemmWorkspaceSize(infiniopGemmDescriptor_t desc, size_t* size) {
  return at_boundary([&] {
    require_pointer(size, "size");
    *size = Gemms::pin(desc, "desc")->workspace_bytes();
  });
}

infiniStatus_t infiniopGemm(infiniopGemmDescriptor_t desc, void* workspace, size_t workspace_size,
                            void* c, const void* a, const void* b, float alpha, float beta,
                            void* stream) {
  return at_boundary([&] {
    Gemms::pin(desc, "desc")->run(workspace, workspace_size, c, a, b, alpha, beta, stream);
  });
}

infiniStatus_t infiniopGemmWithScales(infiniopGemmDescriptor_t desc, void* workspace,
                                      size_t workspace_size, void* c, const void* a, const void* b,
                                      const infiniopGemmScales_t* scales, void* stream) {
  return at_boundary([&] {
    require_pointer(scales, "scales");
    require(scales->size >= sizeof *scales, INFINI_STATUS_BAD_PARAM, "scales->size is ",
            scales->size, "; expected sizeof(infiniopGemmScales_t), ", sizeof *scales);
    Gemms::pin(desc, "desc")
        ->run(workspace, workspace_size, c, a, b, scales->alpha, scales->beta, stream);
  });
}

infiniStatus_t infiniopDestroyGemmDescriptor(infiniopGemmDescriptor_t desc) {
  return destroy_unless_null(desc, [&] { gemms().destroy(desc, "desc"); });
}
