// What a client does when things end: operators in destructors of static and thread_local objects, in
// functions of atexit, and a recording that its thread leaves behind. Linked as a client links.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "infinicore.hpp"
#include "infiniop.h"

using namespace infinicore;

namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  _exit(1);
}

// Works through every part of the C++ layer.
void work(const Tensor& t, const char* where) {
  try {
    const Tensor turned = op::rearrange(t->permute({1, 0}));
    const Tensor product = op::gemm(t, turned);
    float first = 0;
    std::memcpy(&first, product->data(), sizeof first);
    require(first == 4.0f, where);
    context::GraphRecording recording;
    op::gemm_(product, t, turned, 2.0f);
    const auto graph = recording.stop();
    graph->run();
    std::memcpy(&first, product->data(), sizeof first);
    require(first == 8.0f, where);
    context::clearOpCache();
    require(context::getInfiniopHandle() != nullptr && t->desc() != nullptr, where);
  } catch (const std::exception& error) {
    require(false, error.what());
  }
}

struct AtEnd {
  explicit AtEnd(const char* name) : where(name) {}
  ~AtEnd() {
    if (tensor) work(tensor, where);
    std::printf("%s\n", where);
    std::fflush(stdout);
  }
  const char* where;
  Tensor tensor;
};

AtEnd last("a static object");  // made before anything of the library was used
thread_local AtEnd of_main("a thread_local of main");  // made before main's operators
Tensor for_exit;

// An operator of the client's own whose end runs operators.
struct Own : graph::GraphOperator {
  explicit Own(const Tensor& t) : tensor(t) {}
  ~Own() override { work(tensor, "an operator that is dropped"); }
  void run() const override {}
  Tensor tensor;
};

void end_with_operators(const Tensor& t) {
  thread_local AtEnd of_thread("a thread_local of a thread");
  of_thread.tensor = t;
  work(t, "a thread");
}

void leave_a_recording_behind(const Tensor& t) {
  context::startGraphRecording();
  op::rearrange(t);
  context::addGraphOperator(std::make_shared<Own>(t));
}

void use_the_c_api() {
  const size_t shape[] = {2, 3};
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t tensor;
  infiniopRearrangeDescriptor_t rearrange;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {};
  require(infiniopCreateHandle(&handle) == 0, "a handle");
  require(infiniopCreateTensorDescriptor(&tensor, 2, shape, nullptr, INFINI_DTYPE_F32) == 0,
          "a tensor");
  require(infiniopCreateRearrangeDescriptor(handle, &rearrange, tensor, tensor) == 0,
          "an operator");
  require(infiniopRearrange(rearrange, y, x, nullptr) == 0 && y[5] == 6, "a run");
  require(infiniopDestroyRearrangeDescriptor(rearrange) == 0, "its end");
  require(infiniopDestroyTensorDescriptor(tensor) == 0, "the tensor's end");
  require(infiniopDestroyHandle(handle) == 0, "the handle's end");
  work(for_exit, "a function of atexit");
}

}  // namespace

int main() {
  std::atexit(use_the_c_api);
  last.tensor = Tensor::ones({3, 4}, DataType::F32, Device::cpu());
  of_main.tensor = last.tensor;
  for_exit = last.tensor;
  work(last.tensor, "main");
  std::thread(end_with_operators, last.tensor).join();
  std::thread(leave_a_recording_behind, last.tensor).join();
  require(!context::isGraphRecording(), "another thread's recording is not ours");
  work(last.tensor, "main, after a thread");
  std::puts("main ends");
}
