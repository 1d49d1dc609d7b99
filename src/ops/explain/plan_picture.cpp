// Drawing plans.
#include "ops/explain/plan_picture.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/dtype.h"

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
         (axis < 0 ? "" : " along " + axis_name(axis)) + "\n";
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

std::string operand_line(const char* name, const GemmOperand& operand, int64_t rows,
                         int64_t columns) {
  const bool transposed = magnitude(operand.row_step) < magnitude(operand.col_step);
  return formatted("  %-4s %-5s %9lld x %-9lld %10s %10s %10s%s\n", name, dtype_name(operand.dtype),
                   static_cast<long long>(rows), static_cast<long long>(columns),
                   step_text(operand.row_step).c_str(), step_text(operand.col_step).c_str(),
                   step_text(operand.batch_step).c_str(), transposed ? "  transposed" : "");
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
    text += "  order       src " + order_of(plan, src_step) + "  ->  dst " +
            order_of(plan, dst_step) + "  (in memory, outermost first)\n";
  text += "  reads       " + traffic_text(plan, distinct_source_bytes(plan), src_step);
  text += "  writes      " + traffic_text(plan, moved_bytes(plan), dst_step);
  return text;
}

std::string picture_of(const GemmPlan& plan) {
  std::string text =
      "  c = a b" +
      (plan.batch > 1 ? ", " + std::to_string(plan.batch) + " times" : std::string()) + "\n\n  " +
      formatted("%-10s %21s %10s %10s %10s\n", "", "rows x columns", "row step", "col step",
                "batch step");
  return text + operand_line("c", plan.c, plan.m, plan.n) +
         operand_line("a", plan.a, plan.m, plan.k) + operand_line("b", plan.b, plan.k, plan.n);
}

}  // namespace infini
