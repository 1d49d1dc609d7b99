// infinicore/ops/rows.hpp: operators of whole rows: norms, softmax, rotary embedding, sampling. What they compute stands
// in the headers infiniop/ops/<name>.h; results may be the operand x, element for element.
#pragma once

#include "../../infiniop/ops/rope.h"
#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// y = x · w / sqrt(mean(x²) + epsilon) over the last dim.
INFINI_EXPORT Tensor rms_norm(const Tensor& x, const Tensor& w, float epsilon = 1e-5f);
INFINI_EXPORT void rms_norm_(const Tensor& y, const Tensor& x, const Tensor& w,
                             float epsilon = 1e-5f);

// [..., s, T]: row i sees the first T - s + i + 1 elements, the others become 0.
INFINI_EXPORT Tensor causal_softmax(const Tensor& x);
INFINI_EXPORT void causal_softmax_(const Tensor& y, const Tensor& x);

// x: [s, h, dh] or [b, s, h, dh]; positions: [s] or [b, s]; tables: [rows, dh / 2].
INFINI_EXPORT Tensor rope(const Tensor& x, const Tensor& positions, const Tensor& sin_table,
                          const Tensor& cos_table,
                          infiniopRoPEAlgo_t algo = INFINIOP_ROPE_ALGO_GPT_J);
INFINI_EXPORT void rope_(const Tensor& y, const Tensor& x, const Tensor& positions,
                         const Tensor& sin_table, const Tensor& cos_table,
                         infiniopRoPEAlgo_t algo = INFINIOP_ROPE_ALGO_GPT_J);

// logits: [n], or [batch, n] with one token for each row; the options are those of every row, and of every run of a graph
// that they are recorded in. The new result is I32.
INFINI_EXPORT Tensor random_sample(const Tensor& logits, float random_val, float topp, int topk,
                                   float temperature);
INFINI_EXPORT void random_sample_(const Tensor& result, const Tensor& logits, float random_val,
                                  float topp, int topk, float temperature);

}  // namespace infinicore::op
