// A plan's piece schedules and kernels, one for each unit that base pointers may ask for.
#pragma once

#include <optional>
#include <vector>

#include "backends/gpu/pages/make_schedule.h"
#include "backends/gpu/pages/make_staged.h"
#include "backends/gpu/pages/staged_kernel.cuh"
#include "backends/gpu/runtime/check.h"
#include "backends/gpu/runtime/device.h"

namespace infini::gpu {

class PieceMover {
 public:
  // Nothing where the plan has too many loops or units. The device is current.
  static std::optional<PieceMover> make(const RearrangePlan& plan, uint64_t other_steps,
                                        bool early) {
    PieceMover mover;
    const int most = largest_unit(static_cast<uint64_t>(natural_unit(plan)) | other_steps);
    for (int unit = most; unit > 0; unit /= 2) {
      const auto schedule = make_piece_schedule(plan, unit);
      if (!schedule) return std::nullopt;
      mover.ways_.push_back({*schedule, ready_kernel(unit, schedule->pieces_per_block > 1, early)});
    }
    mover.offsets_ = {plan.dst_offset, plan.src_offset};
    if (most < vector_bytes)
      if (const auto staged = make_staged_schedule(plan, other_steps))
        mover.staged_ = Staged{*staged, staged_kernel(staged->element, early)};
    return mover;
  }

  // Bits that are set in no address of a first element.
  uint64_t low_bits(const PiecePair& bases) const {
    return static_cast<uint64_t>(bases.dst + offsets_.dst) |
           static_cast<uint64_t>(bases.src + offsets_.src);
  }
  std::string schedule() const {
    return staged_ ? to_string(staged_->schedule) : to_string(ways_[0].schedule);
  }
  const char* candidate() const { return staged_ ? "staged" : "pieces"; }
  // Pieces that one launch may have.
  uint32_t most_pieces() const {
    const uint32_t blocks = ways_.back().schedule.chunks.divisor;
    const uint32_t boxes = staged_ ? staged_->schedule.boxes.divisor : 1;
    return (uint32_t{1} << 30) / (blocks > boxes ? blocks : boxes);
  }

  void launch(const PiecePlaces& places, uint64_t low_bits, Stream stream) const {
    if (staged_ && (low_bits & static_cast<uint64_t>(alignment_of(staged_->schedule) - 1)) == 0)
      return launch_staged(places, stream);
    size_t i = 0;
    while (low_bits & static_cast<uint64_t>(ways_[i].schedule.unit - 1)) ++i;
    const PieceSchedule& s = ways_[i].schedule;
    const void* arguments[] = {&s, &places};
    const size_t table = s.pieces_per_block > 1 ? s.pieces_per_block * sizeof(PieceEnds) : 0;
    check(gpu::launch(ways_[i].kernel, blocks_for(s, places.pieces), piece_threads, arguments,
                      table, stream),
          "cannot launch ", places.pieces, " copies");
  }

 private:
  void launch_staged(const PiecePlaces& places, Stream stream) const {
    const StagedSchedule& s = staged_->schedule;
    const uint32_t boxes = places.pieces * s.boxes.divisor;
    const void* arguments[] = {&s, &places};
    check(gpu::launch(staged_->kernel, (boxes + s.boxes_per_block - 1) / s.boxes_per_block,
                      piece_threads, arguments,
                      staged_bytes + s.boxes_per_block * sizeof(PieceEnds), stream),
          "cannot launch ", places.pieces, " copies");
  }

  struct Staged {
    StagedSchedule schedule;
    ReadyKernel kernel;
  };
  static ReadyKernel staged_kernel(int element, bool early) {
    using Kernel = void (*)(StagedSchedule, PiecePlaces);
    constexpr Kernel kernels[] = {move_staged<1>, move_staged<2>, move_staged<4>, move_staged<8>};
    int i = 0;
    while (1 << i < element) ++i;
    return make_ready(kernel_address(kernels[i]), early);
  }

  struct Way {
    PieceSchedule schedule;
    ReadyKernel kernel;
  };

  static int largest_unit(uint64_t bits) {
    bits |= 16;
    return static_cast<int>(bits & (~bits + 1));
  }
  template <bool several>
  static constexpr void (*kernels[])(PieceSchedule, PiecePlaces) = {
      move_pieces<1, several>, move_pieces<2, several>, move_pieces<4, several>,
      move_pieces<8, several>, move_pieces<16, several>};
  static ReadyKernel ready_kernel(int unit, bool several, bool early) {
    int i = 0;
    while (1 << i < unit) ++i;
    return make_ready(kernel_address(several ? kernels<true>[i] : kernels<false>[i]), early);
  }

  std::optional<Staged> staged_;  // where elements change their order
  std::vector<Way> ways_;         // the largest unit first; the last is one byte
  PiecePair offsets_{};
};

}  // namespace infini::gpu
