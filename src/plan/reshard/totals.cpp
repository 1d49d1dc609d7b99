// Counting what ranks do without making their boxes.
#include "plan/reshard/totals.h"

#include <algorithm>

#include "base/dtype.h"
#include "plan/reshard/exchange.h"

namespace infini {
namespace {

// One after the other in each direction.
struct WireTime {
  double send = 0, receive = 0;
};

double message_seconds(const Network& network, int a, int b, double bytes) {
  const bool near = network.node > 0 && a / network.node == b / network.node;
  return near ? network.inner_latency + bytes / network.inner_bandwidth
              : network.latency + bytes / network.bandwidth;
}

WireTime wire_time(const ReshardPlan& plan, const Network& network, int rank,
                   const RankTotals& totals) {
  if (network.node == 0)
    return {static_cast<double>(totals.sends) * network.latency +
                static_cast<double>(totals.sent_bytes) / network.bandwidth,
            static_cast<double>(totals.receives) * network.latency +
                static_cast<double>(totals.received_bytes) / network.bandwidth};
  const auto sum = [&](auto append) {
    std::vector<Exchange> exchanges;
    append(plan, rank, exchanges);
    double seconds = 0;
    for (const Exchange& one : exchanges)
      seconds +=
          message_seconds(network, rank, one.peer,
                          static_cast<double>((one.end - one.begin) * dtype_bytes(plan.dtype())));
    return seconds;
  };
  return {sum(append_sends), sum(append_receives)};
}

// Without replicas nobody has to be asked: products of what the tables say.
void count_products(const ReshardPlan& plan, int rank, RankTotals& totals) {
  const int from = plan.source().place_of(rank), to = plan.destination().place_of(rank);
  int parts[max_reshard_rank];
  const int64_t size = dtype_bytes(plan.dtype()), kept = totals.local_bytes > 0 ? 1 : 0;
  if (from >= 0) {
    plan.source().parts_at(from, parts);
    totals.sends = plan.destination().replicas();
    totals.sent_bytes = plan.destination().replicas() * size;
    for (int dim = 0; dim < plan.dims(); ++dim) {
      totals.sends *= static_cast<int64_t>(plan.overlap(dim).of_source(parts[dim]).size());
      totals.sent_bytes *= plan.source().cut(dim).part_size(parts[dim]);
    }
    totals.sends -= kept;
    totals.sent_bytes -= totals.local_bytes;
  }
  if (to >= 0) {
    plan.destination_parts(to, parts);
    totals.receives = 1;
    totals.received_bytes = size;
    for (int dim = 0; dim < plan.dims(); ++dim) {
      const auto row = plan.overlap(dim).of_destination(parts[dim]);
      totals.receives *= static_cast<int64_t>(row.size());
      totals.received_bytes *= row.empty() ? 0 : row.back().before + row.back().count;
    }
    totals.receives -= kept;
    totals.received_bytes -= totals.local_bytes;
  }
}

void take_most(RankTotals& most, const RankTotals& one) {
  most.sends = std::max(most.sends, one.sends);
  most.receives = std::max(most.receives, one.receives);
  most.sent_bytes = std::max(most.sent_bytes, one.sent_bytes);
  most.received_bytes = std::max(most.received_bytes, one.received_bytes);
  most.local_bytes = std::max(most.local_bytes, one.local_bytes);
}

}  // namespace

RankTotals totals_of(const ReshardPlan& plan, int rank) {
  RankTotals totals;
  const int64_t size = dtype_bytes(plan.dtype());
  Exchange local;
  if (local_exchange(plan, rank, local)) totals.local_bytes = local.end * size;
  if (plan.source().replicas() == 1) {
    count_products(plan, rank, totals);
    return totals;
  }
  std::vector<Exchange> exchanges;
  append_sends(plan, rank, exchanges);
  totals.sends = static_cast<int64_t>(exchanges.size());
  for (const Exchange& one : exchanges) totals.sent_bytes += (one.end - one.begin) * size;
  exchanges.clear();
  append_receives(plan, rank, exchanges);
  totals.receives = static_cast<int64_t>(exchanges.size());
  for (const Exchange& one : exchanges) totals.received_bytes += (one.end - one.begin) * size;
  return totals;
}

ReshardTotals totals_of(const ReshardPlan& plan) {
  ReshardTotals all;
  int64_t busiest = -1;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const RankTotals one = totals_of(plan, rank);
    all.messages += one.receives;
    all.wire_bytes += one.received_bytes;
    all.local_bytes += one.local_bytes;
    take_most(all.most, one);
    const int64_t bytes = std::max(one.sent_bytes, one.received_bytes);
    if (bytes > busiest) {
      busiest = bytes;
      all.busiest_rank = rank;
    }
  }
  return all;
}

ReshardTime expected_time(const ReshardPlan& plan, const Network& network) {
  ReshardTime time;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    const RankTotals totals = totals_of(plan, rank);
    const WireTime wire = wire_time(plan, network, rank, totals);
    const double copied =
        static_cast<double>(totals.sent_bytes + totals.received_bytes + totals.local_bytes);
    const double copy = network.memory > 0 ? copied / network.memory : 0;
    const double seconds = std::max({wire.send, wire.receive, copy});
    time.wire_seconds = std::max({time.wire_seconds, wire.send, wire.receive});
    time.copy_seconds = std::max(time.copy_seconds, copy);
    if (seconds > time.seconds) time.slowest_rank = rank;
    time.seconds = std::max(time.seconds, seconds);
  }
  return time;
}

}  // namespace infini
