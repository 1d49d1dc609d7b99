// Plans whose innermost part is one long run.
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/rearrange/runs/schedule.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

class Runs final : public Kernel {
 public:
  Runs(RunSchedule schedule, int64_t bytes, int threads, Isa level)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        kernel_(schedule_.joined && schedule_.kind == LineKind::copy
                    ? copy_joined
                    : line_kernel(level, schedule_.kind, static_cast<int>(schedule_.word))),
        level_(level),
        threads_(threads),
        pieces_(schedule_.pieces()),
        tasks_(schedule_.tasks()),
        seamed_(schedule_.joined && schedule_.near_count == 1 && pieces_ == 1) {}

  const char* candidate() const override { return "runs"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), level_, threads_);
  }

  std::string way(const char*) const override {
    return std::string(kind_name(schedule_.kind)) + (schedule_.joined     ? " joined"
                                                     : schedule_.streamed ? " streamed"
                                                                          : " cached");
  }
  void execute(char* dst, const char* src) const override {
    dst += schedule_.dst_offset;
    src += schedule_.src_offset;
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(tasks_, threads,
                 [&](int64_t begin, int64_t end) { run_tasks(dst, src, begin, end); });
  }

 private:
  void run_tasks(char* dst, const char* src, int64_t begin, int64_t end) const {
    int64_t piece = begin == 0 ? 0 : begin % pieces_;
    NestCursor outer(schedule_.outer, begin == 0 ? 0 : begin / pieces_);
    Seam seam;  // of runs that join from task to task
    const char* behind = nullptr;
    for (int64_t task = begin; task < end; ++task) {
      Line line = line_of(dst + outer.dst, src + outer.src, piece * schedule_.piece,
                          schedule_.repeat_of(task));
      if (seamed_ && line.dst == behind) line.before = &seam;
      if (++piece == pieces_) {
        piece = 0;
        outer.advance();
      }
      behind = line.dst + line.repeat * line.repeat_dst;
      if (seamed_ && task + 1 < end && dst + outer.dst == behind) line.behind = &seam;
      run_piece(line);
    }
    if (schedule_.streamed) streaming_fence();
  }
  Line line_of(char* dst, const char* src, int64_t begin, int64_t repeat) const {
    return {.dst = dst,
            .src = src,
            .begin = begin,
            .count = std::min(schedule_.piece, schedule_.count - begin),
            .length = schedule_.count,
            .ways = schedule_.ways,
            .plane_step = schedule_.plane_step,
            .streamed = schedule_.streamed,
            .repeat = repeat,
            .repeat_dst = schedule_.repeat.dst_step,
            .repeat_src = schedule_.repeat.src_step,
            .places = schedule_.places,
            .ahead = schedule_.ahead};
  }
  void run_piece(Line line) const {
    if (schedule_.near_count == 1) return kernel_(line);
    char* const dst = line.dst;
    const char* const src = line.src;
    NestCursor near(schedule_.near, 0);
    for (int64_t i = 0; i < schedule_.near_count; ++i, near.advance()) {
      line.dst = dst + near.dst;
      line.src = src + near.src;
      kernel_(line);
    }
  }

  RunSchedule schedule_;
  LineKernel kernel_;
  Isa level_;
  int threads_;
  int64_t pieces_, tasks_;
  bool seamed_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_runs(RunSchedule schedule, const RearrangePlan& plan,
                                           const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return std::make_unique<Runs>(std::move(schedule), bytes, threads_for(bytes, policy), isa());
}

}  // namespace infini::cpu
