// Drawing plans.
#include "ops/explain/plan_picture.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/dtype.h"
#include "base/paragraph.h"
#include "plan/operators/convert_plan.h"

namespace infini {
namespace {

// Axes are called a, b, c, ... from the outermost one of dst inwards.
std::string axis_name(int loop) { return std::string(1, static_cast<char>('a' + loop)); }

int64_t magnitude(int64_t step) { return step < 0 ? -step : step; }

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[200];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// A step with its sign: backwards is worth seeing.
std::string step_text(int64_t step) { return (step < 0 ? "-" : "") + bytes_text(magnitude(step)); }

// The axis along which atoms lie together on one side, or -1.
template <class Step>
int axis_of_run(const RearrangePlan& plan, Step step) {
  for (int i = plan.depth - 1; i >= 0; --i)
    if (magnitude(step(plan.loops[i])) == plan.atom_bytes) return i;
  return -1;
}

template <class Step>
int64_t run_of(const RearrangePlan& plan, Step step) {
  const int axis = axis_of_run(plan, step);
  return axis < 0 ? plan.atom_bytes : plan.loops[axis].extent * plan.atom_bytes;
}

// "512 MiB in runs of 2 KiB along a".
template <class Step>
std::string traffic_text(const RearrangePlan& plan, int64_t bytes, Step step) {
  const int axis = axis_of_run(plan, step);
  return bytes_text(bytes) +
         (plan.depth == 0 ? " in one run" : " in runs of " + bytes_text(run_of(plan, step))) +
         (axis < 0 ? "" : " along " + axis_name(axis));
}

// The axes of one side as they lie in memory, the outermost first; those it has not (a step of 0) are left out.
template <class Step>
std::string order_of(const RearrangePlan& plan, Step step) {
  std::vector<int> loops;
  for (int i = 0; i < plan.depth; ++i)
    if (step(plan.loops[i]) != 0) loops.push_back(i);
  std::stable_sort(loops.begin(), loops.end(), [&](int x, int y) {
    return magnitude(step(plan.loops[x])) > magnitude(step(plan.loops[y]));
  });
  std::string text;
  for (const int loop : loops)
    text += (text.empty() ? "" : " ") + std::string(step(plan.loops[loop]) < 0 ? "-" : "") +
            axis_name(loop);
  return text.empty() ? "(one place)" : text;
}

std::string remark_of(const Loop& loop, const Runs& atoms) {
  if (loop.src_step == 0) return "src repeats";
  if (magnitude(loop.src_step) == atoms.src)
    return loop.src_step < 0 ? "backwards in src" : "together in src";
  if (loop.dst_step == atoms.dst) return "together in dst";
  return loop.src_step < 0 ? "backwards in src" : "";
}

int64_t dst_step(const Loop& loop) { return loop.dst_step; }
int64_t src_step(const Loop& loop) { return loop.src_step; }

// The step of something there is only one of means nothing.
std::string step_between(int64_t extent, int64_t step) {
  return extent > 1 ? step_text(step) : "-";
}

std::string operand_line(const char* name, const GemmOperand& operand, int64_t rows,
                         int64_t columns, int64_t batch) {
  const bool transposed =
      rows > 1 && columns > 1 && magnitude(operand.row_step) < magnitude(operand.col_step);
  return formatted("  %-3s %-5s %9lld x %-9lld %10s %10s", name, dtype_name(operand.dtype),
                   static_cast<long long>(rows), static_cast<long long>(columns),
                   step_between(rows, operand.row_step).c_str(),
                   step_between(columns, operand.col_step).c_str()) +
         (batch > 1 ? formatted(" %11s", step_text(operand.batch_step).c_str()) : "") +
         (transposed ? "  transposed" : "") + "\n";
}

// How many different elements of an operand a row operator reads or writes.
int64_t distinct_elements(const OperatorPlan& plan, int operand) {
  const bool is_rope = plan.function == Function::rope;
  int64_t rows = 1;
  for (int i = 0; i < plan.depth; ++i)
    if (plan.loops[i].steps[operand] != 0) rows *= plan.loops[i].extent;
  if (is_rope && operand > 2) rows = std::min(distinct_elements(plan, 2), plan.table_rows);
  if (plan.row_steps[operand] == 0) return rows;
  return rows * plan.length * (is_rope && operand < 2 ? 2 : 1);  // a row of rope is of pairs
}

std::string axis_line(const OperatorPlan& plan, const std::string& name, int64_t extent,
                      const int64_t* steps) {
  std::string text = formatted("  %-4s %12lld", name.c_str(), static_cast<long long>(extent));
  for (int k = 0; k < plan.operands; ++k)
    text += formatted(" %11s", step_between(extent, steps[k]).c_str());
  return text + "\n";
}

}  // namespace

std::string bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double scaled = value / 1024;
  for (; scaled >= 1024 && unit < 5; ++unit) scaled /= 1024;
  return formatted("%.4g %s", scaled, units[unit]);
}

std::string time_text(double seconds) {
  if (seconds < 1e-6) return formatted("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return formatted("%.3g us", seconds * 1e6);
  return seconds < 1 ? formatted("%.3g ms", seconds * 1e3) : formatted("%.3g s", seconds);
}

Runs runs_of(const RearrangePlan& plan) { return {run_of(plan, dst_step), run_of(plan, src_step)}; }

std::string picture_of(const RearrangePlan& plan) {
  if (plan.atom_bytes == 0) return "  nothing to move\n";
  std::string text;
  if (plan.depth > 0) text += "  axis        times   step in dst   step in src\n";
  for (int i = 0; i < plan.depth; ++i) {
    const Loop& loop = plan.loops[i];
    const std::string remark = remark_of(loop, {plan.atom_bytes, plan.atom_bytes});
    text +=
        formatted("  %-4s %12lld %13s %13s%s%s\n", axis_name(i).c_str(),
                  static_cast<long long>(loop.extent), step_text(loop.dst_step).c_str(),
                  step_text(loop.src_step).c_str(), remark.empty() ? "" : "   ", remark.c_str());
  }
  text += formatted("  %s %12s %13s %13s\n\n", plan.depth > 0 ? "each" : "once", "",
                    bytes_text(plan.atom_bytes).c_str(), bytes_text(plan.atom_bytes).c_str());
  if (plan.depth > 0)
    text += labelled("order", "src " + order_of(plan, src_step) + " -> dst " +
                                  order_of(plan, dst_step) + " (in memory, outermost first)");
  text += labelled("reads", traffic_text(plan, distinct_source_bytes(plan), src_step));
  text += labelled("writes", traffic_text(plan, moved_bytes(plan), dst_step));
  return text;
}

std::string picture_of(const GemmPlan& plan) {
  const std::string times = plan.batch > 1 ? ", " + std::to_string(plan.batch) + " times" : "";
  return "  c = a b" + times + "\n\n" +
         formatted("  %-9s %21s %10s %10s", "", "rows x columns", "row step", "col step") +
         (plan.batch > 1 ? "  batch step\n" : "\n") +
         operand_line("c", plan.c, plan.m, plan.n, plan.batch) +
         operand_line("a", plan.a, plan.m, plan.k, plan.batch) +
         operand_line("b", plan.b, plan.k, plan.n, plan.batch);
}

int64_t operand_bytes(const OperatorPlan& plan, int operand) {
  if (is_absent(plan, operand)) return 0;
  return distinct_elements(plan, operand) * dtype_bytes(plan.dtypes[operand]);
}

std::string picture_of(const OperatorPlan& plan) {
  if (plan.length == 0 || row_count(plan) == 0) return "  nothing to compute\n";
  const FunctionFacts& facts = facts_of(plan.function);
  std::string text = std::string("  ") + facts.about + "\n\n  axis        times", read;
  for (int k = 0; k < plan.operands; ++k)
    text += formatted(" %11s",
                      (std::string(plan.operands > 3 ? "" : "step ") + facts.names[k]).c_str());
  text += "\n";
  for (int i = 0; i < plan.depth; ++i)
    text += axis_line(plan, axis_name(i), plan.loops[i].extent, plan.loops[i].steps);
  text += axis_line(plan, "row", plan.length, plan.row_steps) + "\n";
  for (int k = 1; k < plan.operands; ++k)
    if (!is_absent(plan, k))
      read += std::string(k > 1 ? ", " : "") + facts.names[k] + " (" + dtype_name(plan.dtypes[k]) +
              ") " + bytes_text(operand_bytes(plan, k));
  return text + labelled("reads", read) +
         labelled("writes", std::string(facts.names[0]) + " (" + dtype_name(plan.dtypes[0]) + ") " +
                                bytes_text(operand_bytes(plan, 0)));
}

}  // namespace infini
