// Rearrange on the CPU: choosing a candidate and running it.
#include <algorithm>
#include <cstring>

#include "backends/cpu/backend.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/stream.h"
#include "contract/candidate.h"

namespace infini::cpu {
namespace {

constexpr int64_t bytes_per_thread = 256 << 10;  // below this a thread costs more than it saves

// A copy of the plan's used part and the way every CPU kernel is run or recorded.
class Kernel : public RearrangeKernel {
 public:
  explicit Kernel(const RearrangePlan& plan) : plan_(plan) {}

  void run(void* dst, const void* src, void* stream) const final {
    auto* to = static_cast<char*>(dst) + plan_.dst_offset;
    auto* from = static_cast<const char*>(src) + plan_.src_offset;
    if (stream != nullptr) [[unlikely]] {
      if (const auto recording = capture_of(stream)) {
        recording->add([self = shared_from_this(), this, to, from] { execute(to, from); });
        return;
      }
    }
    execute(to, from);
  }

 protected:
  virtual void execute(char* dst, const char* src) const = 0;
  int threads() const {
    const int64_t wanted = moved_bytes(plan_) / bytes_per_thread;
    return wanted <= 1 ? 1 : static_cast<int>(std::min<int64_t>(wanted, available_threads()));
  }
  RearrangePlan plan_;
};

class SingleCopy final : public Kernel {
 public:
  using Kernel::Kernel;
  const char* candidate() const override { return "single_copy"; }

 protected:
  void execute(char* dst, const char* src) const override {
    parallel_for(plan_.atom_bytes, threads(), [&](int64_t begin, int64_t end) {
      std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin));
    });
  }
};

// Any plan: the outermost loop is divided among threads, the rest is walked by recursion.
class GenericNest final : public Kernel {
 public:
  using Kernel::Kernel;
  const char* candidate() const override { return "generic_nest"; }

 protected:
  void execute(char* dst, const char* src) const override {
    if (plan_.depth == 0) {
      std::memcpy(dst, src, static_cast<size_t>(plan_.atom_bytes));
      return;
    }
    const Loop& outer = plan_.loops[0];
    parallel_for(outer.extent, threads(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        walk(1, dst + i * outer.dst_step, src + i * outer.src_step);
    });
  }

 private:
  void walk(int level, char* dst, const char* src) const {
    if (level == plan_.depth) {
      std::memcpy(dst, src, static_cast<size_t>(plan_.atom_bytes));
      return;
    }
    const Loop& loop = plan_.loops[level];
    for (int64_t i = 0; i < loop.extent; ++i, dst += loop.dst_step, src += loop.src_step)
      walk(level + 1, dst, src);
  }
};

template <class K>
std::unique_ptr<RearrangeKernel> make(const infini::Device&, const RearrangePlan& plan) {
  return std::make_unique<K>(plan);
}

constexpr Candidate<RearrangeKernel, infini::Device, RearrangePlan> candidates[] = {
    {"single_copy", [](const infini::Device&, const RearrangePlan& plan) { return plan.depth == 0; },
     make<SingleCopy>},
    {"generic_nest", [](const infini::Device&, const RearrangePlan&) { return true; },
     make<GenericNest>},
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device,
                                                const RearrangePlan& plan) {
  const infini::Device& context = device;
  return first_accepting(candidates, context, plan, "INFINI_REARRANGE");
}

}  // namespace infini::cpu
