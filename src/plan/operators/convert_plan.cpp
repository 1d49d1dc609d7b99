// Making plans of Convert.
#include "plan/operators/convert_plan.h"

#include "base/dtype.h"
#include "base/error.h"

namespace infini {
namespace {

void require_format(const Layout& layout, const char* name) {
  require(format_of(layout.dtype, false) < format_count, INFINI_STATUS_BAD_TENSOR_DTYPE,
          "convert: ", name, " is ", dtype_name(layout.dtype),
          "; expected u8, i8, u16, i16, i32, u32, f8, f16, bf16, f32 or f64 (others: cast)");
}

// The dim of y along which a tensor differs; -1: none.
int axis_of(const Layout& layout, const Layout& y, const char* name) {
  require(layout.dtype == INFINI_DTYPE_F32, INFINI_STATUS_BAD_TENSOR_DTYPE, "convert: ", name,
          " is ", dtype_name(layout.dtype), "; expected f32");
  int axis = -1;
  for (int i = 0; i < layout.rank; ++i) {
    if (layout.shape[i] == 1) continue;
    require(axis < 0, INFINI_STATUS_BAD_TENSOR_SHAPE, "convert: ", name, " has shape ",
            ShapeOf{layout}, "; expected at most one dim that is not 1");
    axis = i + y.rank - layout.rank;
  }
  return axis;
}

}  // namespace

OperatorPlan make_convert_plan(const Layout& y, const Layout& x, const Layout* scale,
                               const Layout* shift, Conversion conversion) {
  require_format(y, "y");
  require_format(x, "x");
  Layout one;
  one.dtype = INFINI_DTYPE_F32;
  const int of_scale = scale == nullptr ? -1 : axis_of(*scale, y, "scale"),
            of_shift = shift == nullptr ? -1 : axis_of(*shift, y, "shift");
  require(of_scale == of_shift || of_scale < 0 || of_shift < 0, INFINI_STATUS_BAD_TENSOR_SHAPE,
          "convert: scale goes along dim ", of_scale, " of y and shift along dim ", of_shift,
          "; expected the same");
  const Layout* sources[] = {&x, scale == nullptr ? &one : scale, shift == nullptr ? &one : shift};
  OperatorPlan plan = make_map_plan(Function::convert, y, sources);
  conversion.along[0] = scale != nullptr;
  conversion.along[1] = shift != nullptr;
  plan.conversion = conversion;
  return plan;
}

}  // namespace infini
