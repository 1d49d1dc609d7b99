// Long contiguous runs: one copy, or one copy per row.
#include <cstring>

#include "backends/cpu/copy_bytes.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/rearrange_kernel.h"
#include "backends/cpu/tile_kernels.h"

namespace infini::cpu {
namespace {

constexpr int64_t least_row_bytes = 64;      // shorter runs are the nest's business
constexpr int64_t least_streamed_row = 512;  // unless rows are whole lines
constexpr int64_t piece_bytes = 256 << 10;   // longer rows are shared out in pieces

class Rows final : public Kernel {
 public:
  Rows(const RearrangePlan& plan, const Policy& policy)
      : row_bytes_(plan.atom_bytes),
        dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset),
        rows_(atom_count(plan)),
        threads_(threads_for(moved_bytes(plan), policy)),
        loops_(plan.loops, plan.loops + plan.depth) {
    streamed_ = moved_bytes(plan) >= policy.streamed_bytes &&
                (row_bytes_ >= least_streamed_row || row_bytes_ % line_bytes == 0);
    pieces_ = row_bytes_ / piece_bytes;
    if (pieces_ == 0 || threads_ == 1) pieces_ = 1;
  }

  const char* candidate() const override { return loops_.empty() ? "copy" : "rows"; }
  std::string schedule() const override {
    return std::to_string(rows_) + " rows of " + std::to_string(row_bytes_) + " bytes in " +
           std::to_string(pieces_) + (pieces_ == 1 ? " piece" : " pieces") +
           (streamed_ ? ", streamed" : ", cached") + ", " + std::to_string(threads_) +
           (threads_ == 1 ? " thread" : " threads");
  }

  void execute(char* dst, const char* src) const override {
    dst += dst_offset_;
    src += src_offset_;
    const int threads = threads_ == 1 ? 1 : std::min(threads_, available_threads());
    parallel_for(rows_ * pieces_, threads,
                 [&](int64_t begin, int64_t end) { copy_pieces(dst, src, begin, end); });
  }

 private:
  void copy_pieces(char* dst, const char* src, int64_t begin, int64_t end) const {
    int64_t piece = begin == 0 ? 0 : begin % pieces_;
    NestCursor row(loops_, begin == 0 ? 0 : begin / pieces_);
    while (begin < end) {
      // Neighbouring pieces of one row are one copy.
      const int64_t count = std::min(pieces_ - piece, end - begin);
      const int64_t from = edge(piece), to = edge(piece + count);
      copy(dst + row.dst + from, src + row.src + from, to - from);
      begin += count;
      piece = 0;
      row.advance();
    }
    if (streamed_) streaming_fence();
  }
  // Pieces end with whole lines.
  int64_t edge(int64_t piece) const {
    return piece == pieces_ ? row_bytes_ : row_bytes_ / pieces_ / line_bytes * line_bytes * piece;
  }
  void copy(char* dst, const char* src, int64_t bytes) const {
    if (streamed_) copy_streamed(dst, src, bytes);
    else std::memcpy(dst, src, static_cast<size_t>(bytes));
  }

  int64_t row_bytes_, dst_offset_, src_offset_, rows_;
  int64_t pieces_ = 1;
  int threads_;
  bool streamed_ = false;
  std::vector<Loop> loops_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rows(const RearrangePlan& plan, const Policy& policy) {
  if (plan.depth > 0 && plan.atom_bytes < least_row_bytes) return nullptr;
  return std::make_unique<Rows>(plan, policy);
}

}  // namespace infini::cpu
