// What is behind a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "infinicore/graph/graph.hpp"
#include "tensor/segment.h"
#include "tensor/thread_state.h"

namespace infinicore::graph {

struct Graph::Impl {
  explicit Impl(std::vector<std::shared_ptr<GraphOperator>> operators);

  void run();
  std::string describe() const;
  std::vector<detail::Step*> steps() const;
  void tensors_changed();

  std::vector<std::shared_ptr<GraphOperator>> operators;

 private:
  void add(const GraphOperator& op);
  void share_workspaces();
  void collect_memories();

  std::vector<std::shared_ptr<Memory>> workspaces;
  std::vector<std::shared_ptr<Memory>> memories;  // all that the steps touch, each once
  std::vector<detail::Segment> segments;          // destroyed first: a capture uses the above
};

}  // namespace infinicore::graph
