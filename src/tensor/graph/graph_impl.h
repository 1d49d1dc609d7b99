// What is behind a graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infinicore/graph/graph.hpp"
#include "tensor/graph/program.h"

namespace infinicore::graph {

struct Graph::Impl {
  explicit Impl(detail::Operators recorded);

  void run();
  std::string describe() const;
  Use use_of(const Tensor& tensor) const;
  std::map<const Memory*, Use> memories() const;
  void rebind(const std::vector<std::pair<Tensor, Tensor>>& changes);

  detail::Operators operators;

 private:
  void make_program();

  bool read_through;
  detail::Memories hidden;  // found once: nobody can get hold of it later
  std::unique_ptr<detail::Program> program;
};

}  // namespace infinicore::graph
