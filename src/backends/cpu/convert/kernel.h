// What all converting kernels of the CPU share: how they are run or recorded.
#pragma once

#include "backends/cpu/convert/line.h"
#include "backends/cpu/machine/isa.h"
#include "backends/cpu/runtime/stream.h"
#include "contract/kernels.h"

namespace infini::cpu {

class ConvertKernel : public OperatorKernel {
 public:
  ConvertKernel(const OperatorPlan& plan, int threads)
      : plan_(plan), line_(plan), threads_(threads) {}

  void run(const OperatorRun& run) const final {
    if (run.stream != nullptr) [[unlikely]] {
      if (const auto recording = capture_of(run.stream)) {
        recording->add([self = shared_from_this(), this, run] { execute(run); });
        return;
      }
    }
    execute(run);
  }

 protected:
  virtual void execute(const OperatorRun& run) const = 0;

  // A schedule's text with what it is run by.
  std::string with_setting(const std::string& schedule) const {
    return schedule + (line_.is_wide() ? ", in f64, " : ", in f32, ") + isa_name(isa()) +
           ", at most " + std::to_string(threads_) + (threads_ == 1 ? " thread" : " threads");
  }
  char* operand(const OperatorRun& run, int k) const {
    return static_cast<char*>(run.operands[k]) + plan_.offsets[k];
  }

  OperatorPlan plan_;
  LineConverter line_;
  int threads_;
};

}  // namespace infini::cpu
