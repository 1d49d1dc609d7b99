// Pack: the host packs pieces of src in pinned memory while earlier ones fly; or unpacks those that have arrived.
//
// A piece crosses the link densely, in the order of dst. Where the device's side of a piece is one run it is copied there
// directly, else through memory of the device and a kernel. A ring of a few pieces is all that is ever in flight.
#include <algorithm>

#include "ops/rearrange.h"
#include "ops/transfer/ways.h"
#include "plan/rearrange/plan_cut.h"
#include "runtime/place.h"

namespace infini {
namespace {

constexpr int slots = 4;

// Of pinned memory, and as many of the device's.
int64_t slot_bytes(const TransferCase& transfer) { return transfer.extra_bytes / (2 * slots); }

// A run of bytes that is longer than a slot becomes a loop over its bytes.
RearrangePlan loosened(RearrangePlan plan, int64_t most) {
  if (plan.atom_bytes <= most && plan.depth > 0) return plan;
  plan.loops[plan.depth++] = {plan.atom_bytes, 1, 1};
  plan.atom_bytes = 1;
  return plan;
}

// One size of pieces: what the host and what the device do with it.
struct PackPart {
  PackPart(const TransferCase& transfer, const RearrangePlan& piece) {
    const StagedPlans staged = stage_through_dense(piece);
    const RearrangePlan& here = transfer.to_device() ? staged.gather : staged.scatter;
    const RearrangePlan& there = transfer.to_device() ? staged.scatter : staged.gather;
    bytes = moved_bytes(piece);
    host = std::make_unique<Rearrange>(transfer.host, here);
    offset = transfer.to_device() ? there.dst_offset : there.src_offset;
    if (there.depth > 0) device = std::make_unique<Rearrange>(transfer.device, there);
  }
  int64_t bytes, offset;                          // of the device's side
  std::unique_ptr<const Rearrange> host, device;  // device: null where its side is one run
};

// Pinned memory and events of one run, and memory of the device where that is wanted.
class Ring {
 public:
  Ring(Device& device, bool staged, size_t bytes, int count, void* stream)
      : device_(device), stream_(stream), bytes_(bytes), count_(count) {
    try {
      if (staged)
        room_ = std::make_unique<StreamMemory>(device, bytes * static_cast<size_t>(count), stream);
      for (int i = 0; i < count; ++i) {
        events_[i] = device.create_event(INFINIRT_EVENT_DISABLE_TIMING);
        pinned_[i] = static_cast<char*>(pool().allocate(bytes, stream));
      }
    } catch (...) {
      release();
      throw;
    }
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (flying_) quietly([&] { device_.synchronize_stream(stream_); });
    release();
  }

  int slot(int64_t piece) const { return static_cast<int>(piece % count_); }
  int64_t count() const { return count_; }
  char* pinned(int64_t piece) const { return pinned_[slot(piece)]; }
  char* room(int64_t piece) const {
    return room_->get() + bytes_ * static_cast<size_t>(slot(piece));
  }
  void mark(int64_t piece) {
    flying_ = true;
    device_.record_event(events_[slot(piece)], stream_);
  }
  void wait(int64_t piece) { device_.synchronize_event(events_[slot(piece)]); }
  // All has arrived.
  void finish() {
    flying_ = false;
    if (room_) room_->free();
  }

 private:
  template <class Call>
  static void quietly(const Call& call) noexcept {
    try {
      call();
    } catch (const Error&) {  // another failure is on its way
    }
  }
  MemoryPool& pool() { return place_of(device_.kind(), device_.id()).pinned; }
  void release() noexcept {
    for (int i = 0; i < count_; ++i) {
      if (pinned_[i] != nullptr) pool().free(pinned_[i], bytes_, stream_, false);
      if (events_[i] != nullptr) quietly([&] { device_.destroy_event(events_[i]); });
    }
  }

  Device& device_;
  void* stream_;
  size_t bytes_;
  int count_;
  bool flying_ = false;
  std::unique_ptr<StreamMemory> room_;
  char* pinned_[slots] = {};
  void* events_[slots] = {};
};

class Pack final : public Way {
 public:
  Pack(const TransferCase& transfer, const RearrangePlan& plan, const PieceCut& cut)
      : device_(transfer.device),
        to_device_(transfer.to_device()),
        plan_(std::make_unique<RearrangePlan>(plan)),
        cut_(cut),
        full_(transfer, piece_plan(plan, cut, cut.iterations)) {
    if (const int64_t rest = plan.loops[cut.loop].extent % cut.iterations)
      last_ = std::make_unique<PackPart>(transfer, piece_plan(plan, cut, rest));
  }

  void run(void* dst, const void* src, void* stream) const override {
    const int64_t pieces = cut_.pieces(*plan_);
    Ring ring(device_, full_.device != nullptr || (last_ && last_->device != nullptr),
              static_cast<size_t>(full_.bytes), static_cast<int>(std::min<int64_t>(pieces, slots)),
              stream);
    if (to_device_) {
      for (int64_t i = 0; i < pieces; ++i) push(ring, i, dst, src, stream);
      ring.wait(pieces - 1);
    } else {
      for (int64_t i = 0; i < pieces + ring.count(); ++i) {
        if (i >= ring.count()) unpack(ring, i - ring.count(), dst);
        if (i < pieces) pull(ring, i, src, stream);
      }
    }
    ring.finish();
  }
  const char* name() const override { return "pack"; }

 private:
  const PackPart& part_of(const CutPiece& piece) const {
    return piece.iterations == cut_.iterations ? full_ : *last_;
  }

  void push(Ring& ring, int64_t i, void* dst, const void* src, void* stream) const {
    const CutPiece piece = piece_of(*plan_, cut_, i);
    const PackPart& part = part_of(piece);
    if (i >= ring.count()) ring.wait(i - ring.count());
    part.host->run(ring.pinned(i), static_cast<const char*>(src) + piece.src, nullptr);
    device_.make_current();
    char* to = static_cast<char*>(dst) + piece.dst;
    device_.copy_async(part.device ? ring.room(i) : to + part.offset, ring.pinned(i),
                       static_cast<size_t>(part.bytes), INFINIRT_MEMCPY_H2D, stream);
    ring.mark(i);
    if (part.device) part.device->run(to, ring.room(i), stream);
  }

  void pull(Ring& ring, int64_t i, const void* src, void* stream) const {
    const CutPiece piece = piece_of(*plan_, cut_, i);
    const PackPart& part = part_of(piece);
    const char* from = static_cast<const char*>(src) + piece.src;
    if (part.device) part.device->run(ring.room(i), from, stream);
    device_.make_current();
    device_.copy_async(ring.pinned(i), part.device ? ring.room(i) : from + part.offset,
                       static_cast<size_t>(part.bytes), INFINIRT_MEMCPY_D2H, stream);
    ring.mark(i);
  }

  void unpack(Ring& ring, int64_t i, void* dst) const {
    if (i >= cut_.pieces(*plan_)) return;
    const CutPiece piece = piece_of(*plan_, cut_, i);
    ring.wait(i);
    part_of(piece).host->run(static_cast<char*>(dst) + piece.dst, ring.pinned(i), nullptr);
    device_.make_current();
  }

  Device& device_;
  bool to_device_;
  std::unique_ptr<const RearrangePlan> plan_;
  PieceCut cut_;
  PackPart full_;
  std::unique_ptr<const PackPart> last_;
};

}  // namespace

Bid<Way> bid_pack(const TransferCase& transfer, const RearrangePlan& plan, double) {
  if (transfer.pinned)
    return cannot<Way>("the host would wait, which pinned memory is to spare it");
  if (plan.depth == max_rank) return cannot<Way>("the plan has too many loops");
  const int64_t slot = slot_bytes(transfer);
  const auto loose = std::make_shared<const RearrangePlan>(loosened(plan, slot));
  const PieceCut cut = cut_by_bytes(*loose, slot);
  const auto bytes = static_cast<double>(moved_bytes(plan));
  const double first = std::min(bytes, static_cast<double>(slot)) / transfer.host_bytes_per_ns;
  const double ns = transfer.link.start_ns + first +
                    bytes / std::min(transfer.host_bytes_per_ns, transfer.link.bytes_per_ns) +
                    static_cast<double>(cut.pieces(*loose)) * 10000;
  return would_take<Way>(
      ns, [&transfer, loose, cut] { return std::make_unique<Pack>(transfer, *loose, cut); });
}

}  // namespace infini
