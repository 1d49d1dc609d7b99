// Plans that write the same block of dst again and again: the first from src, all others from there.
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/repeated/schedule.h"

namespace infini::cpu {
namespace {

class Repeated final : public Kernel {
 public:
  Repeated(int64_t bytes, std::unique_ptr<RearrangeKernel> once,
           std::unique_ptr<RearrangeKernel> again)
      : Kernel(bytes), once_(std::move(once)), again_(std::move(again)) {}

  const char* candidate() const override { return "repeated"; }
  std::string schedule() const override {
    return std::string("once: ") + once_->candidate() + "\n" + once_->schedule() +
           "\nfrom there, again: " + again_->candidate() + "\n" + again_->schedule();
  }

  std::string way(const char* dst) const override {
    const auto of = [&](const RearrangeKernel& part) {
      return std::string(part.candidate()) + " " + static_cast<const Kernel&>(part).way(dst);
    };
    return of(*once_) + ", then " + of(*again_);
  }
  void execute(char* dst, const char* src) const override {
    static_cast<const Kernel&>(*once_).execute(dst, src);
    static_cast<const Kernel&>(*again_).execute(dst, dst);
  }

 private:
  std::unique_ptr<RearrangeKernel> once_, again_;
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_repeated(const RearrangePlan& plan,
                                               std::unique_ptr<RearrangeKernel> once,
                                               std::unique_ptr<RearrangeKernel> again) {
  return std::make_unique<Repeated>(moved_bytes(plan), std::move(once), std::move(again));
}

}  // namespace infini::cpu
