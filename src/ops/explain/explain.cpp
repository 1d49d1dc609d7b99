// Prepared operators in words.
#include "ops/explain/explain.h"

#include <sstream>

#include "ops/planned.h"

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
  std::ostringstream text;
  text << plan_text(to_string(plan));
  if (op.kernel() == nullptr) return text.str();
  text.precision(4);
  text << "\n\n"
       << 2.0 * static_cast<double>(plan.batch * plan.m * plan.n) * static_cast<double>(plan.k)
       << " FLOP, " << compulsory_bytes(plan) << " bytes at least, workspace "
       << op.workspace_bytes() << " bytes\n"
       << choice_text(*op.kernel(), op.device());
  return text.str();
}

}  // namespace infini
