// infinicore/ops/common/op.hpp: all that an operator of a client's own is made with.
//
//   INFINICORE_GRAPH_OP_CLASS(Twice, Tensor, const Tensor&)               // in a header: class and dispatchers
//   INFINICORE_GRAPH_OP_DISPATCHERS_IMPL(Twice)                           // once, in a source file
//   Twice::Twice(Tensor y, const Tensor& x) { INFINICORE_GRAPH_OP_DISPATCH(x->device().getType(), y, x) }
//   void Twice::execute(Tensor y, const Tensor& x) { INFINICORE_GRAPH_OP_RECORD_OR_RUN(Twice, y, x) }
//   INFINICORE_GRAPH_OP_REGISTER_ALLDEVICE(Twice, plan, run, cleanup)     // void* plan(...); void run(void*); void cleanup(void**)
//
// The plan is made once, when the operator is recorded, and cleaned up with the graph; run() is called for every replay.
// Names and arguments are those that clients were written with, which is why they are macros.
#pragma once

#include <memory>

#include "../../context/context.hpp"
#include "../../graph/graph.hpp"
#include "cache.hpp"
#include "dispatcher.hpp"

// The class of an operator with these arguments: constructor, execute and one dispatcher for each of its functions.
#define INFINICORE_GRAPH_OP_CLASS(NAME, ...)                                             \
  class NAME : public ::infinicore::graph::DispatchableGraphOperator {                   \
   public:                                                                               \
    using schema = void (*)(__VA_ARGS__);                                                \
    using plan_schema = void* (*)(__VA_ARGS__);                                          \
    static ::infinicore::op::common::OpDispatcher<plan_schema>& plan_dispatcher();       \
    static ::infinicore::op::common::OpDispatcher<run_schema>& run_dispatcher();         \
    static ::infinicore::op::common::OpDispatcher<cleanup_schema>& cleanup_dispatcher(); \
    NAME(__VA_ARGS__);                                                                   \
    static void execute(__VA_ARGS__);                                                    \
  };

// Its dispatchers, once in a program.
#define INFINICORE_GRAPH_OP_DISPATCHERS_IMPL(NAME)                                           \
  ::infinicore::op::common::OpDispatcher<NAME::plan_schema>& NAME::plan_dispatcher() {       \
    static ::infinicore::op::common::OpDispatcher<NAME::plan_schema> all;                    \
    return all;                                                                              \
  }                                                                                          \
  ::infinicore::op::common::OpDispatcher<NAME::run_schema>& NAME::run_dispatcher() {         \
    static ::infinicore::op::common::OpDispatcher<NAME::run_schema> all;                     \
    return all;                                                                              \
  }                                                                                          \
  ::infinicore::op::common::OpDispatcher<NAME::cleanup_schema>& NAME::cleanup_dispatcher() { \
    static ::infinicore::op::common::OpDispatcher<NAME::cleanup_schema> all;                 \
    return all;                                                                              \
  }

// In its constructor: looks up the functions of this kind of device and plans.
#define INFINICORE_GRAPH_OP_DISPATCH(DEVICE_TYPE, ...)                                   \
  this->dispatch(plan_dispatcher(), run_dispatcher(), cleanup_dispatcher(), DEVICE_TYPE, \
                 __VA_ARGS__);

// In execute: makes one, and records it where this thread is recording, else runs it.
#define INFINICORE_GRAPH_OP_RECORD_OR_RUN(NAME, ...)           \
  do {                                                         \
    auto infinicore_op_ = std::make_shared<NAME>(__VA_ARGS__); \
    if (::infinicore::context::isGraphRecording())             \
      ::infinicore::context::addGraphOperator(infinicore_op_); \
    else                                                       \
      infinicore_op_->run();                                   \
  } while (false);

// At namespace scope: these functions for every kind of device that has none yet.
#define INFINICORE_GRAPH_OP_REGISTER_ALLDEVICE(NAME, PLAN, RUN, CLEANUP) \
  static const bool infinicore_registered_##NAME =                       \
      (NAME::plan_dispatcher().registerAll(PLAN, false),                 \
       NAME::run_dispatcher().registerAll(RUN, false),                   \
       NAME::cleanup_dispatcher().registerAll(CLEANUP, false), true);
