// Convert: y = round(scale·x + shift) between formats while moving, as an operator plan of y, x, scale and shift.
//
// scale and shift are two numbers, or tensors of f32 that repeat along all dims but one; where a tensor is missing its place in the
// plan is a scalar that nobody reads.
#pragma once

#include <cstdint>

#include "plan/operators/operator_plan.h"

namespace infini {

// The formats that are converted; the order is that of the backends' tables.
enum class Format : int32_t { u8, i8, u16, i16, e4m3, e5m2, f16, bf16, f32, i32, u32, f64 };
constexpr int format_count = 12;
constexpr int narrow_format_count = 9;

// Law: every number of the first nine is an f32; the last three are computed in f64.
constexpr bool is_wide(Format format) { return format >= Format::i32; }

// format_count where the dtype is not converted.
constexpr int format_of(infiniDtype_t dtype, bool e5m2) {
  switch (dtype) {
    case INFINI_DTYPE_BYTE:
    case INFINI_DTYPE_U8: return static_cast<int>(Format::u8);
    case INFINI_DTYPE_I8: return static_cast<int>(Format::i8);
    case INFINI_DTYPE_U16: return static_cast<int>(Format::u16);
    case INFINI_DTYPE_I16: return static_cast<int>(Format::i16);
    case INFINI_DTYPE_F8: return static_cast<int>(e5m2 ? Format::e5m2 : Format::e4m3);
    case INFINI_DTYPE_F16: return static_cast<int>(Format::f16);
    case INFINI_DTYPE_BF16: return static_cast<int>(Format::bf16);
    case INFINI_DTYPE_F32: return static_cast<int>(Format::f32);
    case INFINI_DTYPE_I32: return static_cast<int>(Format::i32);
    case INFINI_DTYPE_U32: return static_cast<int>(Format::u32);
    case INFINI_DTYPE_F64: return static_cast<int>(Format::f64);
    default: return format_count;
  }
}
// Of y (0) or x (1) of a plan that was made below.
inline Format format_in(const OperatorPlan& plan, int operand) {
  return static_cast<Format>(format_of(plan.dtypes[operand], plan.conversion.e5m2[operand]));
}
// Whether anything is computed between reading and rounding.
inline bool computes(const Conversion& c) {
  return c.along[0] || c.along[1] || c.scale != 1 || c.shift != 0;
}

// Operands that are not read: their pointers may be null.
inline bool is_absent(const OperatorPlan& plan, int operand) {
  return plan.function == Function::convert && operand >= 2 && !plan.conversion.along[operand - 2];
}

// scale and shift may be null: then conversion.scale and conversion.shift. Throws BAD_TENSOR_DTYPE, BAD_TENSOR_SHAPE or
// BAD_TENSOR_STRIDES (y overlaps itself).
OperatorPlan make_convert_plan(const Layout& y, const Layout& x, const Layout* scale,
                               const Layout* shift, Conversion conversion);

}  // namespace infini
