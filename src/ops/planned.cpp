// Telling what prepared operators will do.
#include "ops/planned.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/dtype.h"
#include "ops/explain/kernel_words.h"
#include "ops/explain/plan_picture.h"

namespace infini {
namespace {

using Lines = std::vector<BidLine>;

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[300];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Some lists of candidates are still ordered by rules, and bid their rank. Nothing takes a few nanoseconds, and
// nothing moves 4 TB a second.
bool is_a_time(double nanoseconds, double bytes) {
  return std::isfinite(nanoseconds) && nanoseconds >= std::max(15.0, bytes / 4000) &&
         nanoseconds < 1e14;
}

const BidLine* find_bid(const Lines& bids, const std::string& candidate) {
  const auto found = std::find_if(bids.begin(), bids.end(),
                                  [&](const BidLine& bid) { return bid.name == candidate; });
  return found == bids.end() ? nullptr : &*found;
}

void sort_bids(Lines& bids) {
  std::stable_sort(bids.begin(), bids.end(), [](const BidLine& a, const BidLine& b) {
    return a.nanoseconds < b.nanoseconds;
  });
}

// What a plain copy would bid for as many bytes.
double copy_nanoseconds(Device& device, int64_t bytes) {
  const size_t shape[] = {static_cast<size_t>(bytes)};
  const Layout line = make_layout(INFINI_DTYPE_U8, 1, shape, nullptr);
  Lines bids;
  const Rearrange copy(device, line, line, {nullptr, &bids});
  const BidLine* bid = copy.kernel() ? find_bid(bids, copy.kernel()->candidate()) : nullptr;
  return bid && is_a_time(bid->nanoseconds, 2 * static_cast<double>(bytes)) ? bid->nanoseconds : 0;
}

std::string numbers_json(const int64_t* numbers, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string(numbers[i]);
  return "[" + text + "]";
}

std::string loops_json(const RearrangePlan& plan) {
  std::string text;
  for (int i = 0; i < plan.depth; ++i)
    text += (i ? ", " : "") + JsonObject()
                                  .add("extent", plan.loops[i].extent)
                                  .add("dst_step", plan.loops[i].dst_step)
                                  .add("src_step", plan.loops[i].src_step)
                                  .text();
  return "[" + text + "]";
}

template <class Operator>
void take_choice(const Operator& op, Planned& planned) {
  sort_bids(planned.bids);
  if (op.kernel() == nullptr) return;
  planned.candidate = op.kernel()->candidate();
  planned.schedule = op.kernel()->schedule();
}

double operand_bytes(const GemmOperand& operand, int64_t batch, int64_t rows, int64_t columns) {
  return static_cast<double>(operand.batch_step == 0 ? 1 : batch) * static_cast<double>(rows) *
         static_cast<double>(columns) * static_cast<double>(dtype_bytes(operand.dtype));
}

}  // namespace

double compulsory_bytes(const GemmPlan& plan) {
  const auto& [batch, m, n, k, c, a, b] = plan;
  return operand_bytes(a, batch, m, k) + operand_bytes(b, batch, k, n) +
         operand_bytes(c, batch, m, n);
}

std::string layout_json(const Layout& layout) {
  return JsonObject()
      .add("dtype", dtype_name(layout.dtype))
      .add_json("shape", numbers_json(layout.shape, layout.rank))
      .add_json("strides", numbers_json(layout.strides, layout.rank))
      .text();
}

Planned planned(const Rearrange& op) {
  Planned planned;
  const RearrangePlan plan = op.plan();
  const Rearrange again(op.device(), plan, {nullptr, &planned.bids});
  const Runs runs = runs_of(plan);
  planned.picture = picture_of(plan);
  take_choice(op, planned);
  if (op.kernel() != nullptr)
    planned.copy_nanoseconds = copy_nanoseconds(op.device(), moved_bytes(plan));
  planned.json.add_json("loops", loops_json(plan))
      .add("atom_bytes", plan.atom_bytes)
      .add("bytes_written", moved_bytes(plan))
      .add("bytes_read", distinct_source_bytes(plan))
      .add("dst_run_bytes", runs.dst)
      .add("src_run_bytes", runs.src);
  return planned;
}

Planned planned(const Gemm& op) {
  Planned planned;
  const GemmPlan& plan = op.plan();
  planned.bids = op.bids();
  const double flops =
      2.0 * static_cast<double>(plan.batch * plan.m * plan.n) * static_cast<double>(plan.k);
  const double bytes = compulsory_bytes(plan);
  planned.picture = picture_of(plan) +
                    formatted("\n  %-11s %.4g MFLOP, %s at least: %.3g FLOP a byte\n  %-11s %s\n",
                              "work", flops * 1e-6, bytes_text(static_cast<int64_t>(bytes)).c_str(),
                              flops / std::max(bytes, 1.0), "workspace",
                              bytes_text(static_cast<int64_t>(op.workspace_bytes())).c_str());
  take_choice(op, planned);
  planned.json.add("flops", flops).add("bytes", bytes).add("workspace_bytes", op.workspace_bytes());
  return planned;
}

Planned planned(const Operator& op) {
  Planned planned;
  const OperatorPlan& plan = op.plan();
  planned.picture = to_string(plan) + "\n\n";
  take_choice(op, planned);
  planned.json.add("rows", row_count(plan)).add("length", plan.length);
  return planned;
}

std::string choice_lines(const Planned& planned) {
  if (planned.candidate.empty()) return "";
  const std::string words = kernel_words(planned.candidate);
  std::string text =
      "  kernel      " + planned.candidate + (words.empty() ? "" : ": ") + words + "\n";
  const BidLine* const bid = find_bid(planned.bids, planned.candidate);
  if (bid == nullptr || !is_a_time(bid->nanoseconds, 0)) return text;
  text += "  expected    " + time_text(bid->nanoseconds * 1e-9);
  if (planned.copy_nanoseconds > 0)
    text += formatted(", %.2f of a copy's speed", planned.copy_nanoseconds / bid->nanoseconds);
  int others = 0;
  for (const BidLine& other : planned.bids)
    if (&other != bid && is_a_time(other.nanoseconds, 0) && ++others <= 3)
      text += (others == 1 ? "; " : ", ") + other.name + " " + time_text(other.nanoseconds * 1e-9);
  return text + "\n";
}

std::string bid_lines(const Planned& planned) {
  std::string text = "candidates, by the time that each expects\n";
  for (const BidLine& bid : planned.bids)
    text += std::isfinite(bid.nanoseconds)
                ? formatted("  %-14s %12.3f us\n", bid.name.c_str(), bid.nanoseconds * 1e-3)
                : formatted("  %-14s %12s     ", bid.name.c_str(), "cannot") + bid.why_not + "\n";
  return text;
}

JsonObject json_of(const Planned& planned) {
  std::vector<std::string> candidates;
  for (const BidLine& bid : planned.bids) {
    JsonObject one;
    one.add("name", bid.name).add("nanoseconds", bid.nanoseconds);
    if (!bid.why_not.empty()) one.add("why_not", bid.why_not);
    candidates.push_back(one.text());
  }
  JsonObject all = planned.json;
  return all.add("candidate", planned.candidate)
      .add("schedule", planned.schedule)
      .add_json("candidates", json_array(candidates));
}

}  // namespace infini
