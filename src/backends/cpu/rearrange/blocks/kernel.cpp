// Blocks put together in the cache, see schedule.h.
#include <algorithm>

#include "backends/cpu/rearrange/blocks/program.h"
#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

class Blocks final : public Kernel {
 public:
  Blocks(BlockSchedule schedule, int64_t bytes, int threads, Isa level)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        programs_(make_block_programs(schedule_)),
        kernels_(
            panel_kernels(level, is_word(schedule_.word) ? static_cast<int>(schedule_.word) : 1)),
        put_(is_word(schedule_.word) ? kernels_.packed : kernels_.atoms),
        level_(level),
        threads_(threads) {}

  const char* candidate() const override { return "blocks"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), level_, threads_);
  }

  std::string way(const char*) const override {
    return is_word(schedule_.word) ? "words" : "atoms";
  }
  void execute(char* dst, const char* src) const override {
    dst += schedule_.dst_offset;
    src += schedule_.src_offset;
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.block_count, threads,
                 [&](int64_t begin, int64_t end) { run_blocks(dst, src, begin, end); });
  }

 private:
  // While a block is put together, the one before it flows out and the lines of the next one are fetched.
  void run_blocks(char* dst, const char* src, int64_t begin, int64_t end) const {
    alignas(line_bytes) char buffers[2][buffer_bytes + 2 * line_bytes];
    Outflow out{};
    BlockCursor at(schedule_, begin);
    const BlockProgram* program = &programs_[at.shape()];
    for (int turn = 0; begin < end; turn ^= 1) {
      const BlockCursor now = at;
      const BlockProgram* next = nullptr;
      if (++begin < end) {
        at.advance();
        next = &programs_[at.shape()];
        out.fetch = src + at.src;
        out.line = next->lines.data();
        out.lines = static_cast<int64_t>(next->lines.size());
      }
      char *const buffer = buffers[turn] + line_bytes, *const other =
                                                           buffers[turn ^ 1] + line_bytes;
      put_together(buffer, src + now.src, *program, out);
      kernels_.finish(out);
      const bool carried = out.carry != nullptr,
                 enough = carried || program->run_bytes >= line_bytes;
      const bool carries = next != nullptr && enough && goes_on(*program, now.dst, *next, at.dst);
      out = outflow_of(*program, dst + now.dst, buffer);
      out.carried = carried;
      out.carry = carries ? other : nullptr;
      kernels_.begin(out);
      program = next;
    }
    kernels_.finish(out);
    streaming_fence();
  }

  static Outflow outflow_of(const BlockProgram& program, char* dst, const char* buffer) {
    Outflow out{};
    out.run = program.runs.data();
    out.runs = static_cast<int64_t>(program.runs.size());
    out.dst = dst;
    out.buffer = buffer;
    out.run_bytes = program.run_bytes;
    return out;
  }

  void put_together(char* buffer, const char* src, const BlockProgram& program,
                    Outflow& out) const {
    Panel panel{};
    panel.dst_of_column = program.buffer_of_column.data();
    panel.columns = program.columns;
    panel.outflow = &out;
    panel.atom = schedule_.word;
    for (const auto& part : program.panels) {
      panel.dst = buffer + part.buffer;
      panel.src = src + part.src;
      panel.src_of_row = program.src_of_row.data() + part.first_row;
      panel.rows = part.rows;
      panel.reads_on = part.reads_on;
      put_(panel);
    }
  }

  BlockSchedule schedule_;
  std::vector<BlockProgram> programs_;  // by BlockCursor::shape()
  PanelKernels kernels_;
  PanelKernel put_;
  Isa level_;
  int threads_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_blocks(BlockSchedule schedule, const RearrangePlan& plan,
                                             const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return std::make_unique<Blocks>(std::move(schedule), bytes, threads_for(bytes, policy), isa());
}

}  // namespace infini::cpu
