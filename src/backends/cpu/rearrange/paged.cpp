// Paged copies on the CPU: one parallel region over all pieces of all layers.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "backends/cpu/backend.h"
#include "backends/cpu/rearrange/copy_bytes.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/panels/kernels.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

// Runs shorter than this are not worth lines of their own.
constexpr int64_t least_streamed_run = 128;
// One run of bytes up to this size is left to memcpy; a larger one may be shared out by itself.
constexpr int64_t least_shared_piece = 64 << 10;

class PagedCopies final : public PagedKernel {
 public:
  PagedCopies(const PagedPlan& plan, std::shared_ptr<const RearrangeKernel> piece)
      : plan_(plan),
        loops_(plan.piece.loops, plan.piece.loops + plan.piece.depth),
        bytes_(moved_bytes(plan.piece)),
        piece_(std::move(piece)) {}

  void run(const PagedRun& run) const override {
    const auto recording = run.stream == nullptr ? nullptr : capture_of(run.stream);
    if (recording == nullptr) return execute(run);
    const auto layers = static_cast<size_t>(plan_.layers);
    recording->add([self = shared_from_this(), this, run,
                    dst = std::vector<void*>(run.dst, run.dst + layers),
                    src = std::vector<const void*>(run.src, run.src + layers),
                    dst_ids = kept(plan_.dst, run.dst_ids, run.count),
                    src_ids = kept(plan_.src, run.src_ids, run.count)] {
      PagedRun again = run;
      again.dst = dst.data();
      again.src = src.data();
      if (!dst_ids.empty()) again.dst_ids = dst_ids.data();
      if (!src_ids.empty()) again.src_ids = src_ids.data();
      execute(again);
    });
  }

  void check(void* stream) const override {
    capture_of(stream);  // or throws: it is none
    const uint32_t largest = bad_.exchange(0);
    require(largest == 0, INFINI_STATUS_BAD_PARAM, "copy ", ~largest,
            " had an id that is negative or beyond the last page; it moved nothing");
  }
  const char* candidate() const override { return "pieces"; }
  std::string schedule() const override { return piece_->schedule(); }

 private:
  // Ids of the host are read when the call is made, ids of the device when the work runs.
  std::vector<char> kept(const PagedSide& side, const void* ids, size_t count) const {
    if (ids == nullptr || plan_.ids_on_device || count == 0) return {};
    const int64_t bytes = (id_index(side, static_cast<int64_t>(count) - 1) + 1) * plan_.id_bytes;
    const auto* first = static_cast<const char*>(ids);
    return {first, first + bytes};
  }

  void execute(const PagedRun& run) const {
    const auto count = static_cast<int64_t>(run.count);
    const Policy policy = current_policy();
    const int64_t pieces = count * plan_.layers, total = pieces * bytes_;
    const int threads = threads_for(total, policy);
    const bool streamed =
        plan_.piece.atom_bytes >= least_streamed_run && total / threads >= policy.streamed_bytes;
    if (pieces < threads) return move(run, 0, pieces, false);  // each is shared out by itself
    parallel_for(pieces, threads,
                 [&](int64_t begin, int64_t end) { move(run, begin, end, streamed); });
  }

  void move(const PagedRun& run, int64_t begin, int64_t end, bool streamed) const {
    const auto count = static_cast<int64_t>(run.count);
    const int64_t ahead = current_policy().copy_ahead;
    for (int64_t layer = begin / count; layer * count < end; ++layer) {
      const int64_t last = std::min(count, end - layer * count);
      for (int64_t copy = std::max<int64_t>(0, begin - layer * count); copy < last; ++copy) {
        const int64_t to = place_piece(plan_, plan_.dst, run.dst_ids, copy);
        const int64_t from = place_piece(plan_, plan_.src, run.src_ids, copy);
        if (to == no_piece || from == no_piece)
          note_bad(~static_cast<uint32_t>(copy));
        else
          move_piece(static_cast<char*>(run.dst[layer]) + to,
                     static_cast<const char*>(run.src[layer]) + from, streamed, ahead);
      }
    }
    if (streamed) streaming_fence();
  }

  void move_piece(char* dst, const char* src, bool streamed, int64_t ahead) const {
    if (streamed) return move_streamed(dst, src, ahead);
    if (plan_.piece.depth > 0 || bytes_ > least_shared_piece)
      return static_cast<const Kernel&>(*piece_).execute(dst, src);
    std::memcpy(dst + plan_.piece.dst_offset, src + plan_.piece.src_offset,
                static_cast<size_t>(bytes_));
  }

  void move_streamed(char* dst, const char* src, int64_t ahead) const {
    dst += plan_.piece.dst_offset;
    src += plan_.piece.src_offset;
    if (loops_.empty()) return copy_streamed_ahead(dst, src, bytes_, ahead);
    const int64_t runs = atom_count(plan_.piece);
    NestCursor at(loops_, 0);
    for (int64_t i = 0; i < runs; ++i) {
      copy_streamed_ahead(dst + at.dst, src + at.src, plan_.piece.atom_bytes, ahead);
      at.advance();
    }
  }

  void note_bad(uint32_t value) const {
    uint32_t seen = bad_.load(std::memory_order_relaxed);
    while (seen < value && !bad_.compare_exchange_weak(seen, value)) {
    }
  }

  PagedPlan plan_;
  std::vector<Loop> loops_;
  int64_t bytes_;  // of one piece
  std::shared_ptr<const RearrangeKernel> piece_;
  mutable std::atomic<uint32_t> bad_ = 0;
};

}  // namespace

std::unique_ptr<PagedKernel> make_rearrange_paged(infini::Device& device, const PagedPlan& plan) {
  return std::make_unique<PagedCopies>(plan, make_rearrange(device, plan.piece, {}));
}

}  // namespace infini::cpu
