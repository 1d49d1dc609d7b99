// Telling what prepared operators will do.
#include "ops/planned.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/dtype.h"
#include "base/paragraph.h"
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

// Some lists of candidates are still ordered by rules, and bid their rank. No accelerator does anything in a few
// nanoseconds, and nothing moves 4 TB a second.
bool is_a_time(double nanoseconds, infiniDevice_t kind, double bytes = 0) {
  const double least = kind == INFINI_DEVICE_CPU ? 1 : 15;
  return std::isfinite(nanoseconds) && nanoseconds >= std::max(least, bytes / 4000) &&
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
  const bool known =
      bid && is_a_time(bid->nanoseconds, device.kind(), 2 * static_cast<double>(bytes));
  return known ? bid->nanoseconds : 0;
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
  planned.kind = op.device().kind();
  if (op.kernel() == nullptr) return;
  planned.candidate = op.kernel()->candidate();
  planned.schedule = op.kernel()->schedule();
}

double factor_bytes(const GemmOperand& operand, int64_t batch, int64_t rows, int64_t columns) {
  return static_cast<double>(operand.batch_step == 0 ? 1 : batch) * static_cast<double>(rows) *
         static_cast<double>(columns) * static_cast<double>(dtype_bytes(operand.dtype));
}

// "tiles 12 us", or the name alone; on one line.
std::string bid_text(const BidLine& bid, infiniDevice_t kind) {
  if (!is_a_time(bid.nanoseconds, kind)) return bid.name;
  std::string text = bid.name + " " + time_text(bid.nanoseconds * 1e-9);
  std::replace(text.begin(), text.end(), ' ', unbroken_space);
  return text;
}

// "48 FLOP", "50.3 MFLOP".
std::string flops_text(double flops) {
  constexpr const char* units[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < std::size(units); ++unit) flops /= 1000;
  return formatted("%.4g %sFLOP", flops, units[unit]);
}

std::string expected_line(const Planned& planned) {
  const BidLine* const bid = find_bid(planned.bids, planned.candidate);
  const double copy = planned.copy_nanoseconds;
  if (bid == nullptr)
    return copy > 0 ? labelled("at best", time_text(copy * 1e-9) + ", as a copy of as many bytes")
                    : "";
  if (!is_a_time(bid->nanoseconds, planned.kind)) return "";
  const std::string share =
      copy > 0            ? formatted(", %.2f of a copy's speed", copy / bid->nanoseconds)
      : planned.flops > 0 ? ", " + flops_text(planned.flops / bid->nanoseconds * 1e9) + "/s"
                          : "";
  return labelled("expected", time_text(bid->nanoseconds * 1e-9) + share);
}

// What the other candidates would take, and why some cannot; those with one reason stand together.
std::string other_lines(const Planned& planned) {
  std::string able;
  std::vector<std::pair<std::string, std::string>> unable;  // names, reason
  for (const BidLine& bid : planned.bids) {
    if (bid.name == planned.candidate) continue;
    if (std::isfinite(bid.nanoseconds)) {
      able += (able.empty() ? "" : ", ") + bid_text(bid, planned.kind);
      continue;
    }
    const auto same = std::find_if(unable.begin(), unable.end(),
                                   [&](const auto& each) { return each.second == bid.why_not; });
    if (same == unable.end())
      unable.emplace_back(bid.name, bid.why_not);
    else
      same->first += ", " + bid.name;
  }
  std::string text = able.empty() ? "" : labelled("others", able);
  for (size_t i = 0; i < unable.size(); ++i)
    text += labelled(i == 0 ? "cannot" : "", unable[i].first + ": " + unable[i].second);
  return text;
}

}  // namespace

double compulsory_bytes(const GemmPlan& plan) {
  const auto& [batch, m, n, k, c, a, b] = plan;
  return factor_bytes(a, batch, m, k) + factor_bytes(b, batch, k, n) + factor_bytes(c, batch, m, n);
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
  planned.flops = flops;
  planned.picture =
      picture_of(plan) + "\n" +
      labelled("work",
               flops_text(flops) + ", " + bytes_text(static_cast<int64_t>(bytes)) +
                   " at least: " + formatted("%.3g FLOP a byte", flops / std::max(bytes, 1.0))) +
      labelled("workspace", bytes_text(static_cast<int64_t>(op.workspace_bytes())));
  take_choice(op, planned);
  planned.json.add("flops", flops).add("bytes", bytes).add("workspace_bytes", op.workspace_bytes());
  return planned;
}

Planned planned(const Operator& op) {
  Planned planned;
  const OperatorPlan& plan = op.plan();
  const Operator again(op.device(), plan, {nullptr, &planned.bids});
  planned.picture = picture_of(plan);
  take_choice(op, planned);
  int64_t read = 0;
  for (int k = 1; k < plan.operands; ++k) read += operand_bytes(plan, k);
  const int64_t written = operand_bytes(plan, 0);
  // A copy reads and writes each byte.
  if (op.kernel() != nullptr)
    planned.copy_nanoseconds = copy_nanoseconds(op.device(), (read + written + 1) / 2);
  planned.json.add("rows", row_count(plan))
      .add("length", plan.length)
      .add("bytes_written", written)
      .add("bytes_read", read);
  return planned;
}

std::string choice_lines(const Planned& planned) {
  if (planned.candidate.empty()) return "";
  const std::string words = kernel_words(planned.candidate);
  return labelled("kernel", planned.candidate + (words.empty() ? "" : ": ") + words) +
         expected_line(planned) + other_lines(planned);
}

std::string bid_lines(const Planned& planned) {
  if (planned.bids.empty()) return "no other candidate\n";
  std::string text = "candidates, by the time that each expects\n";
  for (const BidLine& bid : planned.bids) {
    const bool can = std::isfinite(bid.nanoseconds),
               known = is_a_time(bid.nanoseconds, planned.kind);
    const std::string time = !can ? "cannot" : known ? time_text(bid.nanoseconds * 1e-9) : "can";
    text += paragraph(formatted("  %-14s %8s   ", bid.name.c_str(), time.c_str()),
                      can ? kernel_words(bid.name) : bid.why_not);
  }
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
