// What a graph runs of what was recorded: a step that reads a copy may read the copy's source
// instead, so that it need not wait for it; a copy that nobody reads any more need not run.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "tensor/graph/step.h"

namespace infinicore::detail {

using Operators = std::vector<std::shared_ptr<graph::GraphOperator>>;
using Memories = std::set<const Memory*>;

// The library's own memory that nothing but these operators holds: what they write there is seen by
// themselves alone. Empty when one of them is of the client's own, who may know any address.
Memories hidden_memories(const Operators& recorded);

struct PlannedStep {
  const graph::GraphOperator* op;  // as recorded
  Step* step;                      // what runs; null for an operator of the client's own
  std::unique_ptr<Step> own;       // null: the recorded one runs
  bool dropped = false;            // or nothing does
};

// As recorded.
std::vector<PlannedStep> take_as_recorded(const Operators& recorded);

// Law: running the steps that are not dropped, in their order, leaves the same bits as running the
// recorded ones, in all memory but the hidden.
// A step reads through a copy when both hold the same elements at that point (nothing has written to
// the copy or to its source since) and the step says that it would compute the same bits. That is
// done where the step then runs beside the copy (in a captured launch) or instead of it (where the
// copy is hidden). Dropped are copies that were read, of which all readers now read elsewhere, if
// nobody can see them: they are hidden, or a later copy overwrites them.
std::vector<PlannedStep> read_through_copies(const Operators& recorded, const Memories& hidden);

}  // namespace infinicore::detail
