// Finding the messages of one rank: products of the rows of each dim's table, so that nobody looks at ranks that share nothing.
#include "plan/reshard/exchange.h"

#include <algorithm>

namespace infini {
namespace {

// The ranks that hold one combination of source parts, and what leaves them: the streams to all destination ranks that are not
// among them, one after the other by destination parts and replica.
class SourceClass {
 public:
  SourceClass(const ReshardPlan& plan, const int* parts)
      : plan_(plan), parts_(parts), replicas_(plan.source().replicas()) {
    total_ = plan.destination().replicas();
    for (int dim = 0; dim < plan.dims(); ++dim)
      total_ *= plan.source().cut(dim).part_size(parts[dim]);
    if (replicas_ == 1) return;
    for (int replica = 0; replica < replicas_; ++replica) take_member(replica);
    std::sort(kept_.begin(), kept_.end(),
              [](const Kept& a, const Kept& b) { return a.before < b.before; });
  }

  // Where the stream to a destination begins among all that leave.
  int64_t begin_of(const int* destination, int replica, int64_t elements) const {
    const int64_t before = before_all(destination, replica, elements);
    int64_t begin = before;
    for (const Kept& kept : kept_) {
      if (kept.before >= before) break;
      begin -= kept.elements;
    }
    return begin;
  }

  // Shares: replica i has [share_begin(i), share_begin(i + 1)).
  int64_t share_begin(int replica) const {
    return total_ / replicas_ * replica + std::min<int64_t>(replica, total_ % replicas_);
  }
  int share_of(int64_t element) const {
    const int64_t length = total_ / replicas_, longer = total_ % replicas_;
    if (element < longer * (length + 1)) return static_cast<int>(element / (length + 1));
    return static_cast<int>(longer + (element - longer * (length + 1)) / length);
  }
  int64_t share() const { return total_ / replicas_; }
  int replicas() const { return replicas_; }
  const int* parts() const { return parts_; }

 private:
  struct Kept {  // a stream that stays where it is
    int64_t before, elements;
  };

  int64_t before_all(const int* destination, int replica, int64_t elements) const {
    int64_t before = 0, outer = 1;
    for (int dim = 0; dim < plan_.dims(); ++dim) {
      const Meeting meeting = plan_.overlap(dim).meeting(parts_[dim], destination[dim]);
      before = before * plan_.source().cut(dim).part_size(parts_[dim]) + outer * meeting.before;
      outer *= meeting.count;
    }
    return before * plan_.destination().replicas() + replica * elements;
  }

  void take_member(int replica) {
    const int rank = plan_.source().rank_at(plan_.source().place_at(parts_, replica));
    const int place = plan_.destination().place_of(rank);
    if (place < 0) return;
    int destination[max_reshard_rank];
    plan_.destination_parts(place, destination);
    int64_t elements = 1;
    for (int dim = 0; dim < plan_.dims(); ++dim)
      elements *= plan_.overlap(dim).meeting(parts_[dim], destination[dim]).count;
    if (elements == 0) return;
    kept_.push_back(
        {before_all(destination, plan_.destination().replica_at(place), elements), elements});
    total_ -= elements;
  }

  const ReshardPlan& plan_;
  const int* parts_;
  int replicas_;
  int64_t total_ = 1;
  std::vector<Kept> kept_;
};

// Elements of the inner loops of a box, as many of these as have no more than `most` together.
int64_t inner_elements(int dims, const Pattern* const* chosen, int64_t most) {
  int64_t unit = 1;
  for (int dim = dims; dim-- > 0;)
    for (int level = chosen[dim]->depth; level-- > 0;) {
      const int64_t extent = chosen[dim]->levels[level].extent;
      if (extent > most / unit) return unit;
      unit *= extent;
    }
  return unit;
}

}  // namespace

int64_t round_cut(const ReshardPlan& plan, const Exchange& exchange, int64_t position,
                  int64_t most) {
  Patterns patterns;
  patterns.take(plan, exchange);
  int64_t passed = 0, rounded = position;
  patterns.each_box(plan.dims(), [&](const Pattern* const* chosen, int64_t elements) {
    if (position > passed && position < passed + elements) {
      const int64_t unit = inner_elements(plan.dims(), chosen, most);
      rounded = passed + (position - passed) / unit * unit;
    }
    passed += elements;
  });
  return rounded;
}

namespace {

// The part of a stream of `elements`, which begins at `begin` among what leaves the class, that `replica` sends.
void set_range(const ReshardPlan& plan, const SourceClass& source, int replica, int64_t begin,
               int64_t elements, Exchange& exchange) {
  const auto cut = [&](int64_t position) {
    if (position <= 0) return int64_t{0};
    // Never by more than a sixteenth of a share.
    return position >= elements
               ? elements
               : round_cut(plan, exchange, position, std::max<int64_t>(source.share() / 16, 1));
  };
  exchange.begin = cut(source.share_begin(replica) - begin);
  exchange.end = cut(source.share_begin(replica + 1) - begin);
}

bool same_parts(const ReshardPlan& plan, const int* a, const int* b) {
  return std::equal(a, a + plan.dims(), b);
}

// Does a rank hold the class with these parts?
bool holds(const ReshardPlan& plan, int rank, const int* parts) {
  const int place = plan.source().place_of(rank);
  if (place < 0) return false;
  int own[max_reshard_rank];
  plan.source().parts_at(place, own);
  return same_parts(plan, own, parts);
}

// visit(parts, elements) for all combinations of one meeting from each row.
template <class Visit>
void each_combination(int dims, const std::span<const Meeting>* rows, Visit&& visit) {
  for (int dim = 0; dim < dims; ++dim)
    if (rows[dim].empty()) return;
  size_t at[max_reshard_rank] = {};
  int parts[max_reshard_rank];
  while (true) {
    int64_t elements = 1;
    for (int dim = 0; dim < dims; ++dim) {
      parts[dim] = rows[dim][at[dim]].part;
      elements *= rows[dim][at[dim]].count;
    }
    visit(parts, elements);
    int dim = dims - 1;
    while (dim >= 0 && ++at[dim] == rows[dim].size()) at[dim--] = 0;
    if (dim < 0) return;
  }
}

}  // namespace

void Patterns::take(const ReshardPlan& plan, const Exchange& exchange) {
  all.clear();
  for (int i = 0; i < plan.dims(); ++i) {
    const int dim = plan.wire_order()[static_cast<size_t>(i)];
    first[i] = static_cast<int>(all.size());
    plan.overlap(dim).append_patterns(exchange.source_parts[dim], exchange.destination_parts[dim],
                                      all);
    count[i] = static_cast<int>(all.size()) - first[i];
  }
}

void append_sends(const ReshardPlan& plan, int rank, std::vector<Exchange>& out) {
  const int place = plan.source().place_of(rank);
  if (place < 0) return;
  Exchange exchange;
  plan.source().parts_at(place, exchange.source_parts);
  const int replica = plan.source().replica_at(place);
  const SourceClass source(plan, exchange.source_parts);
  std::span<const Meeting> rows[max_reshard_rank];
  for (int dim = 0; dim < plan.dims(); ++dim)
    rows[dim] = plan.overlap(dim).of_source(exchange.source_parts[dim]);
  int64_t position = 0;
  each_combination(plan.dims(), rows, [&](const int* parts, int64_t elements) {
    std::copy_n(parts, plan.dims(), exchange.destination_parts);
    for (int to = 0; to < plan.destination().replicas(); ++to) {
      exchange.peer = plan.destination().rank_at(plan.destination_place(parts, to));
      if (holds(plan, exchange.peer, exchange.source_parts)) continue;
      exchange.begin = 0;
      exchange.end = elements;
      if (source.replicas() > 1) set_range(plan, source, replica, position, elements, exchange);
      if (exchange.begin < exchange.end) out.push_back(exchange);
      position += elements;
    }
  });
}

void append_receives(const ReshardPlan& plan, int rank, std::vector<Exchange>& out) {
  const int place = plan.destination().place_of(rank);
  if (place < 0) return;
  Exchange exchange;
  plan.destination_parts(place, exchange.destination_parts);
  const int to = plan.destination().replica_at(place);
  std::span<const Meeting> rows[max_reshard_rank];
  for (int dim = 0; dim < plan.dims(); ++dim)
    rows[dim] = plan.overlap(dim).of_destination(exchange.destination_parts[dim]);
  each_combination(plan.dims(), rows, [&](const int* parts, int64_t elements) {
    if (holds(plan, rank, parts)) return;
    std::copy_n(parts, plan.dims(), exchange.source_parts);
    const auto add = [&](int replica) {
      exchange.peer = plan.source().rank_at(plan.source().place_at(parts, replica));
      if (exchange.begin < exchange.end) out.push_back(exchange);
    };
    exchange.begin = 0;
    exchange.end = elements;
    if (plan.source().replicas() == 1) return add(0);
    const SourceClass source(plan, exchange.source_parts);
    const int64_t begin = source.begin_of(exchange.destination_parts, to, elements);
    for (int from = source.share_of(begin); from <= source.share_of(begin + elements - 1); ++from) {
      set_range(plan, source, from, begin, elements, exchange);
      add(from);
    }
  });
}

bool local_exchange(const ReshardPlan& plan, int rank, Exchange& out) {
  const int from = plan.source().place_of(rank), to = plan.destination().place_of(rank);
  if (from < 0 || to < 0) return false;
  plan.source().parts_at(from, out.source_parts);
  plan.destination_parts(to, out.destination_parts);
  out.peer = rank;
  out.begin = 0;
  out.end = 1;
  for (int dim = 0; dim < plan.dims(); ++dim)
    out.end *= plan.overlap(dim).meeting(out.source_parts[dim], out.destination_parts[dim]).count;
  return out.end > 0;
}

}  // namespace infini
