// Who exchanges what with whom: the messages of one rank as parts and ranges, before any memory is looked at.
//
// The elements that two ranks share form a stream: the boxes of their patterns in wire order. Where the source has replicas
// they deal out what leaves their class in equal shares; a share may end inside a stream, which then comes from several.
#pragma once

#include "plan/reshard/reshard_plan.h"

namespace infini {

struct Exchange {
  int peer;
  int source_parts[max_reshard_rank],
      destination_parts[max_reshard_rank];  // both by dims of the source
  int64_t begin, end;                       // of the stream, in elements
};

// What `rank` sends to others and what it receives from others, nothing empty.
void append_sends(const ReshardPlan& plan, int rank, std::vector<Exchange>& out);
void append_receives(const ReshardPlan& plan, int rank, std::vector<Exchange>& out);
// What it has already; false: nothing.
bool local_exchange(const ReshardPlan& plan, int rank, Exchange& out);

// A cut of a stream at `position`, moved back by less than `most` elements so that it lies between whole inner loops where these
// have no more than `most`: whoever packs up to it then has few boxes.
int64_t round_cut(const ReshardPlan& plan, const Exchange& exchange, int64_t position,
                  int64_t most);

// The patterns of every dim, in wire order.
struct Patterns {
  std::vector<Pattern> all;
  int count[max_reshard_rank], first[max_reshard_rank];
  void take(const ReshardPlan& plan, const Exchange& exchange);
  // visit(one pattern for each dim in wire order, elements) for every box of the stream.
  template <class Visit>
  void each_box(int dims, Visit&& visit) const {
    int at[max_reshard_rank] = {};
    const Pattern* chosen[max_reshard_rank];
    for (int i = 0; i < dims; ++i)
      if (count[i] == 0) return;
    while (true) {
      int64_t elements = 1;
      for (int i = 0; i < dims; ++i) {
        chosen[i] = &all[static_cast<size_t>(first[i] + at[i])];
        elements *= element_count(*chosen[i]);
      }
      visit(chosen, elements);
      int i = dims - 1;
      while (i >= 0 && ++at[i] == count[i]) at[i--] = 0;
      if (i < 0) return;
    }
  }
};

}  // namespace infini
