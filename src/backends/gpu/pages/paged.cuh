// Paged copies on a GPU: ids are read by the kernel, or turned into offsets by the host.
#pragma once

#include "backends/gpu/pages/batch.cuh"

namespace infini::gpu {

class PagedPieces final : public PagedKernel {
 public:
  PagedPieces(const GpuDevice& device, const PagedPlan& plan, PieceMover mover)
      : device_(device), plan_(plan), mover_(std::move(mover)) {
    if (!plan.ids_on_device) return;
    bad_ = std::make_unique<Block>(sizeof(uint32_t));
    gpu::check(gpu::set(bad_->get(), 0, sizeof(uint32_t)), "cannot clear the flag of bad ids");
    gpu::check(stream_synchronize(nullptr), "cannot clear the flag of bad ids");
  }

  void run(const PagedRun& run) const override {
    const Stream stream = device_.live(run.stream);
    const auto layers = static_cast<size_t>(plan_.layers);
    for (size_t i = 0; i < layers; ++i) {
      require_reachable(device_, run.dst[i], "dst");
      require_reachable(device_, run.src[i], "src");
    }
    require(run.count <= mover_.most_pieces(), INFINI_STATUS_BAD_PARAM, "count is ", run.count,
            "; at most ", mover_.most_pieces(), " pieces of this size are moved at once");
    if (plan_.ids_on_device) return by_ids(run, stream);
    if (run.count * layers <= most_bases || is_captured(stream)) return by_value(run, stream);
    with_table(
        uploads_, run.count, stream, [&](size_t i) { return offsets(run, i); },
        [&](const PiecePlaces& places) { launch_layers(places, run, stream); });
  }

  void check(void* handle) const override {
    if (!bad_) return;
    const Stream stream = device_.live(handle);
    uint32_t largest = 0;
    gpu::check(
        copy_async(&largest, bad_->get(), sizeof largest, copy_kinds[INFINIRT_MEMCPY_D2H], stream),
        "cannot read the flag of bad ids");
    gpu::check(stream_synchronize(stream), "cannot read the flag of bad ids");
    if (largest == 0) return;
    gpu::check(set_async(bad_->get(), 0, sizeof largest, stream),
               "cannot clear the flag of bad ids");
    fail(INFINI_STATUS_BAD_PARAM, "copy ", ~largest,
         " had an id that is negative or beyond the last page; it moved nothing");
  }

  const char* candidate() const override { return mover_.candidate(); }
  std::string schedule() const override { return mover_.schedule(); }

 private:
  PiecePair offsets(const PagedRun& run, size_t i) const {
    const auto copy = static_cast<int64_t>(i);
    return {place_piece(plan_, plan_.dst, run.dst_ids, copy),
            place_piece(plan_, plan_.src, run.src_ids, copy)};
  }

  void by_ids(const PagedRun& run, Stream stream) const {
    for (const void* ids : {run.dst_ids, run.src_ids})
      if (ids != nullptr)
        require_reachable(device_, ids, ids == run.dst_ids ? "dst_ids" : "src_ids");
    const auto n = static_cast<uint32_t>(run.count);
    launch_layers({plan_.id_bytes == 8 ? PieceTable::ids64 : PieceTable::ids32,
                   n,
                   make_fast_divisor(n),
                   nullptr,
                   static_cast<uint32_t*>(bad_->get()),
                   make_piece_side(plan_.dst, run.dst_ids),
                   make_piece_side(plan_.src, run.src_ids),
                   {}},
                  run, stream);
  }

  // Of as many layers at once as base pointers and numbers of pieces allow.
  void launch_layers(PiecePlaces places, const PagedRun& run, Stream stream) const {
    const uint32_t copies = places.copies.divisor;
    const auto layers = static_cast<size_t>(plan_.layers);
    const size_t together = std::min<size_t>(most_bases, mover_.most_pieces() / copies);
    for (size_t done = 0; done < layers;) {
      const size_t now = std::min(layers - done, together);
      uint64_t bits = 0;
      for (size_t i = 0; i < now; ++i) {
        places.bases[i] = pair_of(run.dst[done + i], run.src[done + i]);
        bits |= mover_.low_bits(places.bases[i]);
      }
      places.pieces = static_cast<uint32_t>(now) * copies;
      mover_.launch(places, bits, stream);
      done += now;
    }
  }

  void by_value(const PagedRun& run, Stream stream) const {
    ByValue some;
    uint64_t bits = 0;
    const size_t all = run.count * static_cast<size_t>(plan_.layers);
    for (size_t i = 0; i < all; ++i) {
      const PiecePair from = offsets(run, i % run.count);
      PiecePair pair = pair_of(run.dst[i / run.count], run.src[i / run.count]);
      pair.dst += from.dst;
      pair.src += from.src;
      some.add(pair);
      bits |= mover_.low_bits(pair);
      if (!some.full() && i + 1 < all) continue;
      mover_.launch(some.places(), bits, stream);
      some.clear();
    }
  }

  const GpuDevice& device_;
  PagedPlan plan_;
  PieceMover mover_;
  std::unique_ptr<Block> bad_;  // where ids are on the device
  mutable Uploads uploads_;
};

}  // namespace infini::gpu
