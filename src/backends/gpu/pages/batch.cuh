// Batches on a GPU: pointers travel by value where they are few or the stream is captured, else in a table.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/gpu/pages/mover.cuh"
#include "backends/gpu/pages/uploads.h"
#include "contract/copies.h"

namespace infini::gpu {

inline PiecePair pair_of(const void* dst, const void* src) {
  return {reinterpret_cast<intptr_t>(dst), reinterpret_cast<intptr_t>(src)};
}

// One of each run of neighbours is asked for: memory is mapped by pages of at least this many bytes.
class ReachablePointers {
 public:
  ReachablePointers(const GpuDevice& device, const char* argument)
      : device_(device), argument_(argument) {}
  void require_each(const void* p) {
    const uintptr_t page = reinterpret_cast<uintptr_t>(p) / mapped_bytes;
    if (page == last_) return;
    require_reachable(device_, p, argument_);
    last_ = page;
  }

 private:
  static constexpr uintptr_t mapped_bytes = 2 << 20;
  const GpuDevice& device_;
  const char* argument_;
  uintptr_t last_ = 0;
};

// The places of copies whose addresses are by value: as many layers of one copy each.
class ByValue {
 public:
  void add(const PiecePair& pair) { places_.bases[places_.pieces++] = pair; }
  bool full() const { return places_.pieces == most_bases; }
  bool empty() const { return places_.pieces == 0; }
  const PiecePlaces& places() const { return places_; }
  void clear() { places_.pieces = 0; }

 private:
  PiecePlaces places_ = {PieceTable::none, 0, make_fast_divisor(1), nullptr, nullptr, {}, {}, {}};
};

// Puts pair(i) of all copies into device memory and calls use(places) with places of one layer that point there.
template <class Pair, class Use>
void with_table(Uploads& uploads, size_t count, Stream stream, const Pair& pair, const Use& use) {
  uploads.pass(
      count * sizeof(PiecePair), stream,
      [&](void* host) {
        auto* to = static_cast<PiecePair*>(host);
        for (size_t i = 0; i < count; ++i) to[i] = pair(i);
      },
      [&](const void* table) {
        const auto n = static_cast<uint32_t>(count);
        use(PiecePlaces{PieceTable::pairs,
                        n,
                        make_fast_divisor(n),
                        static_cast<const PiecePair*>(table),
                        nullptr,
                        {},
                        {},
                        {}});
      });
}

// All copies have one layout.
class SharedBatch final : public BatchKernel {
 public:
  SharedBatch(const GpuDevice& device, PieceMover mover)
      : device_(device), mover_(std::move(mover)) {}

  void run(size_t count, void* const* dst, const void* const* src, void* handle) const override {
    const Stream stream = device_.live(handle);
    const uint64_t bits = checked_bits(count, dst, src);
    if (count <= most_bases || is_captured(stream)) return by_value(count, dst, src, bits, stream);
    for (size_t done = 0; done < count;) {
      const size_t now = std::min<size_t>(count - done, mover_.most_pieces());
      by_table(now, dst + done, src + done, bits, stream);
      done += now;
    }
  }
  std::string schedule() const override { return mover_.schedule(); }

 private:
  uint64_t checked_bits(size_t count, void* const* dst, const void* const* src) const {
    ReachablePointers to(device_, "dst"), from(device_, "src");
    uint64_t bits = 0;
    for (size_t i = 0; i < count; ++i) {
      to.require_each(dst[i]);
      from.require_each(src[i]);
      bits |= mover_.low_bits(pair_of(dst[i], src[i]));
    }
    return bits;
  }
  void by_value(size_t count, void* const* dst, const void* const* src, uint64_t bits,
                Stream stream) const {
    ByValue some;
    for (size_t i = 0; i < count; ++i) {
      some.add(pair_of(dst[i], src[i]));
      if (!some.full() && i + 1 < count) continue;
      mover_.launch(some.places(), bits, stream);
      some.clear();
    }
  }
  void by_table(size_t count, void* const* dst, const void* const* src, uint64_t bits,
                Stream stream) const {
    with_table(
        uploads_, count, stream, [&](size_t i) { return pair_of(dst[i], src[i]); },
        [&](const PiecePlaces& places) { mover_.launch(places, bits, stream); });
  }

  const GpuDevice& device_;
  PieceMover mover_;
  mutable Uploads uploads_;
};

// Device memory that lives as long as its owner.
class Block {
 public:
  explicit Block(size_t bytes) {
    check(gpu::allocate(&p_, bytes), "cannot allocate ", bytes, " bytes for a batch");
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    surely([&] { return gpu::free(p_); });
  }
  void* get() const { return p_; }

 private:
  void* p_ = nullptr;
};

// Every copy has a layout of its own: schedules lie in device memory from the beginning.
class OwnBatch final : public BatchKernel {
 public:
  OwnBatch(const GpuDevice& device, const std::vector<PieceSchedule>& schedules,
           const std::vector<uint32_t>& first, bool early)
      : device_(device),
        schedules_(schedules.size() * sizeof(PieceSchedule)),
        first_(first.size() * sizeof(uint32_t)),
        first_of_(first),
        kernel_(make_ready(kernel_address(move_own_pieces), early)) {
    put(schedules_, schedules.data(), schedules.size() * sizeof(PieceSchedule));
    put(first_, first.data(), first.size() * sizeof(uint32_t));
  }

  void run(size_t count, void* const* dst, const void* const* src, void* handle) const override {
    const Stream stream = device_.live(handle);
    ReachablePointers to(device_, "dst"), from(device_, "src");
    for (size_t i = 0; i < count; ++i) {
      if (first_of_[i] == first_of_[i + 1]) continue;  // moves nothing
      to.require_each(dst[i]);
      from.require_each(src[i]);
    }
    if (first_of_.back() == 0) return;
    const auto pair = [&](size_t i) { return pair_of(dst[i], src[i]); };
    const auto all = static_cast<uint32_t>(count);
    if (count <= most_bases || is_captured(stream)) return by_value(all, pair, stream);
    with_table(uploads_, count, stream, pair,
               [&](const PiecePlaces& places) { launch(places, 0, all, stream); });
  }

 private:
  static void put(const Block& block, const void* from, size_t bytes) {
    check(gpu::copy(block.get(), from, bytes, copy_kinds[INFINIRT_MEMCPY_H2D]),
          "cannot upload the schedules of a batch");
    check(stream_synchronize(nullptr), "cannot upload the schedules of a batch");
  }
  template <class Pair>
  void by_value(uint32_t count, const Pair& pair, Stream stream) const {
    for (uint32_t i = 0; i < count;) {
      ByValue some;
      const uint32_t begin = i;
      while (i < count && !some.full()) some.add(pair(i++));
      launch(some.places(), begin, i, stream);
    }
  }
  void launch(const PiecePlaces& places, uint32_t begin, uint32_t end, Stream stream) const {
    const uint32_t blocks = first_of_[end] - first_of_[begin];
    if (blocks == 0) return;
    const OwnPieces own{static_cast<const PieceSchedule*>(schedules_.get()) + begin,
                        static_cast<const uint32_t*>(first_.get()) + begin, end - begin};
    const void* arguments[] = {&own, &places};
    check(gpu::launch(kernel_, blocks, piece_threads, arguments, 0, stream), "cannot launch ",
          own.copies, " copies with layouts of their own");
  }

  const GpuDevice& device_;
  Block schedules_, first_;
  std::vector<uint32_t> first_of_;  // the same, here
  ReadyKernel kernel_;
  mutable Uploads uploads_;
};

}  // namespace infini::gpu
