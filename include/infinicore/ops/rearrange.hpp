// infinicore/ops/rearrange.hpp: copies between layouts.
#pragma once

#include "../context/context.hpp"
#include "../graph/graph.hpp"

namespace infinicore::op {

// A contiguous copy of x.
INFINI_EXPORT Tensor rearrange(const Tensor& x);
// y = x. Same device, dtype and shape; any strides. Where they overlap, x is read first.
INFINI_EXPORT void rearrange_(const Tensor& y, const Tensor& x);

// How a copy is understood and run; what `infini plan` prints.
struct RearrangePlan {
  struct Loop {
    int64_t extent, dst_step, src_step;  // steps in bytes
  };
  // Copies atom_bytes at every point of the loops, outermost first.
  int64_t atom_bytes, dst_offset, src_offset;
  std::vector<Loop> loops;
  int64_t bytes_written, bytes_read;  // each byte of x once
  std::string candidate, schedule;    // the chosen kernel and how it walks; empty: nothing to move
  std::string text;                   // all of it in words
};

// A prepared copy of x to y that can be run many times.
class INFINI_EXPORT Rearrange : public graph::GraphOperator {
 public:
  Rearrange(const Tensor& y, const Tensor& x);
  ~Rearrange() override;
  // Records when this thread is recording, else runs.
  static void execute(const Tensor& y, const Tensor& x) { rearrange_(y, x); }
  void run() const override;
  std::string describe() const override;
  RearrangePlan plan() const;
  detail::Step* step() const override { return step_.get(); }

 private:
  std::unique_ptr<detail::Step> step_;
};

}  // namespace infinicore::op
