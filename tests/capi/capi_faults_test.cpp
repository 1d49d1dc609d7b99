// Faults: whichever allocation fails, the answer is a status and a message, and the next call works.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/allocation_counter.h"
#include "tests/capi/capi_support.h"

namespace infini::test {
namespace {

template <class Object, class Function>
void destroy(Object object, Function function) {
  if (object != nullptr) {
    EXPECT_OK(function(object));
  }
}

// Everything that a small program makes, and the way to get rid of it.
struct Program {
  infiniopHandle_t handle = nullptr;
  infiniopTensorDescriptor_t src = nullptr, dst = nullptr;
  infiniopRearrangeDescriptor_t op = nullptr;
  infinirtStream_t stream = nullptr;
  infinirtEvent_t event = nullptr;
  void* memory = nullptr;
  infinirtGraph_t graph = nullptr;
  infinirtGraphExec_t exec = nullptr;
  bool capturing = false;

  ~Program() {
    if (capturing) infinirtStreamEndCapture(stream, &graph);
    destroy(exec, infinirtGraphExecDestroy);
    destroy(graph, infinirtGraphDestroy);
    destroy(memory, infinirtFree);
    destroy(event, infinirtEventDestroy);
    destroy(stream, infinirtStreamDestroy);
    destroy(op, infiniopDestroyRearrangeDescriptor);
    destroy(dst, infiniopDestroyTensorDescriptor);
    destroy(src, infiniopDestroyTensorDescriptor);
    destroy(handle, infiniopDestroyHandle);
  }

  // The status of the first call that fails.
  infiniStatus_t run(float* y, float* x) {
    const size_t shape[] = {2, 3};
    const ptrdiff_t transposed[] = {1, 2};
#define STEP(call) \
  if (const infiniStatus_t status = call; status != INFINI_STATUS_SUCCESS) return status
    STEP(infiniopCreateHandle(&handle));
    STEP(infiniopCreateTensorDescriptor(&src, 2, shape, nullptr, INFINI_DTYPE_F32));
    STEP(infiniopCreateTensorDescriptor(&dst, 2, shape, transposed, INFINI_DTYPE_F32));
    STEP(infiniopCreateRearrangeDescriptor(handle, &op, dst, src));
    STEP(infinirtStreamCreate(&stream));
    STEP(infinirtEventCreate(&event));
    STEP(infinirtMalloc(&memory, 100));
    STEP(infiniopRearrange(op, y, x, stream));
    STEP(infiniopRearrange(op, x, x, stream));  // overlap: through temporary memory
    STEP(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL));
    capturing = true;
    STEP(infiniopRearrange(op, y, x, stream));
    STEP(infinirtMemsetAsync(memory, 0, 100, stream));
    STEP(infinirtEventRecord(event, stream));
    STEP(infinirtStreamEndCapture(stream, &graph));
    capturing = false;
    STEP(infinirtGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    STEP(infinirtGraphLaunch(exec, stream));
#undef STEP
    return INFINI_STATUS_SUCCESS;
  }
};

TEST(CapiFaults, EveryAllocationMayFail) {
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {};
    infiniStatus_t status;
    {
      Program program;
      fail_allocation(n);
      status = program.run(y, x);
      fail_allocation(0);
      if (status != INFINI_STATUS_SUCCESS) {
        EXPECT_EQ(INFINI_STATUS_OUT_OF_MEMORY, status) << infiniGetLastErrorString();
        EXPECT_GT(std::strlen(infiniGetLastErrorString()), 5u);
      }
    }
    failures += status != INFINI_STATUS_SUCCESS;
    float again_x[6] = {1, 2, 3, 4, 5, 6}, again_y[6] = {};
    Program again;
    ASSERT_OK(again.run(again_y, again_x)) << "after allocation " << n << " failed";
    ASSERT_EQ(again_x[1], again_y[2]);
    if (status == INFINI_STATUS_SUCCESS) break;
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(failures, 5);
}

}  // namespace
}  // namespace infini::test
