// Products over ranks in words.
#include "tools/commands/describe_product.h"

#include <cstdio>

#include "base/error.h"
#include "harness/text.h"
#include "ops/explain/plan_picture.h"
#include "plan/reshard/reshard_text.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

using harness::JsonObject;

// The first k of a run as the whole matrix counts them.
int64_t global_k(const Cut& cut, int part, int64_t local) {
  if (!cut.cyclic())
    return (cut.bounds.empty() ? 0 : cut.bounds[static_cast<size_t>(part)]) + local;
  return local / cut.block * cut.turn() + part * cut.block + local % cut.block;
}

std::string panel_text(const ProductPlan& plan, const Panel& panel) {
  const int64_t first = global_k(plan.a().cut(1), panel.a_part, plan.runs_of(panel)->a);
  if (panel.runs == 1 && !plan.a().cut(1).cyclic())
    return "k " + std::to_string(first) + ".." + std::to_string(first + panel.k - 1);
  return std::to_string(panel.k) + " of k from " + std::to_string(first) + " on";
}

std::string from_text(int from, int rank) {
  return from == rank ? "here" : "from rank " + std::to_string(from);
}

void print_rank(const ProductPlan& plan, int rank) {
  const RankProduct own = plan.plan_of(rank);
  const auto c = plan.c_shape(rank);
  std::printf("\nrank %d: C %lldx%lld\n", rank, static_cast<long long>(c[0]),
              static_cast<long long>(c[1]));
  size_t sent = 0;
  for (size_t i = 0; i < plan.panels().size(); ++i) {
    std::printf("  step %-4zu ", i);
    if (own.steps.empty()) {
      std::printf("nothing to multiply");
    } else {
      const ProductStep& step = own.steps[i];
      std::printf("%s, A %s, B %s",
                  panel_text(plan, plan.panels()[static_cast<size_t>(step.panel)]).c_str(),
                  from_text(step.a_from, rank).c_str(), from_text(step.b_from, rank).c_str());
    }
    for (; sent < own.sends.size() && own.sends[sent].step == static_cast<int>(i); ++sent)
      std::printf("; %s to rank %d", own.sends[sent].factor == Factor::a ? "A" : "B",
                  own.sends[sent].peer);
    std::printf("\n");
  }
}

}  // namespace

std::string describe_product(const std::string& text, bool explain, int rank) {
  const ProductPlan plan = parse_product(text);
  require(rank < plan.ranks(), INFINI_STATUS_BAD_PARAM, "--rank is ", rank,
          "; the plan has ranks 0..", plan.ranks() - 1);
  ProductTraffic all, most;
  for (int i = 0; i < plan.ranks(); ++i) {
    const ProductTraffic one = traffic_of(plan, i);
    all.sends += one.sends;
    all.sent_bytes += one.sent_bytes;
    if (one.received_bytes > most.received_bytes) most = one;
  }
  std::printf("%s\n\n", to_text(plan).c_str());
  std::printf("  %-11s %zu panels of at most %lld k\n", "steps", plan.panels().size(),
              static_cast<long long>(plan.panel()));
  std::printf("  %-11s %s in %lld messages\n", "wire", bytes_text(all.sent_bytes).c_str(),
              static_cast<long long>(all.sends));
  std::printf("  %-11s a rank receives %s in %lld messages\n", "at most",
              bytes_text(most.received_bytes).c_str(), static_cast<long long>(most.receives));
  if (explain) print_rank(plan, rank);
  return JsonObject()
      .add("problem", to_text(plan))
      .add("ranks", plan.ranks())
      .add("steps", plan.panels().size())
      .add("messages", all.sends)
      .add("wire_bytes", all.sent_bytes)
      .add("most_received_bytes", most.received_bytes)
      .text();
}

}  // namespace infini::tools
