// The C API's objects.
#include "tests/fuzz/objects.h"

#include <algorithm>

#include "tests/fuzz/setting.h"

namespace infini::fuzz {

void expect_success(infiniStatus_t status, const char* call) {
  if (status != INFINI_STATUS_SUCCESS)
    finding(call, std::string(infiniStatusString(status)) + ": " + infiniGetLastErrorString());
}

infiniopHandle_t cpu_handle() {
  static const infiniopHandle_t handle = [] {
    infiniopHandle_t made = nullptr;
    expect_success(infiniopCreateHandle(&made), "infiniopCreateHandle");
    return made;
  }();
  return handle;
}

infiniStatus_t create(TensorDescriptor& desc, const Layout& layout) {
  size_t shape[max_rank];
  ptrdiff_t strides[max_rank];
  std::copy_n(layout.shape, layout.rank, shape);
  std::copy_n(layout.strides, layout.rank, strides);
  return infiniopCreateTensorDescriptor(desc.out(), static_cast<size_t>(layout.rank), shape,
                                        strides, layout.dtype);
}

Queue::Queue(How how) : how_(how) {
  if (how == How::at_once) return;
  expect_success(infinirtStreamCreate(&stream_), "infinirtStreamCreate");
  if (records())
    expect_success(infinirtStreamBeginCapture(stream_, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL),
                   "infinirtStreamBeginCapture");
}

Queue::~Queue() {
  if (stream_ != nullptr) infinirtStreamDestroy(stream_);
}

void Queue::finish() {
  if (!records()) return;
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  expect_success(infinirtStreamEndCapture(stream_, &graph), "infinirtStreamEndCapture");
  expect_success(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0),
                 "infinirtGraphInstantiate");
  expect_success(infinirtGraphDestroy(graph), "infinirtGraphDestroy");
  for (int i = 0; i < 2; ++i)
    expect_success(infinirtGraphLaunch(exec, stream_), "infinirtGraphLaunch");
  expect_success(infinirtStreamSynchronize(stream_), "infinirtStreamSynchronize");
  expect_success(infinirtGraphExecDestroy(exec), "infinirtGraphExecDestroy");
}

}  // namespace infini::fuzz
