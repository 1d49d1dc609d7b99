// A segment of a graph: consecutive steps at one place, replayed as one captured launch where the
// device can capture and as a list elsewhere; or one operator of the client's own.
#pragma once

#include <string>
#include <vector>

#include "tensor/graph/step.h"

namespace infinicore::detail {

// Whether the step can stand in a captured launch.
bool may_capture(const Step& step);

class Segment {
 public:
  // Of the client's own operator.
  explicit Segment(const graph::GraphOperator& op) : op_(&op) {}
  // For steps like this one; it is not added yet.
  explicit Segment(const Step& step);
  ~Segment();
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&&) = delete;

  bool accepts(const Step& step) const;
  void add(const Step& step) { steps_.push_back(&step); }
  // The lane of each step, see lanes.h; steps that are not captured have one lane.
  std::vector<size_t> lanes() const;
  // Captures if it can; nothing runs.
  void prepare();
  // To be prepared again before the next run.
  void forget_capture();
  void run(void* stream);
  std::string describe() const;
  // Null for the client's own operator.
  infini::Place* place() const { return place_; }

  void* marked_stream = nullptr;  // memory made for other streams knows that this one uses it

 private:
  void capture();

  const graph::GraphOperator* op_ = nullptr;
  infini::Place* place_ = nullptr;
  bool capturable_ = false;
  bool prepared_ = false;
  std::vector<const Step*> steps_;
  void* exec_ = nullptr;  // the device's executable graph
  std::string why_not_;   // capture failed or makes no sense
};

}  // namespace infinicore::detail
