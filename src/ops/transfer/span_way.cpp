// Span: bytes cross the link as they lie on the host; the device rearranges them on its side of it.
//
// To the device: the stretch of src that holds its elements goes to memory of the device, from where a kernel moves them
// to dst; where it is large in pieces, along the loop that goes furthest in src. To the host: a kernel makes pieces of
// dst, which must have no gaps, and each is copied there.
#include <algorithm>
#include <cstdlib>

#include "ops/rearrange.h"
#include "ops/transfer/ways.h"
#include "plan/rearrange/plan_cut.h"

namespace infini {
namespace {

constexpr double next_piece_ns = 12000;
// A stretch may have so many bytes for each that is wanted.
constexpr double most_waste = 1.5;

// A piece of the plan: a kernel between memory of the device's own and the tensor.
struct Part {
  Part(Device& device, RearrangePlan plan, bool to_device)
      : range(to_device ? src_range(plan) : dst_range(plan)) {
    (to_device ? plan.src_offset : plan.dst_offset) -= range.begin;
    copy = std::make_unique<Rearrange>(device, plan);
  }
  size_t bytes() const { return static_cast<size_t>(range.end - range.begin); }
  ByteRange range;  // of the host's side, at the place of the first piece
  std::unique_ptr<const Rearrange> copy;
};

// The pieces of one loop.
struct SpanCut {
  int loop = -1;  // -1: all at once
  int64_t iterations = 0;
};

int furthest_loop(const RearrangePlan& plan) {
  int found = 0;
  for (int i = 1; i < plan.depth; ++i)
    if (std::abs(plan.loops[i].src_step) > std::abs(plan.loops[found].src_step)) found = i;
  return found;
}

class SpanToDevice final : public Way {
 public:
  SpanToDevice(const TransferCase& transfer, const RearrangePlan& plan, const SpanCut& cut)
      : device_(transfer.device), cut_(cut) {
    if (cut.loop < 0) {
      full_ = std::make_unique<Part>(device_, plan, true);
      return;
    }
    loop_ = plan.loops[cut.loop];
    full_ = std::make_unique<Part>(device_, part_of(plan, cut.loop, 0, cut.iterations), true);
    if (const int64_t rest = loop_.extent % cut.iterations)
      last_ = std::make_unique<Part>(device_, part_of(plan, cut.loop, 0, rest), true);
  }

  void run(void* dst, const void* src, void* stream) const override {
    StreamMemory room(device_, full_->bytes(), stream);
    const int64_t step = std::max<int64_t>(1, cut_.iterations);
    for (int64_t i = 0; i < (cut_.loop < 0 ? 1 : loop_.extent); i += step) {
      const Part& part = cut_.loop >= 0 && i + step > loop_.extent ? *last_ : *full_;
      const char* from = static_cast<const char*>(src) + part.range.begin + i * loop_.src_step;
      device_.copy_async(room.get(), from, part.bytes(), INFINIRT_MEMCPY_H2D, stream);
      part.copy->run(static_cast<char*>(dst) + i * loop_.dst_step, room.get(), stream);
    }
    room.free();
  }
  const char* name() const override { return "span"; }

 private:
  Device& device_;
  SpanCut cut_;
  Loop loop_{1, 0, 0};
  std::unique_ptr<const Part> full_, last_;
};

class SpanToHost final : public Way {
 public:
  SpanToHost(const TransferCase& transfer, const RearrangePlan& plan, const PieceCut& cut)
      : device_(transfer.device), plan_(std::make_unique<RearrangePlan>(plan)), cut_(cut) {
    full_ = std::make_unique<Part>(device_, piece_plan(plan, cut, cut.iterations), false);
    if (const int64_t rest = plan.loops[cut.loop].extent % cut.iterations)
      last_ = std::make_unique<Part>(device_, piece_plan(plan, cut, rest), false);
  }

  void run(void* dst, const void* src, void* stream) const override {
    StreamMemory room(device_, full_->bytes(), stream);
    const int64_t pieces = cut_.pieces(*plan_);
    for (int64_t i = 0; i < pieces; ++i) {
      const CutPiece piece = piece_of(*plan_, cut_, i);
      const Part& part = piece.iterations == cut_.iterations ? *full_ : *last_;
      part.copy->run(room.get(), static_cast<const char*>(src) + piece.src, stream);
      device_.copy_async(static_cast<char*>(dst) + part.range.begin + piece.dst, room.get(),
                         part.bytes(), INFINIRT_MEMCPY_D2H, stream);
    }
    room.free();
  }
  const char* name() const override { return "span"; }

 private:
  Device& device_;
  std::unique_ptr<const RearrangePlan> plan_;
  PieceCut cut_;
  std::unique_ptr<const Part> full_, last_;
};

double cost(const TransferCase& transfer, const RearrangePlan& plan, double bytes, int64_t pieces) {
  return transfer.link.start_ns + bytes / transfer.bytes_per_ns() +
         static_cast<double>(pieces) * next_piece_ns +
         2 * static_cast<double>(moved_bytes(plan)) / transfer.link.memory_bytes_per_ns;
}

Bid<Way> bid_to_device(const TransferCase& transfer, const RearrangePlan& plan) {
  const ByteRange range = src_range(plan);
  const int64_t span = range.end - range.begin;
  if (static_cast<double>(span) > most_waste * static_cast<double>(distinct_source_bytes(plan)))
    return cannot<Way>("src has large gaps");
  SpanCut cut;
  int64_t pieces = 1;
  if (span > transfer.extra_bytes) {
    if (plan.depth == 0) return cannot<Way>("there is nothing to rearrange");
    cut.loop = furthest_loop(plan);
    const Loop& loop = plan.loops[cut.loop];
    const int64_t step = std::abs(loop.src_step);
    const int64_t one = span - (loop.extent - 1) * step;  // of one iteration
    if (step == 0 || one > transfer.extra_bytes)
      return cannot<Way>("no loop cuts src into pieces of little memory");
    cut.iterations = std::min(loop.extent, 1 + (transfer.extra_bytes - one) / step);
    pieces = (loop.extent + cut.iterations - 1) / cut.iterations;
  }
  return would_take<Way>(
      cost(transfer, plan, static_cast<double>(span), pieces),
      [&transfer, &plan, cut] { return std::make_unique<SpanToDevice>(transfer, plan, cut); });
}

Bid<Way> bid_to_host(const TransferCase& transfer, const RearrangePlan& plan) {
  const ByteRange range = dst_range(plan);
  const int64_t bytes = moved_bytes(plan);
  if (range.end - range.begin != bytes) return cannot<Way>("dst has gaps");
  const PieceCut cut = cut_by_bytes(plan, transfer.extra_bytes);
  if (cut.loop < 0) return cannot<Way>("there is nothing to rearrange");
  return would_take<Way>(
      cost(transfer, plan, static_cast<double>(bytes), cut.pieces(plan)),
      [&transfer, &plan, cut] { return std::make_unique<SpanToHost>(transfer, plan, cut); });
}

}  // namespace

Bid<Way> bid_span(const TransferCase& transfer, const RearrangePlan& plan, double) {
  return transfer.to_device() ? bid_to_device(transfer, plan) : bid_to_host(transfer, plan);
}

}  // namespace infini
