// infiniop/ops/convert.h.
#include "capi/operators.h"
#include "plan/operators/convert_plan.h"

using namespace infini;

namespace {

Conversion conversion_from(const infiniopConvertOptions_t* options) {
  Conversion conversion;
  if (options == nullptr) return conversion;
  constexpr uint32_t known =
      INFINIOP_CONVERT_SATURATE | INFINIOP_CONVERT_X_E5M2 | INFINIOP_CONVERT_Y_E5M2;
  require(options->size == sizeof *options, INFINI_STATUS_BAD_PARAM, "options->size is ",
          options->size, "; expected ", sizeof *options);
  require((options->flags & ~known) == 0, INFINI_STATUS_BAD_PARAM, "options->flags is ",
          options->flags, "; expected a sum of 1, 2 and 4");
  conversion.saturates = (options->flags & INFINIOP_CONVERT_SATURATE) != 0;
  conversion.e5m2[0] = (options->flags & INFINIOP_CONVERT_Y_E5M2) != 0;
  conversion.e5m2[1] = (options->flags & INFINIOP_CONVERT_X_E5M2) != 0;
  conversion.scale = options->scale;
  conversion.shift = options->shift;
  return conversion;
}

}  // namespace

infiniStatus_t infiniopCreateConvertDescriptor(
    infiniopHandle_t handle, infiniopConvertDescriptor_t* desc, infiniopTensorDescriptor_t y,
    infiniopTensorDescriptor_t x, infiniopTensorDescriptor_t scale,
    infiniopTensorDescriptor_t shift, const infiniopConvertOptions_t* options) {
  return at_boundary([&] {
    require_out(desc, "desc");
    Layout numbers[2];
    if (scale != nullptr) numbers[0] = layout_of(scale, "scale");
    if (shift != nullptr) numbers[1] = layout_of(shift, "shift");
    *desc = create_operator(handle, make_convert_plan(layout_of(y, "y"), layout_of(x, "x"),
                                                      scale == nullptr ? nullptr : &numbers[0],
                                                      shift == nullptr ? nullptr : &numbers[1],
                                                      conversion_from(options)));
  });
}
infiniStatus_t infiniopGetConvertWorkspaceSize(infiniopConvertDescriptor_t desc, size_t* size) {
  return workspace_of(Function::convert, desc, size);
}
infiniStatus_t infiniopConvert(infiniopConvertDescriptor_t desc, void* workspace,
                               size_t workspace_size, void* y, const void* x, const void* scale,
                               const void* shift, void* stream) {
  return run_operator(Function::convert, desc, workspace_size,
                      make_run(workspace, stream, {y, x, scale, shift}));
}
infiniStatus_t infiniopDestroyConvertDescriptor(infiniopConvertDescriptor_t desc) {
  return destroy_operator(Function::convert, desc);
}
