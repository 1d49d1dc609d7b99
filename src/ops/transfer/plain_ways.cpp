// Ways without memory of their own: copies of runs and rows, and kernels over mapped memory.
#include <algorithm>

#include "ops/rearrange.h"
#include "ops/transfer/ways.h"
#include "plan/rearrange/memory_traffic.h"

namespace infini {
namespace {

// What every further copy of a call costs, and rows that are narrower than this take as long.
constexpr double next_copy_ns = 2500;
constexpr int64_t least_row = 256, most_runs = 4096;

class Runs final : public Way {
 public:
  Runs(const TransferCase& transfer, const RearrangePlan& plan)
      : device_(transfer.device),
        kind_(transfer.kind()),
        plan_(std::make_unique<RearrangePlan>(plan)) {}
  void run(void* dst, const void* src, void* stream) const override {
    const int64_t runs = atom_count(*plan_);
    for (int64_t n = 0; n < runs; ++n) {
      int64_t rest = n, to = plan_->dst_offset, from = plan_->src_offset;
      for (int i = plan_->depth; i-- > 0; rest /= plan_->loops[i].extent) {
        to += rest % plan_->loops[i].extent * plan_->loops[i].dst_step;
        from += rest % plan_->loops[i].extent * plan_->loops[i].src_step;
      }
      device_.copy_async(static_cast<char*>(dst) + to, static_cast<const char*>(src) + from,
                         static_cast<size_t>(plan_->atom_bytes), kind_, stream);
    }
  }
  const char* name() const override { return "runs"; }

 private:
  Device& device_;
  infinirtMemcpyKind_t kind_;
  std::unique_ptr<const RearrangePlan> plan_;
};

class Rows final : public Way {
 public:
  Rows(const TransferCase& transfer, const RearrangePlan& plan)
      : device_(transfer.device),
        kind_(transfer.kind()),
        loop_(plan.loops[0]),
        dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset),
        width_(plan.atom_bytes) {}
  void run(void* dst, const void* src, void* stream) const override {
    device_.copy_rows_async(
        static_cast<char*>(dst) + dst_offset_, static_cast<size_t>(loop_.dst_step),
        static_cast<const char*>(src) + src_offset_, static_cast<size_t>(loop_.src_step),
        static_cast<size_t>(width_), static_cast<size_t>(loop_.extent), kind_, stream);
  }
  const char* name() const override { return "rows"; }

 private:
  Device& device_;
  infinirtMemcpyKind_t kind_;
  Loop loop_;
  int64_t dst_offset_, src_offset_, width_;
};

// What a kernel's reads are worth on the link, writes cross it in sectors: the wanted sectors of a line are asked for
// in one request if they follow one another, and a request takes as long as some bytes. In bytes of whole lines.
double bytes_asked_for(const RearrangePlan& plan) {
  constexpr double line = 128, request = 24;
  const double lines = source_traffic(plan, 128), sectors = source_traffic(plan, 32);
  const double runs = static_cast<double>(atom_count(plan)) + sectors / line;
  const double requests = sectors < 0.99 * lines ? std::min(runs, 2 * lines / line) : lines / line;
  return (sectors + request * requests) * line / (line + request);
}

class Mapped final : public Way {
 public:
  Mapped(const TransferCase& transfer, const RearrangePlan& plan) : copy_(transfer.device, plan) {}
  void run(void* dst, const void* src, void* stream) const override { copy_.run(dst, src, stream); }
  const char* name() const override { return "mapped"; }

 private:
  Rearrange copy_;
};

}  // namespace

Bid<Way> bid_runs(const TransferCase& transfer, const RearrangePlan& plan, double) {
  const int64_t runs = atom_count(plan);
  if (runs > most_runs) return cannot<Way>("there are too many runs of bytes");
  const double ns = transfer.link.start_ns + static_cast<double>(runs - 1) * next_copy_ns +
                    static_cast<double>(moved_bytes(plan)) / transfer.bytes_per_ns();
  return would_take<Way>(ns, [&transfer, &plan] { return std::make_unique<Runs>(transfer, plan); });
}

Bid<Way> bid_rows(const TransferCase& transfer, const RearrangePlan& plan, double) {
  if (!transfer.device.copies_rows()) return cannot<Way>("the device has no copy of rows");
  if (plan.depth != 1) return cannot<Way>("the plan is not rows");
  if (plan.loops[0].src_step < plan.atom_bytes || plan.loops[0].dst_step < plan.atom_bytes)
    return cannot<Way>("rows overlap or go backwards");
  const double ns =
      transfer.link.start_ns + static_cast<double>(plan.loops[0].extent) *
                                   static_cast<double>(std::max(plan.atom_bytes, least_row)) /
                                   transfer.bytes_per_ns();
  return would_take<Way>(ns, [&transfer, &plan] { return std::make_unique<Rows>(transfer, plan); });
}

Bid<Way> bid_mapped(const TransferCase& transfer, const RearrangePlan& plan, double) {
  if (!transfer.pinned) return cannot<Way>("kernels do not reach pageable memory");
  const double bytes =
      transfer.to_device() ? bytes_asked_for(plan) : memory_traffic(plan, 32).written;
  return would_take<Way>(transfer.link.start_ns + bytes / transfer.link.mapped_bytes_per_ns,
                         [&transfer, &plan] { return std::make_unique<Mapped>(transfer, plan); });
}

}  // namespace infini
