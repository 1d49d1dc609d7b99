// What a graph runs: its steps in segments, with the memory they need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/graph/read_through.h"
#include "tensor/graph/segment.h"

namespace infinicore::detail {

// Made anew when the tensors of the recorded steps have changed. Making one runs nothing and changes
// nothing, so that another one goes on as before when it fails.
class Program {
 public:
  explicit Program(std::vector<PlannedStep> planned);

  // Gives the steps their workspaces: from now on this program is the one that runs.
  void take_over() noexcept;
  // Captures what can be captured; else the first run does.
  void prepare();
  // On the calling thread's streams.
  void run();
  // One paragraph per segment, then the copies that do not run.
  std::string describe() const;

 private:
  struct Workspace {
    infini::Place* place;
    size_t lane, bytes;
    std::vector<Step*> steps;
    std::shared_ptr<Memory> memory;
  };

  void add(const PlannedStep& planned);
  void share_workspaces();
  void collect_memories();

  std::vector<PlannedStep> planned_;
  std::vector<Step*> steps_;  // that run, in their order
  std::vector<Workspace> workspaces_;
  std::vector<std::shared_ptr<Memory>> memories_;  // all that the steps touch, each once
  std::vector<Segment> segments_;                  // destroyed first: a capture uses the above
};

}  // namespace infinicore::detail
