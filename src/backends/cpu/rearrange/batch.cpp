// Batches on the CPU: one parallel region over all copies.
#include "backends/cpu/backend.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/runtime/parallel.h"

namespace infini::cpu {
namespace {

struct Batch {
  const Kernel& kernel(int64_t i) const {
    return static_cast<const Kernel&>(*kernels[layouts == 1 ? 0 : i]);
  }
  bool moves(int64_t i) const { return kernels[layouts == 1 ? 0 : i] != nullptr; }
  int64_t bytes(int64_t i) const { return moves(i) ? kernel(i).bytes() : 0; }
  int64_t total_bytes() const {
    if (layouts == 1) return count * bytes(0);
    int64_t total = 0;
    for (int64_t i = 0; i < count; ++i) total += bytes(i);
    return total;
  }

  const RearrangeKernel* const* kernels;
  int64_t layouts, count;
  void* const* dst;
  const void* const* src;
};

// Shares of equal bytes: a copy belongs to the share in which its first byte lies.
void run_shares(const Batch& batch, int64_t total, int64_t shares, int64_t begin, int64_t end) {
  const int64_t first = total / shares * begin, last = end == shares ? total : total / shares * end;
  int64_t at = 0;
  for (int64_t i = 0; i < batch.count && at < last; ++i) {
    const int64_t bytes = batch.bytes(i);
    if (at >= first && bytes > 0)
      batch.kernel(i).execute(static_cast<char*>(batch.dst[i]),
                              static_cast<const char*>(batch.src[i]));
    at += bytes;
  }
}

class OneRegion final : public BatchKernel {
 public:
  explicit OneRegion(const std::vector<const RearrangeKernel*>& kernels) : kernels_(kernels) {}

  void run(size_t count, void* const* dst, const void* const* src, void* stream) const override {
    const Batch batch{kernels_.data(), static_cast<int64_t>(kernels_.size()),
                      static_cast<int64_t>(count), dst, src};
    if (stream != nullptr && capture_of(stream) != nullptr) {  // recorded one by one
      for (int64_t i = 0; i < batch.count; ++i)
        if (batch.moves(i)) batch.kernel(i).run(dst[i], src[i], stream);
      return;
    }
    const int64_t total = batch.total_bytes();
    const int threads = threads_for(total, current_policy());
    // Fewer copies than threads: each copy is shared out by itself.
    const int64_t shares = batch.count < threads ? 1 : threads;
    parallel_for(shares, threads,
                 [&](int64_t begin, int64_t end) { run_shares(batch, total, shares, begin, end); });
  }

 private:
  std::vector<const RearrangeKernel*> kernels_;
};

}  // namespace

std::unique_ptr<BatchKernel> make_rearrange_batch(infini::Device&, const BatchParts& parts) {
  return std::make_unique<OneRegion>(parts.kernels);
}

}  // namespace infini::cpu
