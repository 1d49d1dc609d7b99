// Segments: capturing and replaying.
#include "tensor/graph/segment.h"

#include <utility>

#include "tensor/graph/capture.h"
#include "tensor/graph/lanes.h"

namespace infinicore::detail {
namespace {

bool is_cpu(const infini::Place& place) { return place.device.kind() == INFINI_DEVICE_CPU; }

}  // namespace

bool may_capture(const Step& step) { return step.can_capture() && !is_cpu(step.place()); }

Segment::Segment(const Step& step) : place_(&step.place()), capturable_(may_capture(step)) {
  if (!capturable_) why_not_ = is_cpu(step.place()) ? "" : "waits for the host";
}

Segment::Segment(Segment&& other) noexcept
    : marked_stream(other.marked_stream),
      op_(other.op_),
      place_(other.place_),
      capturable_(other.capturable_),
      prepared_(other.prepared_),
      steps_(std::move(other.steps_)),
      exec_(std::exchange(other.exec_, nullptr)),
      why_not_(std::move(other.why_not_)) {}

Segment::~Segment() { forget_capture(); }

bool Segment::accepts(const Step& step) const {
  return place_ == &step.place() && capturable_ == may_capture(step);
}

// A launch may still be running: what it uses must not go before it is done.
void Segment::forget_capture() {
  prepared_ = false;
  if (exec_ == nullptr) return;
  try {
    place_->device.make_current();
    place_->device.synchronize();
    place_->device.destroy_graph_exec(exec_);
  } catch (...) {  // also called by the destructor
  }
  exec_ = nullptr;
}

std::vector<size_t> Segment::lanes() const {
  std::vector<size_t> result;
  if (capturable_)
    for (const LaneStep& step : plan_lanes(steps_)) result.push_back(step.lane);
  else
    result.resize(steps_.size());
  return result;
}

void Segment::prepare() {
  prepared_ = true;
  if (!capturable_ || exec_ != nullptr) return;
  try {
    capture();
  } catch (const Error& error) {  // the list gives the same results
    why_not_ = error.what();
  }
}

void Segment::capture() {
  infini::Device& device = place_->device;
  device.make_current();
  void* graph = capture_steps(device, steps_);
  try {
    exec_ = device.instantiate_graph(graph);
  } catch (...) {
    device.destroy_graph(graph);
    throw;
  }
  device.destroy_graph(graph);
}

void Segment::run(void* stream) {
  if (op_ != nullptr) return op_->run();
  if (!prepared_) prepare();
  if (exec_ != nullptr) {
    place_->device.make_current();
    return place_->device.launch_graph(exec_, stream);
  }
  for (const Step* step : steps_) step->run(stream);
}

std::string Segment::describe() const {
  if (op_ != nullptr) return "host: 1 operator, called\n  " + op_->describe() + "\n";
  const infini::Device& device = place_->device;
  std::string text = std::string(infini::device_kind_name(device.kind())) + ":" +
                     std::to_string(device.id()) + ": " + counted(steps_.size(), "operator") +
                     ", " + (exec_ ? "one captured launch" : "run one by one");
  if (!exec_ && !why_not_.empty()) text += " (" + why_not_ + ")";
  text += "\n";
  for (const Step* step : steps_)
    text += "  " + step->describe() + (step->reads_through ? ", reads through a copy\n" : "\n");
  return text;
}

}  // namespace infinicore::detail
