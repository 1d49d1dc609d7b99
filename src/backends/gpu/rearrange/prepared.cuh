// Prepared rearrangements: a schedule, its kernel and how to launch it; nothing else at run time.
#pragma once

#include <algorithm>

#include "backends/gpu/rearrange/fill/kernel.cuh"
#include "backends/gpu/rearrange/fill/make_schedule.h"
#include "backends/gpu/rearrange/generic/kernel.cuh"
#include "backends/gpu/rearrange/make_schedules.h"
#include "backends/gpu/rearrange/planes/kernel.cuh"
#include "backends/gpu/rearrange/planes/make_schedule.h"
#include "backends/gpu/rearrange/rows/kernel.cuh"
#include "backends/gpu/rearrange/scatter/kernel.cuh"
#include "backends/gpu/rearrange/shift/kernel.cuh"
#include "backends/gpu/rearrange/tile/kernel.cuh"
#include "backends/gpu/rearrange/tile/make_schedule.h"
#include "backends/gpu/rearrange/tiny/kernel.cuh"
#include "backends/gpu/rearrange/transpose/kernel.cuh"
#include "backends/gpu/rearrange/transpose/make_schedule.h"
#include "backends/gpu/runtime/check.h"
#include "contract/kernels.h"

namespace infini::gpu {

class Prepared : public RearrangeKernel {
 public:
  // Both sides' first elements must lie at multiples of this many bytes (a power of two).
  virtual int alignment() const = 0;
};

template <class Schedule>
using Kernel = void (*)(Schedule, char*, const char*);

// kernels[i] moves units of 2^i bytes.
template <class Schedule>
Kernel<Schedule> for_unit(const Kernel<Schedule>* kernels, int unit) {
  while (unit > 1) {
    ++kernels;
    unit /= 2;
  }
  return *kernels;
}

// `early` where the device can begin before the kernel's predecessor has ended: all kernels wait
// for it by themselves.
template <class Schedule>
ReadyKernel ready(Kernel<Schedule> kernel, bool early) {
  return make_ready(kernel_address(kernel), early);
}

// Launches need no planning: the schedule is a kernel argument.
template <class Schedule>
void start(const char* name, const ReadyKernel& kernel, uint32_t blocks, int threads,
           uint32_t shared_bytes, const Schedule& schedule, void* dst, const void* src,
           void* stream) {
  const void* arguments[] = {&schedule, &dst, &src};
  check(launch(kernel, blocks, static_cast<unsigned>(threads), arguments, shared_bytes,
               static_cast<Stream>(stream)),
        "cannot launch rearrange candidate ", name);
}

// Whether rows lie equally on both sides is known when the addresses are.
class Rows final : public Prepared {
 public:
  Rows(const RowSchedule& even, const ShiftSchedule& shifted, bool early)
      : even_(even),
        shifted_(shifted),
        move_even_(ready(for_unit(even_kernels, even.unit), early)),
        move_shifted_(ready(for_unit(shifted_kernels, shifted.unit), early)) {}
  void run(void* dst, const void* src, void* stream) const override {
    if (rows_shift(even_, reinterpret_cast<uintptr_t>(dst), reinterpret_cast<uintptr_t>(src)))
      start("rows", move_shifted_, shifted_.blocks, shift_threads, shifted_.shared_bytes, shifted_,
            dst, src, stream);
    else
      start("rows", move_even_, even_.blocks, row_threads, 0, even_, dst, src, stream);
  }
  int alignment() const override { return even_.unit; }
  const char* candidate() const override { return "rows"; }
  std::string schedule() const override {
    return even_.sides_even ? to_string(even_) : to_string(shifted_);
  }

 private:
  static constexpr Kernel<RowSchedule> even_kernels[] = {move_rows<1>, move_rows<2>, move_rows<4>,
                                                         move_rows<8>, move_rows<16>};
  static constexpr Kernel<ShiftSchedule> shifted_kernels[] = {
      move_shifted<1>, move_shifted<2>, move_shifted<4>, move_shifted<8>, move_shifted<16>};
  RowSchedule even_;
  ShiftSchedule shifted_;
  ReadyKernel move_even_, move_shifted_;
};

class Tiles final : public Prepared {
 public:
  Tiles(const TileSchedule& schedule, bool early)
      : schedule_(schedule),
        kernel_(ready(kernel_for(schedule, schedule.gather), early)),
        kernel_for_any_base_(ready(kernel_for(schedule, for_any_base(schedule.gather)), early)) {}
  void run(void* dst, const void* src, void* stream) const override {
    const bool allowed =
        bases_allow(schedule_.gather, reinterpret_cast<uintptr_t>(dst) + schedule_.dst_offset,
                    reinterpret_cast<uintptr_t>(src) + schedule_.src_offset);
    start(candidate(), allowed ? kernel_ : kernel_for_any_base_, schedule_.tiles, tile_threads,
          schedule_.shared_bytes, schedule_, dst, src, stream);
  }
  // Any base will do, but where it counts with aligned ones there is a better schedule for others.
  int alignment() const override {
    return schedule_.gather == for_any_base(schedule_.gather) ? schedule_.unit : vector_bytes;
  }
  const char* candidate() const override {
    return schedule_.gather == Gather::words    ? "words"
           : schedule_.gather == Gather::staged ? "staged"
           : schedule_.gather == Gather::single ? "single"
                                                : "tile";
  }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  template <Gather gather>
  static constexpr Kernel<TileSchedule> kernels[] = {move_tiles<1, gather>, move_tiles<2, gather>,
                                                     move_tiles<4, gather>, move_tiles<8, gather>,
                                                     move_tiles<16, gather>};
  static constexpr Kernel<TileSchedule> by_columns[] = {move_tiles<1, Gather::columns>,
                                                        move_tiles<2, Gather::columns>};
  static constexpr Kernel<TileSchedule> staged[] = {
      move_tiles<1, Gather::staged>, move_tiles<2, Gather::staged>, move_tiles<4, Gather::staged>};
  static constexpr Kernel<TileSchedule> words[] = {
      move_tiles<1, Gather::words>, move_tiles<2, Gather::words>, move_tiles<4, Gather::words>};

  static Kernel<TileSchedule> kernel_for(const TileSchedule& schedule, Gather gather) {
    switch (gather) {
      case Gather::each: return for_unit(kernels<Gather::each>, schedule.unit);
      case Gather::prepared: return for_unit(kernels<Gather::prepared>, schedule.unit);
      case Gather::linear: return for_unit(kernels<Gather::linear>, schedule.unit);
      case Gather::single: return for_unit(kernels<Gather::single>, schedule.unit);
      case Gather::columns: return for_unit(by_columns, schedule.unit);
      case Gather::words: return for_unit(words, schedule.unit);
      case Gather::staged: break;
    }
    return for_unit(staged, schedule.unit);
  }

  TileSchedule schedule_;
  ReadyKernel kernel_, kernel_for_any_base_;
};

// A schedule that one kernel runs.
template <class Schedule>
class Scheduled final : public Prepared {
 public:
  struct Launch {
    const char* name;
    Kernel<Schedule> kernel;
    uint32_t blocks;
    int threads;
    uint32_t shared_bytes;
    int alignment;
    bool early;
  };
  Scheduled(const Schedule& schedule, const Launch& launch)
      : schedule_(schedule), launch_(launch), kernel_(ready(launch.kernel, launch.early)) {}
  void run(void* dst, const void* src, void* stream) const override {
    start(launch_.name, kernel_, launch_.blocks, launch_.threads, launch_.shared_bytes, schedule_,
          dst, src, stream);
  }
  int alignment() const override { return launch_.alignment; }
  const char* candidate() const override { return launch_.name; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  Schedule schedule_;
  Launch launch_;
  ReadyKernel kernel_;
};

template <bool rows_even>
inline constexpr Kernel<TransposeSchedule> transpose_kernels[] = {
    move_transposed<1, rows_even>, move_transposed<2, rows_even>, move_transposed<4, rows_even>,
    move_transposed<8, rows_even>, move_transposed<16, rows_even>};

inline constexpr Kernel<TransposeSchedule> transpose_by_words[] = {move_transposed<1, true, true>,
                                                                   move_transposed<2, true, true>};

inline std::unique_ptr<Prepared> prepare(const TransposeSchedule& s, bool bases_aligned,
                                         bool early) {
  const auto* kernels = s.by_words    ? transpose_by_words
                        : s.rows_even ? transpose_kernels<true>
                                      : transpose_kernels<false>;
  return std::make_unique<Scheduled<TransposeSchedule>>(
      s, Scheduled<TransposeSchedule>::Launch{"transpose", for_unit(kernels, s.unit), s.tiles,
                                              transpose_threads, s.shared_bytes,
                                              bases_aligned ? vector_bytes : s.unit, early});
}

template <int planes, bool joins>
inline constexpr Kernel<PlanesSchedule> planes_kernels[] = {
    move_planes<1, planes, joins>, move_planes<2, planes, joins>, move_planes<4, planes, joins>};

template <bool joins>
Kernel<PlanesSchedule> planes_kernel(const PlanesSchedule& s) {
  static_assert(min_planes == 2 && max_planes == 4);
  return for_unit(s.planes == 2   ? planes_kernels<2, joins>
                  : s.planes == 3 ? planes_kernels<3, joins>
                                  : planes_kernels<4, joins>,
                  s.unit);
}

inline std::unique_ptr<Prepared> prepare(const PlanesSchedule& s, bool early) {
  return std::make_unique<Scheduled<PlanesSchedule>>(
      s, Scheduled<PlanesSchedule>::Launch{
             "planes", s.joins ? planes_kernel<true>(s) : planes_kernel<false>(s), s.blocks,
             plane_threads, s.shared_bytes, vector_bytes, early});
}

inline constexpr Kernel<FillSchedule> fill_kernels[] = {move_fills<1>, move_fills<2>, move_fills<4>,
                                                        move_fills<8>};

inline std::unique_ptr<Prepared> prepare(const FillSchedule& s, bool early) {
  return std::make_unique<Scheduled<FillSchedule>>(
      s, Scheduled<FillSchedule>::Launch{"fill", for_unit(fill_kernels, s.unit), s.blocks,
                                         fill_threads, s.shared_bytes, s.unit, early});
}

inline constexpr Kernel<ScatterSchedule> scatter_kernels[] = {move_scattered<1>, move_scattered<2>,
                                                              move_scattered<4>, move_scattered<8>};

inline std::unique_ptr<Prepared> prepare(const ScatterSchedule& s, bool early) {
  return std::make_unique<Scheduled<ScatterSchedule>>(
      s, Scheduled<ScatterSchedule>::Launch{"scatter", for_unit(scatter_kernels, s.unit), s.blocks,
                                            scatter_threads, 0, s.unit, early});
}

inline constexpr Kernel<GenericSchedule> generic_kernels[] = {
    move_units<1>, move_units<2>, move_units<4>, move_units<8>, move_units<16>};

inline std::unique_ptr<Prepared> prepare(const GenericSchedule& s, bool early) {
  return std::make_unique<Scheduled<GenericSchedule>>(
      s, Scheduled<GenericSchedule>::Launch{"generic", for_unit(generic_kernels, s.unit), s.blocks,
                                            generic_threads, 0, s.unit, early});
}

class Tiny final : public Prepared {
 public:
  Tiny(const TinySchedule& schedule, const RearrangePlan& plan, bool early)
      : schedule_(schedule),
        kernel_(ready(for_unit(kernels, schedule.unit), early)),
        dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset) {
    check(divide_memory_evenly(kernel_address(for_unit(kernels, schedule.unit))),
          "cannot prepare rearrange candidate tiny");
  }
  void run(void* dst, const void* src, void* stream) const override {
    char* to = static_cast<char*>(dst) + dst_offset_;
    const char* from = static_cast<const char*>(src) + src_offset_;
    start("tiny", kernel_, schedule_.blocks, tiny_threads, 0, schedule_, to, from, stream);
  }
  int alignment() const override { return schedule_.unit; }
  const char* candidate() const override { return "tiny"; }
  std::string schedule() const override { return to_string(schedule_); }

 private:
  static constexpr Kernel<TinySchedule> kernels[] = {move_tiny<1>, move_tiny<2>, move_tiny<4>,
                                                     move_tiny<8>, move_tiny<16>};
  TinySchedule schedule_;
  ReadyKernel kernel_;
  int64_t dst_offset_, src_offset_;
};

// One contiguous run: the driver's own copy is as fast as any.
class Copy final : public Prepared {
 public:
  explicit Copy(const RearrangePlan& plan)
      : bytes_(static_cast<size_t>(plan.atom_bytes)),
        dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset) {}
  void run(void* dst, const void* src, void* stream) const override {
    if (bytes_ == 0) return;
    check(copy_async(static_cast<char*>(dst) + dst_offset_,
                     static_cast<const char*>(src) + src_offset_, bytes_,
                     copy_kinds[INFINIRT_MEMCPY_D2D], static_cast<Stream>(stream)),
          "cannot copy ", bytes_, " bytes");
  }
  int alignment() const override { return 1; }
  const char* candidate() const override { return "copy"; }

 private:
  size_t bytes_;
  int64_t dst_offset_, src_offset_;
};

}  // namespace infini::gpu
