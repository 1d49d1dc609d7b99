// Any plan: two inner loops in blocks, moving one word (or any other atom) at a time.
#include <algorithm>
#include <cstring>

#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/nest/schedule.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

struct Block {
  char* dst;
  const char* src;
  int64_t fast_dst, fast_src;  // iterations of the two loops
  const NestSchedule* schedule;
};

using BlockMove = void (*)(const Block&);

// bytes == 0: the schedule's atom, else a constant that becomes one move.
template <int bytes>
void move_block(const Block& block) {
  const Loop inner = block.schedule->fast_dst, outer = block.schedule->fast_src;
  const auto atom = static_cast<size_t>(bytes == 0 ? block.schedule->atom_bytes : bytes);
  for (int64_t j = 0; j < block.fast_src; ++j) {
    char* dst = block.dst + j * outer.dst_step;
    const char* src = block.src + j * outer.src_step;
    for (int64_t i = 0; i < block.fast_dst; ++i, dst += inner.dst_step, src += inner.src_step)
      std::memcpy(dst, src, atom);
  }
}

BlockMove move_for(int64_t atom_bytes) {
  switch (atom_bytes) {
    case 1: return move_block<1>;
    case 2: return move_block<2>;
    case 3: return move_block<3>;
    case 4: return move_block<4>;
    case 6: return move_block<6>;
    case 8: return move_block<8>;
    case 12: return move_block<12>;
    case 16: return move_block<16>;
    case 24: return move_block<24>;
    case 32: return move_block<32>;
    case 48: return move_block<48>;
    default: return move_block<0>;
  }
}

class Nest final : public Kernel {
 public:
  Nest(NestSchedule schedule, int64_t bytes, int threads)
      : Kernel(bytes),
        schedule_(std::move(schedule)),
        move_(move_for(schedule_.atom_bytes)),
        threads_(threads),
        blocks_(schedule_.blocks()),
        one_block_(schedule_.tasks() == 1) {}

  const char* candidate() const override { return "nest"; }
  std::string schedule() const override {
    return with_setting(to_string(schedule_), Isa::portable, threads_);
  }

  std::string way(const char*) const override { return "plain"; }
  void execute(char* dst, const char* src) const override {
    dst += schedule_.dst_offset;
    src += schedule_.src_offset;
    if (one_block_) return run_block_row(dst, src, 0);
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(schedule_.tasks(), threads,
                 [&](int64_t begin, int64_t end) { run_tasks(dst, src, begin, end); });
  }

 private:
  void run_tasks(char* dst, const char* src, int64_t begin, int64_t end) const {
    int64_t block = begin == 0 ? 0 : begin % blocks_;
    NestCursor outer(schedule_.outer, begin == 0 ? 0 : begin / blocks_);
    for (int64_t task = begin; task < end; ++task) {
      run_block_row(dst + outer.dst, src + outer.src, block * schedule_.block);
      if (++block < blocks_) continue;
      block = 0;
      outer.advance();
    }
  }
  // One block of the loop that is fast in src, by all blocks of the one that is fast in dst.
  void run_block_row(char* dst, const char* src, int64_t first) const {
    const Loop &inner = schedule_.fast_dst, &other = schedule_.fast_src;
    Block block{dst + first * other.dst_step, src + first * other.src_step, 0,
                std::min(schedule_.block, other.extent - first), &schedule_};
    const int64_t length = other.extent == 1 ? inner.extent : schedule_.block;
    for (int64_t i = 0; i < inner.extent; i += length) {
      block.fast_dst = std::min(length, inner.extent - i);
      move_(block);
      block.dst += length * inner.dst_step;
      block.src += length * inner.src_step;
    }
  }

  NestSchedule schedule_;
  BlockMove move_;
  int threads_;
  int64_t blocks_;
  bool one_block_;  // tiny tensors: nothing to count
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_nest(NestSchedule schedule, const RearrangePlan& plan,
                                           const Policy& policy) {
  const int64_t bytes = moved_bytes(plan);
  return std::make_unique<Nest>(std::move(schedule), bytes, threads_for(bytes, policy));
}

}  // namespace infini::cpu
