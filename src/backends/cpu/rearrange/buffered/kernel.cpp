// The rearrangement by buffered tiles: each is read into a buffer in L1 and leaves it by whole lines.
#include <algorithm>

#include "backends/cpu/rearrange/buffered/schedule.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

// Of any tile: rows or columns, and bytes of the buffer with the lines that keep its parts apart.
constexpr int64_t most_side = 512, most_buffer_bytes = max_buffer + max_buffer / 4;

class Buffered final : public Kernel {
 public:
  Buffered(BufferedSchedule schedule, int64_t bytes, int threads, Isa level)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        kernels_(panel_kernels(level, static_cast<int>(schedule_.word))),
        level_(level),
        threads_(threads),
        strips_(schedule_.strips()),
        tiles_(schedule_.tiles_of_strip()) {}

  const char* candidate() const override { return "buffered"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), level_, threads_);
  }
  std::string way(const char* dst) const override {
    return kernel_for(dst + schedule_.dst_offset) == kernels_.buffered ? "cached" : "streamed";
  }

  void execute(char* dst, const char* src) const override {
    dst += schedule_.dst_offset;
    src += schedule_.src_offset;
    const PanelKernel kernel = kernel_for(dst);
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.outer_count * strips_ * tiles_, threads,
                 [&](int64_t begin, int64_t end) { run_tiles(kernel, dst, src, begin, end); });
  }

 private:
  struct Scratch {
    alignas(line_bytes) char buffer[most_buffer_bytes];
    int64_t dst_of_column[most_side], src_of_row[2][most_side];
  };

  // The steps were asked when the schedule was made, the address of the first column is known only here.
  PanelKernel kernel_for(const char* dst) const {
    const bool whole = reinterpret_cast<uintptr_t>(dst) % line_bytes == 0;
    return schedule_.streamed && whole ? kernels_.buffered_streamed : kernels_.buffered;
  }

  void run_tiles(PanelKernel kernel, char* dst, const char* src, int64_t begin, int64_t end) const {
    Scratch scratch;
    NestCursor outer(schedule_.outer, begin / (strips_ * tiles_));
    int64_t strip = begin / tiles_ % strips_, tile = begin % tiles_;
    while (begin < end) {
      const int64_t taken = std::min(tiles_ - tile, end - begin);
      run_strip(kernel, dst + outer.dst, src + outer.src, strip, tile, taken, scratch);
      begin += taken;
      tile = 0;
      if (++strip < strips_) continue;
      strip = 0;
      outer.advance();
    }
    if (kernel != kernels_.buffered) streaming_fence();
  }

  // Some tiles down a strip.
  void run_strip(PanelKernel kernel, char* dst, const char* src, int64_t strip, int64_t tile,
                 int64_t count, Scratch& scratch) const {
    const int64_t column = strip * schedule_.strip, rows = schedule_.tile_rows();
    Panel panel{};
    panel.columns = std::min(schedule_.strip, schedule_.column_count - column);
    OffsetCursor<&Loop::dst_step>(schedule_.columns, column)
        .take(scratch.dst_of_column, panel.columns);
    panel.dst = dst + tile * schedule_.lines * line_bytes;
    panel.dst_of_column = scratch.dst_of_column;
    panel.src = panel.next = src + column * schedule_.word;
    panel.buffer = scratch.buffer;
    OffsetCursor<&Loop::src_step> cursor(schedule_.rows, tile * rows);
    take_rows(cursor, scratch.src_of_row[0], schedule_.row_count - tile * rows);
    for (int64_t i = 0; i < count; ++i, ++tile, panel.dst += schedule_.lines * line_bytes) {
      const int64_t left = schedule_.row_count - tile * rows;
      if (i + 1 < count) take_rows(cursor, scratch.src_of_row[(i + 1) % 2], left - rows);
      panel.rows = static_cast<int>(std::min(rows, left));
      panel.src_of_row = scratch.src_of_row[i % 2];
      panel.next_of_row = i + 1 < count ? scratch.src_of_row[(i + 1) % 2] : nullptr;
      kernel(panel);
    }
  }
  // Offsets of a tile's rows of which so many are left, the last one repeated.
  void take_rows(OffsetCursor<&Loop::src_step>& cursor, int64_t* offsets, int64_t left) const {
    const int64_t all = schedule_.tile_rows(), rows = std::min(all, left);
    cursor.take(offsets, rows);
    for (int64_t i = rows; i < all; ++i) offsets[i] = offsets[rows - 1];
  }

  BufferedSchedule schedule_;
  PanelKernels kernels_;
  Isa level_;
  int threads_;
  int64_t strips_, tiles_;  // tiles: of a strip
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_buffered(BufferedSchedule schedule, const RearrangePlan& plan,
                                               const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return std::make_unique<Buffered>(std::move(schedule), bytes, threads_for(bytes, policy), isa());
}

}  // namespace infini::cpu
