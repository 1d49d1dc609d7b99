// Measuring operators: ours and a plain copy of as many bytes in turns.
#include "bench/copies/operator_bench.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "bench/copies/beside_copies.h"
#include "harness/operators/operator_check.h"
#include "harness/operators/operator_table.h"
#include "ops/operator.h"
#include "plan/rearrange/memory_traffic.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

constexpr int64_t verify_limit = 4 << 20, pattern_elements = 1 << 18;  // elements

// Bytes of whole lines that an elementwise operator touches.
double line_traffic(const OperatorPlan& plan, int operands, int64_t line) {
  double bytes = 0;
  for (int k = 0; k < operands; ++k) {
    RearrangePlan elements;
    elements.atom_bytes = dtype_bytes(plan.dtypes[k]);
    for (int i = 0; i < plan.depth; ++i)
      elements.loops[elements.depth++] = {plan.loops[i].extent, 0, plan.loops[i].steps[k]};
    if (plan.length > 1) elements.loops[elements.depth++] = {plan.length, 0, plan.row_steps[k]};
    bytes += source_traffic(elements, line);
  }
  return bytes;
}

}  // namespace

// As many numbers as make a pattern, over and over.
std::unique_ptr<Memory> make_operand(Device& device, const harness::OperatorProblem& problem,
                                     int operand) {
  const Layout& layout = problem.operands[operand];
  const auto range = byte_range(layout);
  const auto bytes = static_cast<size_t>(range.end - range.begin);
  auto memory = std::make_unique<Memory>(device, bytes + 64);
  const auto size = static_cast<size_t>(dtype_bytes(layout.dtype));
  std::vector<char> pattern(std::min(bytes, static_cast<size_t>(pattern_elements) * size));
  harness::Random random(static_cast<uint64_t>(operand) + 1);
  for (size_t at = 0; at + size <= pattern.size(); at += size)
    harness::write_element(problem, operand, pattern.data() + at,
                           harness::random_value(random, problem, operand));
  for (size_t at = 0; at < bytes; at += pattern.size())
    device.copy(memory->get() + at, pattern.data(), std::min(pattern.size(), bytes - at),
                INFINIRT_MEMCPY_H2D);
  return memory;
}

Row measure_operator(const std::string& name, const std::string& text, const Options& options) {
  const auto problem = harness::parse_operator(text);
  Device& device = current_device();
  const Operator op(device, make_plan(problem));
  require(op.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, name, ": nothing to measure");
  Row row{.name = name,
          .problem = text,
          .device = device_kind_name(device.kind()),
          .candidate = op.kernel()->candidate(),
          .bytes = harness::compulsory_bytes(problem)};
  if (options.verify && element_count(problem.operands[0]) <= verify_limit) {
    const auto verdict = harness::check(problem);
    row.verified = verdict.passed;
    if (!verdict.passed) std::printf("%s\n", verdict.message.c_str());
  }
  if (facts_of(problem.function).elementwise && !stays_in_cache(device, row.bytes))
    row.allowed =
        static_cast<double>(row.bytes) /
        line_traffic(op.plan(), harness::told_operands(problem.function), moved_line_bytes(device));
  const int count = facts_of(problem.function).operands;
  std::vector<std::unique_ptr<Memory>> operands;
  OperatorRun run;
  for (int i = 0; i < count; ++i) {
    operands.push_back(make_operand(device, problem, i));
    run.operands[i] = operands.back()->get() - byte_range(problem.operands[i]).begin;
  }
  if (problem.in_place != 0) run.operands[problem.in_place] = run.operands[0];
  const Memory workspace(device, op.workspace_bytes() + 64);
  run.workspace = workspace.get();
  const std::vector<SampleOptions> samples(static_cast<size_t>(row_count(op.plan())),
                                           {problem.sample.random_val, problem.sample.topp,
                                            problem.sample.temperature, problem.sample.topk});
  run.samples = samples.data();
  const auto half = static_cast<size_t>(row.bytes) / 2;
  const Memory to(device, half + 64), from(device, half + 64);
  measure_beside_copies(
      device, [&] { op.run(run, op.workspace_bytes()); }, to.get(), from.get(), options.seconds,
      row);
  return row;
}

}  // namespace infini::bench
