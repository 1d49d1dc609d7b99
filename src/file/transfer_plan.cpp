// Cutting a transfer into blocks.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "file/transfer.h"

namespace infini::file {
namespace {

// Bytes that are read though nobody needs them, where that saves a request.
constexpr int64_t cheap_gap = 16 << 10;
constexpr int64_t most_overread = 4;
// More buffers than this only put off the moment when reading and writing go on side by side.
constexpr int64_t useful_memory = 512 << 20;
constexpr int64_t long_run = 1 << 20;

void drop_and_join(std::vector<TransferDim>& dims) {
  std::erase_if(dims, [](const TransferDim& d) { return d.extent == 1; });
  std::stable_sort(dims.begin(), dims.end(), [](const TransferDim& a, const TransferDim& b) {
    return a.dst_step > b.dst_step;
  });
  std::vector<TransferDim> joined;
  for (const TransferDim& d : dims) {
    if (!joined.empty() && joined.back().dst_step == d.extent * d.dst_step &&
        joined.back().src_step == d.extent * d.src_step)
      joined.back() = {joined.back().extent * d.extent, d.dst_step, d.src_step};
    else
      joined.push_back(d);
  }
  dims = std::move(joined);
}

// Takes dims in this order until `wanted` elements are together.
void grow(TransferPlan& plan, const std::vector<size_t>& order, int64_t wanted, int64_t most) {
  int64_t all = 1, taken = 1;
  for (const int64_t extent : plan.block) all *= extent;
  for (const size_t i : order) {
    int64_t& block = plan.block[i];
    const int64_t room = std::max<int64_t>(most / (all / block), 1);
    // What is nearly whole is taken whole: two parts of a run would be read as two.
    const int64_t extent = plan.dims[i].extent, needed = ceil_div(wanted, taken);
    const int64_t take = std::clamp<int64_t>(needed * 4 >= extent ? extent : needed, block,
                                             std::min(extent, std::max(room, block)));
    all = all / block * take;
    block = take;
    taken *= take;
    if (taken >= wanted || block < plan.dims[i].extent) return;
  }
}

// Which dims of a block are read together, and what it takes.
void set_spans(TransferPlan& plan, const std::vector<size_t>& by_src, int64_t src_bytes,
               int64_t dst_bytes) {
  int64_t elements = 1, useful = src_bytes, outer = 1;
  for (const int64_t extent : plan.block) elements *= extent;
  plan.span_bytes = src_bytes;
  plan.span_dims.clear();
  bool inside = true;
  for (const size_t i : by_src) {
    const int64_t step = std::abs(plan.dims[i].src_step), extent = plan.block[i];
    if (step == 0 || extent == 1) continue;
    int64_t span = 0;
    inside = inside && checked_mul(extent - 1, step, span) &&
             checked_add(span, plan.span_bytes, span) &&
             (step - plan.span_bytes <= cheap_gap || span <= 2 * useful * extent) &&
             span <= most_overread * useful * extent;
    if (inside) {
      plan.span_bytes = span;
      plan.span_dims.push_back(i);
      useful *= extent;
    } else {
      outer *= extent;
    }
  }
  plan.raw_bytes = outer * plan.span_bytes;
  plan.out_bytes = elements * dst_bytes;
}

}  // namespace

TransferPlan make_transfer_plan(const Transfer& transfer, int64_t memory) {
  TransferPlan plan;
  memory = std::min(memory, useful_memory);
  plan.dims = transfer.dims;
  plan.dst_offset = transfer.dst_offset;
  plan.src_offset = transfer.src_offset;
  drop_and_join(plan.dims);
  const int64_t src_bytes = dtype_bytes(transfer.src_dtype),
                dst_bytes = dtype_bytes(transfer.dst_dtype);
  std::vector<size_t> by_dst, by_src;
  for (size_t i = plan.dims.size(); i-- > 0;) by_dst.push_back(i);
  by_src = by_dst;
  const auto reach = [&](size_t i) {
    return plan.dims[i].src_step == 0 ? INT64_MAX : std::abs(plan.dims[i].src_step);
  };
  std::stable_sort(by_src.begin(), by_src.end(),
                   [&](size_t a, size_t b) { return reach(a) < reach(b); });
  // While one block is read, another one is put in order and written.
  for (int64_t budget = memory / 2;; budget /= 2) {
    const int64_t most = std::max<int64_t>(budget / (src_bytes + dst_bytes), 1);
    plan.block.assign(plan.dims.size(), 1);
    const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(most)));
    if (by_src != by_dst) {
      grow(plan, by_dst, side, most);
      // Where runs stay runs, as in shards, the source is read in long ones.
      grow(plan, by_src, by_src[0] == by_dst[0] ? std::max(side, long_run / src_bytes) : side,
           most);
    }
    grow(plan, by_dst, most, most);
    set_spans(plan, by_src, src_bytes, dst_bytes);
    if (2 * (plan.raw_bytes + plan.out_bytes) <= memory) break;
    require(budget > 0, INFINI_STATUS_BAD_PARAM, "a memory of ", memory,
            " bytes is too small for this transfer");
  }
  for (size_t i = 0; i < plan.dims.size(); ++i)
    plan.blocks *= ceil_div(plan.dims[i].extent, plan.block[i]);
  return plan;
}

}  // namespace infini::file
