// infini reshard: what moves between ranks when a tensor changes its distribution, and how long a network would take.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/dtype.h"
#include "base/error.h"
#include "harness/suggest.h"
#include "harness/text.h"
#include "ops/explain/plan_picture.h"
#include "plan/reshard/reshard_text.h"
#include "plan/reshard/totals.h"
#include "tools/commands.h"
#include "tools/commands/describe_product.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

using harness::JsonObject;

std::string joined(const std::vector<int64_t>& shape) {
  return shape.empty() ? "scalar" : harness::join(shape, 'x');
}

// A number with its unit: 2us, 25GB/s, 8.
double parse_quantity(const std::string& text, const std::string& key) {
  struct Unit {
    const char* name;
    double factor;
  };
  constexpr Unit units[] = {{"", 1},       {"s", 1},      {"ms", 1e-3},  {"us", 1e-6},
                            {"ns", 1e-9},  {"B/s", 1},    {"kB/s", 1e3}, {"MB/s", 1e6},
                            {"GB/s", 1e9}, {"TB/s", 1e12}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  for (const Unit& unit : units)
    if (end != text.c_str() && std::string(end) == unit.name && std::isfinite(number) &&
        number >= 0)
      return number * unit.factor;
  fail(INFINI_STATUS_BAD_PARAM, key, " is \"", text, "\"; expected a number such as 2us or 25GB/s");
}

// Takes the words "key=value" out of `words`.
Network take_network(std::vector<std::string>& words) {
  Network network;
  double node = 0;
  const std::pair<const char*, double*> keys[] = {{"latency", &network.latency},
                                                  {"bandwidth", &network.bandwidth},
                                                  {"node", &node},
                                                  {"inner_latency", &network.inner_latency},
                                                  {"inner_bandwidth", &network.inner_bandwidth},
                                                  {"memory", &network.memory}};
  std::vector<std::string> left, names;
  for (const auto& [name, value] : keys) names.emplace_back(name);
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || word.find(' ') != std::string::npos) {
      left.push_back(word);
      continue;
    }
    const auto* const key = std::find_if(std::begin(keys), std::end(keys), [&](const auto& one) {
      return word.substr(0, equals) == one.first;
    });
    require(key != std::end(keys), INFINI_STATUS_BAD_PARAM, "\"", word,
            "\" is nothing that --simulate knows", harness::did_you_mean_key(word, names));
    *key->second = parse_quantity(word.substr(equals + 1), key->first);
  }
  require(network.bandwidth > 0 && network.inner_bandwidth > 0, INFINI_STATUS_BAD_PARAM,
          "bandwidth is 0; nothing would ever arrive");
  require(node >= 0 && node <= max_reshard_ranks, INFINI_STATUS_BAD_PARAM, "node is ", node,
          "; expected 0..", max_reshard_ranks);
  network.node = static_cast<int>(node);
  words = left;
  return network;
}

void print_side(const char* name, const Placement& side) {
  const auto shape = side.local_shape(0);
  std::printf("  %-11s %d rank%s, of which the first holds %s", name, side.places(),
              side.places() == 1 ? "" : "s", joined(shape).c_str());
  if (side.replicas() > 1) std::printf("; %d replicas", side.replicas());
  std::printf("\n");
}

void print_totals(const ReshardPlan& plan, const ReshardTotals& totals) {
  print_side("source", plan.source());
  print_side("destination", plan.destination());
  std::printf("  %-11s %s in %lld messages; %s stay where they are\n", "wire",
              bytes_text(totals.wire_bytes).c_str(), static_cast<long long>(totals.messages),
              bytes_text(totals.local_bytes).c_str());
  const RankTotals busiest = totals_of(plan, totals.busiest_rank);
  std::printf("  %-11s rank %d sends %s in %lld, receives %s in %lld\n", "busiest",
              totals.busiest_rank, bytes_text(busiest.sent_bytes).c_str(),
              static_cast<long long>(busiest.sends), bytes_text(busiest.received_bytes).c_str(),
              static_cast<long long>(busiest.receives));
}

// The loops of a box, e.g. "32 x 64 x 128 elements".
std::string box_text(const RankPlan& own, const Box& box) {
  std::string text;
  for (size_t i = 0; i < box.loops; ++i)
    text += (i ? "x" : "") + std::to_string(own.loops[box.first_loop + i].extent);
  return text.empty() ? "1" : text;
}

void print_messages(const char* what, const ReshardPlan& plan, const RankPlan& own,
                    const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    std::printf("  %-9s rank %-5d %10s  ", what, message.peer,
                bytes_text(message.elements * dtype_bytes(plan.dtype())).c_str());
    for (size_t i = 0; i < std::min<size_t>(message.boxes, 3); ++i)
      std::printf("%s%s", i ? " + " : "", box_text(own, own.boxes[message.first_box + i]).c_str());
    if (message.boxes > 3) std::printf(" + %zu more", message.boxes - 3);
    std::printf("\n");
  }
}

void print_rank(const ReshardPlan& plan, int rank) {
  const RankPlan own = plan.plan_of(rank);
  std::printf("\nrank %d: %s -> %s\n", rank, joined(plan.src_shape(rank)).c_str(),
              joined(plan.dst_shape(rank)).c_str());
  print_messages("sends", plan, own, own.sends);
  print_messages("receives", plan, own, own.receives);
  if (own.local.elements > 0) print_messages("keeps", plan, own, {own.local});
}

std::string totals_json(const RankTotals& totals) {
  return JsonObject()
      .add("sends", totals.sends)
      .add("receives", totals.receives)
      .add("sent_bytes", totals.sent_bytes)
      .add("received_bytes", totals.received_bytes)
      .add("local_bytes", totals.local_bytes)
      .text();
}

std::string messages_json(const ReshardPlan& plan, const std::vector<Message>& messages) {
  std::vector<std::string> items;
  for (const Message& message : messages)
    items.push_back(JsonObject()
                        .add("peer", message.peer)
                        .add("bytes", message.elements * dtype_bytes(plan.dtype()))
                        .add("boxes", message.boxes)
                        .text());
  return harness::json_array(items);
}

std::string rank_json(const ReshardPlan& plan, int rank) {
  const RankPlan own = plan.plan_of(rank);
  return JsonObject()
      .add("rank", rank)
      .add("src_shape", joined(plan.src_shape(rank)))
      .add("dst_shape", joined(plan.dst_shape(rank)))
      .add_json("totals", totals_json(totals_of(plan, rank)))
      .add_json("sends", messages_json(plan, own.sends))
      .add_json("receives", messages_json(plan, own.receives))
      .text();
}

void print_time(const Network& network, const ReshardTime& time) {
  std::printf("  %-11s %s, by rank %d: latency %s, %s/s", "expected",
              time_text(time.seconds).c_str(), time.slowest_rank,
              time_text(network.latency).c_str(),
              bytes_text(static_cast<int64_t>(network.bandwidth)).c_str());
  if (network.node > 0)
    std::printf("; within %d neighbours %s, %s/s", network.node,
                time_text(network.inner_latency).c_str(),
                bytes_text(static_cast<int64_t>(network.inner_bandwidth)).c_str());
  if (network.memory > 0)
    std::printf("; copies at %s/s", bytes_text(static_cast<int64_t>(network.memory)).c_str());
  std::printf("\n");
}

// One problem: what people read, and the report's JSON.
struct Wish {
  bool explain, simulate;
  int rank;
  Network network;
};

std::string describe(const std::string& text, const Wish& wish) {
  if (text.find('*') != std::string::npos) return describe_product(text, wish.explain, wish.rank);
  const ReshardPlan plan = parse_reshard(text);
  require(wish.rank < plan.ranks(), INFINI_STATUS_BAD_PARAM, "--rank is ", wish.rank,
          "; the plan has ranks 0..", plan.ranks() - 1);
  const ReshardTotals totals = totals_of(plan);
  std::printf("%s\n\n", to_text(plan).c_str());
  print_totals(plan, totals);
  JsonObject json;
  json.add("problem", to_text(plan))
      .add("ranks", plan.ranks())
      .add("messages", totals.messages)
      .add("wire_bytes", totals.wire_bytes)
      .add("local_bytes", totals.local_bytes)
      .add("busiest_rank", totals.busiest_rank)
      .add_json("most", totals_json(totals.most));
  if (wish.simulate) {
    const ReshardTime time = expected_time(plan, wish.network);
    print_time(wish.network, time);
    json.add("expected_seconds", time.seconds).add("slowest_rank", time.slowest_rank);
  }
  if (wish.explain) {
    print_rank(plan, wish.rank);
    json.add_json("rank", rank_json(plan, wish.rank));
  }
  return json.text();
}

}  // namespace

int run_reshard(Arguments& arguments) {
  const ReportFile file(arguments, ReportFile::Prints::nothing);
  Wish wish{};
  wish.explain = arguments.take_flag("--explain");
  wish.simulate = arguments.take_flag("--simulate");
  const int64_t rank = arguments.take_integer("--rank", -1, 0, max_reshard_ranks);
  wish.explain = wish.explain || rank >= 0;
  wish.rank = static_cast<int>(std::max<int64_t>(rank, 0));
  auto words = arguments.rest();
  if (wish.simulate) wish.network = take_network(words);
  require(!words.empty(), INFINI_STATUS_BAD_PARAM,
          "reshard needs a problem, e.g. infini reshard \"f16 4096x4096 (4: block,replicate) -> "
          "(4: replicate,block)\"");
  std::vector<std::string> plans;
  for (const auto& text : words) {
    if (!plans.empty()) std::printf("\n");
    plans.push_back(describe(text, wish));
  }
  file.write(start_report("reshard").add_json("plans", harness::json_array(plans)).text(), true);
  return 0;
}

}  // namespace infini::tools
