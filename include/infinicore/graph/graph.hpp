// infinicore/graph/graph.hpp: recorded work that replays without planning, lookup or allocation.
//
//   context::startGraphRecording();
//   Tensor y = op::gemm(x, w);                   // recorded, not run
//   auto graph = context::stopGraphRecording();
//   graph->run();                                // y now holds x·w, for what x holds now
//
// A graph keeps everything it touches alive: operators, inputs, outputs, temporaries, workspaces.
// Replaying gives the bits that running the same operators one by one would give. Recording and
// making the graph run nothing. An operator that reads a rearranged copy may read its source instead,
// and a copy that then nobody reads or sees does not run (docs/tensors.md).
// Threads: recording belongs to the calling thread. Different graphs may run at once; one graph
// runs once at a time, since its runs write the same tensors.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../tensor.hpp"

namespace infinicore {
namespace detail {
class Step;
struct Recording;
}  // namespace detail

namespace graph {

// A tensor that an operator of a graph keeps alive.
class GraphTensor : public Tensor {
 public:
  GraphTensor(const Tensor& tensor) : Tensor(tensor) {}
};

// What a graph does with a tensor's elements; one that writes may read them, too.
enum class Use { none, reads, writes };

// Anything that can be recorded. Derive from it to put work of your own into a graph: it then runs
// on the host between the launches of the recorded device work.
class INFINI_EXPORT GraphOperator {
 public:
  virtual ~GraphOperator();
  virtual void run() const = 0;
  // One line for people.
  virtual std::string describe() const;
  // Whether run() only puts work on this thread's streams, so that a device may capture it. What a client says here is
  // kept for clients that ask; operators of their own run between the captured launches either way.
  virtual bool is_device_graph_capture_safe() const { return step() != nullptr; }
  // The library's own operators: what a graph needs to capture and to rebind them.
  virtual detail::Step* step() const { return nullptr; }
};

// An operator of a client's own that is made of three functions for each kind of device: plan, run and cleanup. See
// ops/common/op.hpp.
class INFINI_EXPORT DispatchableGraphOperator : public GraphOperator {
 public:
  ~DispatchableGraphOperator() override;
  DispatchableGraphOperator(const DispatchableGraphOperator&) = delete;
  DispatchableGraphOperator& operator=(const DispatchableGraphOperator&) = delete;
  void run() const override;

 protected:
  // Runs what was planned.
  using run_schema = void (*)(void* planned);
  // Destroys what was planned.
  using cleanup_schema = void (*)(void** planned);

  DispatchableGraphOperator() = default;
  // Looks the functions up and plans.
  template <class Plans, class Runs, class Cleanups, class... Arguments>
  void dispatch(const Plans& plans, const Runs& runs, const Cleanups& cleanups, Device::Type type,
                Arguments&&... arguments) {
    const auto plan = plans.lookup(type);
    runner_ = runs.lookup(type);
    deleter_ = cleanups.lookup(type);
    if (plan == nullptr || runner_ == nullptr) fail_unregistered(type);
    planned_meta_ = plan(std::forward<Arguments>(arguments)...);
  }

  // What the plan function made.
  void* planned_meta_ = nullptr;
  // What runs it.
  run_schema runner_ = nullptr;
  // What destroys it; null: nothing does.
  cleanup_schema deleter_ = nullptr;

 private:
  [[noreturn]] static void fail_unregistered(Device::Type type);
};

// Recorded work, to be run as often as wanted.
class INFINI_EXPORT Graph {
 public:
  Graph();  // does nothing
  // Made by context::stopGraphRecording().
  explicit Graph(std::unique_ptr<detail::Recording> recording);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Replays on the calling thread's stream of each device. Like the operators themselves it may
  // return before the device is done.
  void run() const;
  // Number of recorded operators.
  std::size_t size() const;
  // What runs how: one line per segment (a captured launch, a list, a step on the host), then one
  // per operator; last the copies that do not run.
  std::string describe() const;

  // By the library's own operators; what a client's own do is not known.
  Use use_of(const Tensor& tensor) const;
  // The same for all memory that they use.
  std::map<const Memory*, Use> memories() const;

  // From now on use `to` wherever the graph uses `from` or a view into it. Both must have the same
  // dtype, shape, strides and device. Refused, with nothing changed, when the graph does not use
  // `from`, or uses memory that lies only partly inside it. The first run after it captures anew.
  void rebind(const Tensor& from, const Tensor& to);
  // Several at once, so that two tensors may change places.
  void rebind(const std::vector<std::pair<Tensor, Tensor>>& changes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace graph
}  // namespace infinicore
