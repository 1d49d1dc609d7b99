// infinicore/ops/elementwise.hpp: operators that compute each element of their result from one element of each source.
//
// Any strides; dims of size 1 of a source, and leading ones that it lacks, are repeated. The result may be one of the
// sources, element for element. f16 and bf16 are computed in f32 and rounded once; integers (add, sub, mul) wrap around.
#pragma once

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// By name, as infiniopOperatorName lists them; what has a function below and what does not have one yet.
INFINI_EXPORT Tensor elementwise(const char* name, const std::vector<Tensor>& sources);
// The result first.
INFINI_EXPORT void elementwise_(const char* name, const std::vector<Tensor>& operands);

// y = x as another type: rounded to nearest even, integers saturate, NaN becomes 0 there.
INFINI_EXPORT Tensor cast(const Tensor& x, DataType dtype);
inline void cast_(const Tensor& y, const Tensor& x) { elementwise_("cast", {y, x}); }

// a + b
inline Tensor add(const Tensor& a, const Tensor& b) { return elementwise("add", {a, b}); }
// c = a + b
inline void add_(const Tensor& c, const Tensor& a, const Tensor& b) {
  elementwise_("add", {c, a, b});
}
// a - b
inline Tensor sub(const Tensor& a, const Tensor& b) { return elementwise("sub", {a, b}); }
// c = a - b
inline void sub_(const Tensor& c, const Tensor& a, const Tensor& b) {
  elementwise_("sub", {c, a, b});
}
// a · b
inline Tensor mul(const Tensor& a, const Tensor& b) { return elementwise("mul", {a, b}); }
// c = a · b
inline void mul_(const Tensor& c, const Tensor& a, const Tensor& b) {
  elementwise_("mul", {c, a, b});
}
// a / b
inline Tensor div(const Tensor& a, const Tensor& b) { return elementwise("div", {a, b}); }
// c = a / b
inline void div_(const Tensor& c, const Tensor& a, const Tensor& b) {
  elementwise_("div", {c, a, b});
}
// c = up · gate · sigmoid(gate)
inline Tensor swiglu(const Tensor& up, const Tensor& gate) {
  return elementwise("swiglu", {up, gate});
}
inline void swiglu_(const Tensor& c, const Tensor& up, const Tensor& gate) {
  elementwise_("swiglu", {c, up, gate});
}
// y = x · sigmoid(x)
inline Tensor silu(const Tensor& x) { return elementwise("silu", {x}); }
inline void silu_(const Tensor& y, const Tensor& x) { elementwise_("silu", {y, x}); }
// By the error function.
inline Tensor gelu(const Tensor& x) { return elementwise("gelu", {x}); }
inline void gelu_(const Tensor& y, const Tensor& x) { elementwise_("gelu", {y, x}); }
inline Tensor relu(const Tensor& x) { return elementwise("relu", {x}); }
inline void relu_(const Tensor& y, const Tensor& x) { elementwise_("relu", {y, x}); }
inline Tensor sigmoid(const Tensor& x) { return elementwise("sigmoid", {x}); }
inline void sigmoid_(const Tensor& y, const Tensor& x) { elementwise_("sigmoid", {y, x}); }

}  // namespace infinicore::op
