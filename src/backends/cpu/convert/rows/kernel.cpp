// Converting rows: each thread has a range of pieces, and asks for x's lines some pieces ahead.
#include <algorithm>
#include <cstring>

#include "backends/cpu/convert/kernel.h"
#include "backends/cpu/convert/rows/schedule.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

// A piece of a row, and where its row stands.
class PieceCursor {
 public:
  PieceCursor(const ConvertRows& schedule, char* const* operands, int64_t number)
      : schedule_(schedule), pieces_(schedule.pieces_of_row()) {
    std::copy_n(operands, 4, row);
    piece = number % pieces_;
    number /= pieces_;
    for (size_t i = schedule.outer.size(); i-- > 0;) {
      const OperatorLoop& loop = schedule.outer[i];
      index_[i] = number % loop.extent;
      number /= loop.extent;
      for (int k = 0; k < 4; ++k) row[k] += index_[i] * loop.steps[k];
    }
  }
  void advance() {
    if (++piece < pieces_) return;
    piece = 0;
    for (size_t i = schedule_.outer.size(); i-- > 0;) {
      const OperatorLoop& loop = schedule_.outer[i];
      for (int k = 0; k < 4; ++k) row[k] += loop.steps[k];
      if (++index_[i] < loop.extent) return;
      for (int k = 0; k < 4; ++k) row[k] -= index_[i] * loop.steps[k];
      index_[i] = 0;
    }
  }

  char* row[4];
  int64_t piece;

 private:
  const ConvertRows& schedule_;
  int64_t pieces_;
  int64_t index_[max_rank] = {};
};

class Rows final : public ConvertKernel {
 public:
  Rows(ConvertRows schedule, const OperatorPlan& plan, int threads)
      : ConvertKernel(plan, threads), schedule_(std::move(schedule)) {}

  const char* candidate() const override { return "rows"; }
  std::string schedule() const override { return with_setting(to_string(schedule_)); }

 private:
  void execute(const OperatorRun& run) const override {
    char* const operands[] = {operand(run, 0), operand(run, 1), operand(run, 2), operand(run, 3)};
    parallel_for(schedule_.pieces(), threads_ == 1 ? 1 : std::min(threads_, available_threads()),
                 [&](int64_t begin, int64_t end) { run_pieces(operands, begin, end); });
  }

  void run_pieces(char* const* operands, int64_t begin, int64_t end) const {
    LineScratch scratch;
    PieceCursor at(schedule_, operands, begin);
    const int64_t ahead = pieces_ahead();
    PieceCursor asked(schedule_, operands, std::min(begin + ahead, end - 1));
    for (int64_t i = begin; i < end; ++i, at.advance()) {
      if (schedule_.streams && !schedule_.is_long && i + ahead < end) {
        ask(asked);
        asked.advance();
      }
      convert(at, scratch);
    }
    if (schedule_.streams) streaming_fence();
  }

  // What is asked for has come when it is read, and is not yet pushed out of L1.
  int64_t pieces_ahead() const {
    constexpr int64_t bytes_ahead = 4096;
    const int64_t bytes = std::min(schedule_.piece, schedule_.length) * line_.x_bytes();
    return std::max<int64_t>(1, (bytes_ahead + bytes - 1) / bytes);
  }
  void ask(const PieceCursor& at) const {
    const int64_t head = head_of(at);
    const char* from = at.row[1] + schedule_.begin_of(at.piece, head) * line_.x_bytes();
    const char* const end = at.row[1] + schedule_.end_of(at.piece, head) * line_.x_bytes();
    for (; from < end; from += line_bytes) __builtin_prefetch(from, 0, 2);
  }

  int64_t head_of(const PieceCursor& at) const {
    return schedule_.streams ? line_.elements_to_line(at.row[0]) : 0;
  }
  void convert(const PieceCursor& at, LineScratch& scratch) const {
    const int64_t head = head_of(at), first = schedule_.begin_of(at.piece, head),
                  count = schedule_.end_of(at.piece, head) - first;
    if (count <= 0) return;
    ConvertLines line = LineConverter::line(
        at.row[0] + first * line_.y_bytes(), at.row[1] + first * line_.x_bytes(), count,
        {schedule_.streams && schedule_.is_long, schedule_.streams});
    float one[2];
    for (int k = 0; k < 2; ++k) {
      if (!plan_.conversion.along[k]) continue;
      line.column_step[k] = plan_.row_steps[2 + k] == 0 ? 0 : 1;
      line.number[k] = reinterpret_cast<const float*>(at.row[2 + k]) + first * line.column_step[k];
      if (line.column_step[k] != 0) continue;
      std::memcpy(&one[k], at.row[2 + k], sizeof one[k]);
      line.number[k] = &one[k];
    }
    line_.convert(line, scratch);
  }

  ConvertRows schedule_;
};

}  // namespace

std::unique_ptr<OperatorKernel> make_row_converter(ConvertRows schedule, const OperatorPlan& plan,
                                                   const Policy& policy) {
  return std::make_unique<Rows>(std::move(schedule), plan, convert_threads(plan, policy));
}

}  // namespace infini::cpu
