// Prepared operators in words.
#include "ops/explain.h"

#include <sstream>

#include "base/dtype.h"

namespace infini {
namespace {

std::string plan_text(std::string lines) {
  for (size_t i = 0; (i = lines.find('\n', i)) != std::string::npos; i += 3)
    lines.insert(i + 1, "  ");
  return "plan\n  " + lines;
}

template <class Kernel>
std::string choice_text(const Kernel& kernel, const Device& device) {
  const std::string schedule = kernel.schedule();
  return std::string("candidate ") + kernel.candidate() + " on " + device.description() +
         (schedule.empty() ? "" : "\n" + schedule);
}

// The bytes of one operand; a batch that is shared counts once.
double operand_bytes(const GemmOperand& operand, int64_t batch, int64_t rows, int64_t columns) {
  return static_cast<double>(operand.batch_step == 0 ? 1 : batch) * static_cast<double>(rows) *
         static_cast<double>(columns) * static_cast<double>(dtype_bytes(operand.dtype));
}

}  // namespace

std::string explain(const Rearrange& op) {
  const RearrangePlan plan = op.plan();
  std::ostringstream text;
  text << plan_text(to_string(plan));
  if (op.kernel() != nullptr)
    text << "\n\nwrites " << moved_bytes(plan) << " bytes, reads " << distinct_source_bytes(plan)
         << "\n"
         << choice_text(*op.kernel(), op.device());
  return text.str();
}

std::string explain(const Gemm& op) {
  const GemmPlan& plan = op.plan();
  const auto [batch, m, n, k, c, a, b] = plan;
  std::ostringstream text;
  text << plan_text(to_string(plan));
  if (op.kernel() == nullptr) return text.str();
  text.precision(4);
  text << "\n\n"
       << 2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k) << " FLOP, "
       << operand_bytes(a, batch, m, k) + operand_bytes(b, batch, k, n) +
              operand_bytes(c, batch, m, n)
       << " bytes at least, workspace " << op.workspace_bytes() << " bytes\n"
       << choice_text(*op.kernel(), op.device());
  return text.str();
}

}  // namespace infini
