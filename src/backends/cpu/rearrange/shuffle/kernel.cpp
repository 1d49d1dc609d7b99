// Plans whose innermost loops move little: vectors of dst shuffled together from windows of src.
#include <algorithm>
#include <cstring>

#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"
#include "backends/cpu/runtime/parallel.h"
#include "base/checked.h"

namespace infini::cpu {
namespace {

// Byte by byte, without reading any other: where windows would reach over the ends of src. From vector `begin` on.
void shuffle_carefully(const ShuffleProgram& program, char* dst, const char* src, int64_t bytes,
                       int64_t begin = 0) {
  const int64_t vectors = ceil_div(bytes, program.width);
  for (int64_t pick = begin * program.depth; pick < vectors * program.depth; ++pick) {
    const int64_t first = pick / program.depth * program.width;
    for (int64_t i = 0; i < std::min<int64_t>(program.width, bytes - first); ++i)
      if (program.masks[static_cast<size_t>(pick)] >> i & 1)
        dst[first + i] = src[program.offsets[static_cast<size_t>(pick)] + program.indices(pick)[i]];
  }
}

// A part of dst that grows: bytes are put together here and leave in whole lines.
class Growing {
 public:
  using Move = void (*)(char* dst, const char* src, int64_t bytes);  // of whole lines
  explicit Growing(Move move) : move_(move) {}

  // Where bytes are put next, at last and for now.
  char* dst() const { return lines_ + filled_; }
  char* room() { return buffer_ + filled_; }
  int64_t free() const { return size - filled_; }
  void add(int64_t bytes) { filled_ += bytes; }
  // After leave(): what waits is less than a line, of which the bytes up to dst() may all be others'.
  char* waiting() { return buffer_; }
  int64_t skew() const { return filled_; }
  bool begins() const { return filled_ > 0 && skipped_ == filled_; }
  bool has_head() const { return skipped_ > 0 && skipped_ < filled_; }
  // Whole lines have been put into dst itself.
  void skip(int64_t bytes) {
    lines_ += bytes;
    skipped_ = 0;
  }

  void start(char* dst) {
    skipped_ = filled_ = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % line_bytes);
    lines_ = dst - skipped_;
  }
  // Whole lines leave, and what we have of the first one.
  void leave() {
    const int64_t whole = filled_ / line_bytes * line_bytes, head = skipped_ == 0 ? 0 : line_bytes;
    if (whole == 0) return;
    std::memcpy(lines_ + skipped_, buffer_ + skipped_,
                static_cast<size_t>(head == 0 ? 0 : head - skipped_));
    move_(lines_ + head, buffer_ + head, whole - head);
    std::memcpy(buffer_, buffer_ + whole, line_bytes);
    lines_ += whole;
    filled_ -= whole;
    skipped_ = 0;
  }
  // The last bytes, too.
  void finish() {
    leave();
    if (filled_ > skipped_)
      std::memcpy(lines_ + skipped_, buffer_ + skipped_, static_cast<size_t>(filled_ - skipped_));
    skipped_ = filled_;
  }

 private:
  static constexpr int64_t size = most_period_bytes + (4 << 10);
  Move move_;
  int64_t skipped_ = 0,
          filled_ = 0;  // bytes of the first line that are not ours; bytes up to the last one
  char* lines_ = nullptr;
  alignas(line_bytes) char buffer_[size + 2 * line_bytes];
};

void move_cached(char* dst, const char* src, int64_t bytes) {
  std::memcpy(dst, src, static_cast<size_t>(bytes));
}

class Shuffle final : public Kernel {
 public:
  Shuffle(ShuffleSchedule schedule, int64_t bytes, int threads, Isa level)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        kernels_(shuffle_kernels(level, schedule_.program.depth)),
        level_(level),
        threads_(threads),
        src_step_(schedule_.program.blocks * schedule_.along.src_step),
        readable_{schedule_.span.begin - schedule_.room, schedule_.span.end + schedule_.room} {}

  const char* candidate() const override { return "shuffle"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), level_, threads_);
  }

  std::string way(const char*) const override {
    if (schedule_.program.gap > 0) return "gapped";
    if (schedule_.side_by_side && kernels_.streams) return "side by side";
    return schedule_.streamed ? "streamed" : "cached";
  }
  void execute(char* dst, const char* src) const override {
    dst += schedule_.dst_offset;
    if (schedule_.room == 0) return run_all(dst, src);
    alignas(line_bytes) char copy[most_copied];
    const ByteRange& span = schedule_.span;
    // Lines begin where they do in src.
    const int64_t shift = schedule_.room - (span.begin & -line_bytes);
    std::memcpy(copy + (shift + span.begin), src + span.begin,
                static_cast<size_t>(span.end - span.begin));
    run_all(dst, copy + shift);
  }

 private:
  void run_all(char* dst, const char* src) const {
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.tasks(), threads,
                 [&](int64_t begin, int64_t end) { run_tasks(dst, src, begin, end); });
  }

  void run_tasks(char* dst, const char* src, int64_t begin, int64_t end) const {
    const Loop &along = schedule_.along, &near = schedule_.near;
    const int64_t pieces = schedule_.pieces(), strips = schedule_.strips();
    int64_t piece = begin % pieces, strip = begin / pieces % strips;
    NestCursor outer(schedule_.outer, begin / pieces / strips);
    Growing growing(schedule_.streamed ? kernels_.stream_lines : move_cached);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = piece * schedule_.piece, row = strip * schedule_.strip;
      run_task(growing, dst + outer.dst + row * near.dst_step + first * along.dst_step, src,
               schedule_.src_offset + outer.src + row * near.src_step + first * along.src_step,
               std::min(schedule_.strip, near.extent - row),
               std::min(schedule_.piece, along.extent - first));
      if (++piece < pieces) continue;
      piece = 0;
      if (++strip < strips) continue;
      strip = 0;
      outer.advance();
    }
    growing.finish();
    if (schedule_.streamed) streaming_fence();
  }

  // A piece of each of some rows.
  void run_task(Growing& growing, char* dst, const char* src, int64_t place, int64_t rows,
                int64_t blocks) const {
    const Loop& near = schedule_.near;
    if (schedule_.side_by_side && kernels_.streams)
      return run_side_by_side(dst, src, place, rows, blocks);
    for (int64_t row = 0; row < rows; ++row, dst += near.dst_step, place += near.src_step) {
      if (row + 1 < rows &&
          schedule_.streamed) {  // lines that are written in parts are fetched before
        __builtin_prefetch(dst + near.dst_step, 1);
        __builtin_prefetch(dst + near.dst_step + blocks * schedule_.along.dst_step, 1);
      }
      if (schedule_.program.gap > 0) {
        run_gapped(dst, src, place, blocks);
        continue;
      }
      if (dst != growing.dst()) {
        growing.finish();
        growing.start(dst);
      }
      run_piece(growing, src, place, blocks);
    }
  }

  // A period of each row in turns: src is read in few ascending streams. What is behind the last whole line of a row
  // waits until its turn comes again.
  void run_side_by_side(char* dst, const char* src, int64_t place, int64_t rows,
                        int64_t blocks) const {
    const ShuffleProgram& program = schedule_.program;
    const Loop& near = schedule_.near;
    alignas(line_bytes) char waiting[most_strip * line_bytes];
    const int64_t periods = blocks / program.blocks;
    for (int64_t period = 0; period < periods; ++period, dst += program.bytes, place += src_step_)
      for (int64_t row = 0; row < rows; ++row) {
        ShuffleRun run{
            dst + row * near.dst_step, src, 1, 0, program.bytes, src_step_, schedule_.ahead};
        run.skew = static_cast<int64_t>(reinterpret_cast<uintptr_t>(run.dst) % line_bytes);
        run.carry = waiting + row * line_bytes;
        run.begins = period == 0;
        run_periods(run, place + row * near.src_step);
      }
    const int64_t rest = blocks % program.blocks * schedule_.along.dst_step;
    Growing end(move_cached);
    for (int64_t row = 0; row < rows; ++row) {
      char* to = dst + row * near.dst_step;
      // Without a period nothing waits.
      const auto skew =
          periods == 0 ? 0 : static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % line_bytes);
      end.start(to - skew);
      std::memcpy(end.room(), waiting + row * line_bytes, static_cast<size_t>(skew));
      end.add(skew);
      if (rest > 0)
        run_periods({end.room(), src, 1, 0, rest, src_step_, schedule_.ahead},
                    place + row * near.src_step);
      end.add(rest);
      end.finish();
    }
  }

  // Blocks with gaps go straight to dst.
  void run_gapped(char* dst, const char* src, int64_t place, int64_t blocks) const {
    const ShuffleProgram& program = schedule_.program;
    const int64_t periods = blocks / program.blocks,
                  rest = blocks % program.blocks * schedule_.along.dst_step;
    if (periods > 0)
      run_periods({dst, src, periods, 0, program.bytes, src_step_, schedule_.ahead}, place);
    if (rest > 0)
      shuffle_carefully(program, dst + periods * program.bytes, src + place + periods * src_step_,
                        rest - program.gap);
  }

  void run_piece(Growing& growing, const char* src, int64_t place, int64_t blocks) const {
    const ShuffleProgram& program = schedule_.program;
    int64_t periods = blocks / program.blocks;
    while (periods > 0) {
      const int64_t now = put_periods(growing, src, place, periods);
      place += now * src_step_;
      periods -= now;
    }
    const int64_t rest = blocks % program.blocks * schedule_.along.dst_step;
    if (rest == 0) return;
    if (growing.free() < rest) growing.leave();
    run_periods({growing.room(), src, 1, 0, rest, src_step_, schedule_.ahead}, place);
    growing.add(rest);
  }

  // As many periods of a row as are best made at once; returns how many.
  int64_t put_periods(Growing& growing, const char* src, int64_t place, int64_t periods) const {
    const ShuffleProgram& program = schedule_.program;
    const int64_t bytes = program.bytes;
    const bool whole = bytes % program.width == 0;
    ShuffleRun run{growing.room(), src, periods, 0, bytes, src_step_, schedule_.ahead};
    if (schedule_.streamed && kernels_.streams && whole) {
      growing.leave();
      if (!growing.has_head()) {
        run.dst = growing.dst();
        run.carry = growing.waiting();
        run.skew = growing.skew();
        run.begins = growing.begins();
        run_periods(run, place);
        growing.skip(periods * bytes);
        return periods;
      }
    }
    // Periods that end within a vector are stored over by the next one.
    if (const int64_t direct = whole                   ? periods
                               : bytes > program.width ? periods - 1
                                                       : 0;
        !schedule_.streamed && direct > 0) {
      growing.finish();
      run.dst = growing.dst();
      run.periods = direct;
      run_periods(run, place);
      growing.start(run.dst + direct * bytes);
      return direct;
    }
    if (growing.free() < bytes) growing.leave();
    run.dst = growing.room();
    run.periods = kernels_.streams && whole ? 1 : std::min(periods, growing.free() / bytes);
    run_periods(run, place);
    growing.add(run.periods * bytes);
    return run.periods;
  }

  // `run.dst_step` bytes of each period, the first one's source `place` bytes behind the base.
  void run_periods(ShuffleRun run, int64_t place) const {
    const ShuffleProgram& program = schedule_.program;
    const int64_t last = place + (run.periods - 1) * src_step_;
    const int64_t lowest = std::min(place, last) + program.reach_begin,
                  highest = std::max(place, last) + program.reach_end;
    const char* base = run.src;
    if (lowest >= readable_.begin && highest <= readable_.end) {
      run.src = base + place;
      return run_freely(run);
    }
    if (highest - lowest <= most_end) return run_copied(run, place, {lowest, highest});
    if (run.periods == 1) return run_carefully(run, base, place);
    const int64_t half = run.periods / 2;
    ShuffleRun part = run;
    part.periods = half;
    run_periods(part, place);
    part.dst += half * run.dst_step;
    part.begins = false;
    part.periods = run.periods - half;
    run_periods(part, place + half * src_step_);
  }
  void run_freely(ShuffleRun& run) const {
    run.vectors = ceil_div(run.dst_step - schedule_.program.gap, schedule_.program.width);
    kernels_.run(schedule_.program, run);
  }
  // Periods whose windows reach over the ends of src read what there is of them in a copy.
  void run_copied(ShuffleRun& run, int64_t place, const ByteRange& reach) const {
    alignas(line_bytes) char copy[most_end + line_bytes];
    const int64_t shift = reach.begin & -line_bytes;  // only what stays within is added to copy
    const int64_t begin = std::max(reach.begin, readable_.begin),
                  end = std::min(reach.end, readable_.end);
    std::memcpy(copy + (begin - shift), run.src + begin, static_cast<size_t>(end - begin));
    run.src = copy + (place - shift);
    run_freely(run);
  }
  // One period, where some of its windows would reach over the ends of src.
  void run_carefully(ShuffleRun run, const char* base, int64_t place) const {
    const ShuffleProgram& program = schedule_.program;
    const auto skew = static_cast<size_t>(run.skew);
    const int64_t bytes = run.dst_step - program.gap;
    run.src = base + place;
    if (run.carry == nullptr) {
      run.vectors = safe_vectors(place, ceil_div(bytes, program.width));
      if (run.vectors > 0) kernels_.run(program, run);
      return shuffle_carefully(program, run.dst, run.src, bytes, run.vectors);
    }
    if (!run.begins) std::memcpy(run.dst - skew, run.carry, skew);
    shuffle_carefully(program, run.dst, run.src, bytes);
    std::memcpy(run.carry, run.dst + run.dst_step - skew, skew);
  }
  // The first of so many vectors whose windows all lie within src.
  int64_t safe_vectors(int64_t place, int64_t vectors) const {
    const ShuffleProgram& program = schedule_.program;
    const auto is_safe = [&](int64_t offset) {
      return place + offset >= readable_.begin && place + offset + program.width <= readable_.end;
    };
    const auto first = program.offsets.begin(), last = first + vectors * program.depth;
    return (std::find_if_not(first, last, is_safe) - first) / program.depth;
  }

  static constexpr int64_t most_end = 4 << 10;  // longer ones are made byte by byte
  ShuffleSchedule schedule_;
  ShuffleKernels kernels_;
  Isa level_;
  int threads_;
  int64_t src_step_;    // of a period
  ByteRange readable_;  // of what is read, counted from its base
};

}  // namespace

int shuffle_width(Isa level) {
  switch (level) {
    case Isa::avx512: return 64;
    case Isa::avx2:
    case Isa::neon: return 16;
    default: return 0;
  }
}

ShuffleKernels shuffle_kernels(Isa level, int depth) {
#if defined(__x86_64__)
  return level == Isa::avx512 ? shuffle_kernels_avx512(depth) : shuffle_kernels_avx2(depth);
#elif defined(__aarch64__)
  (void)level;
  return shuffle_kernels_neon(depth);
#else
  (void)level, (void)depth;
  return {};
#endif
}

std::unique_ptr<RearrangeKernel> make_shuffle(ShuffleSchedule schedule, const RearrangePlan& plan,
                                              const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  complete_program(schedule, plan);
  return std::make_unique<Shuffle>(std::move(schedule), bytes, threads_for(bytes, policy), isa());
}

}  // namespace infini::cpu
