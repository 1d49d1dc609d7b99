// Every function of the C API that takes a handle, with each of its handles in turn left open: what the
// tests of wrong handles go through.
#pragma once

#include <functional>
#include <set>

#include "infini.h"
#include "infiniccl.h"
#include "infiniproduct.h"
#include "infinireshard.h"
#include "tests/capi/capi_support.h"

namespace infini::test {

constexpr auto ok = INFINI_STATUS_SUCCESS;
constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr auto null = INFINI_STATUS_NULL_POINTER;
constexpr auto global_mode = INFINIRT_STREAM_CAPTURE_MODE_GLOBAL;

enum Kind {
  a_handle,
  a_tensor,
  a_rearrange,
  a_batch,
  a_paged,
  a_between,
  a_gemm,
  a_stream,
  an_event,
  a_graph,
  an_exec
};
constexpr int kinds = an_exec + 1;

// One live object of each kind.
struct Objects {
  void* of[kinds] = {};

  Objects() {
    const size_t shape[] = {2, 2};
    const auto handle = reinterpret_cast<infiniopHandle_t*>(&of[a_handle]);
    const auto tensor = reinterpret_cast<infiniopTensorDescriptor_t*>(&of[a_tensor]);
    const auto op = [&](Kind kind) { return reinterpret_cast<InfiniopDescriptor**>(&of[kind]); };
    EXPECT_OK(infiniopCreateHandle(handle));
    EXPECT_OK(infiniopCreateTensorDescriptor(tensor, 2, shape, nullptr, INFINI_DTYPE_F32));
    EXPECT_OK(infiniopCreateRearrangeDescriptor(*handle, op(a_rearrange), *tensor, *tensor));
    EXPECT_OK(infiniopCreateRearrangeBatchDescriptor(*handle, op(a_batch), 1, tensor, tensor));
    EXPECT_OK(
        infiniopCreateRearrangePagedDescriptor(*handle, op(a_paged), *tensor, *tensor, nullptr));
    EXPECT_OK(infiniopCreateRearrangeBetweenDescriptor(*handle, op(a_between), *tensor, *tensor,
                                                       INFINIRT_MEMCPY_H2D));
    EXPECT_OK(infiniopCreateGemmDescriptor(*handle, op(a_gemm), *tensor, *tensor, *tensor));
    EXPECT_OK(infinirtStreamCreate(&of[a_stream]));
    EXPECT_OK(infinirtEventCreate(&of[an_event]));
    EXPECT_OK(infinirtEventRecord(of[an_event], nullptr));
    EXPECT_OK(infinirtStreamBeginCapture(of[a_stream], global_mode));
    EXPECT_OK(infinirtStreamEndCapture(of[a_stream], &of[a_graph]));
    EXPECT_OK(infinirtGraphInstantiate(&of[an_exec], of[a_graph], nullptr, nullptr, 0));
  }
  void destroy() {
    EXPECT_OK(infinirtGraphExecDestroy(of[an_exec]));
    EXPECT_OK(infinirtGraphDestroy(of[a_graph]));
    EXPECT_OK(infinirtEventDestroy(of[an_event]));
    EXPECT_OK(infinirtStreamDestroy(of[a_stream]));
    EXPECT_OK(infiniopDestroyGemmDescriptor(operator_of(a_gemm)));
    EXPECT_OK(infiniopDestroyRearrangeBetweenDescriptor(operator_of(a_between)));
    EXPECT_OK(infiniopDestroyRearrangePagedDescriptor(operator_of(a_paged)));
    EXPECT_OK(infiniopDestroyRearrangeBatchDescriptor(operator_of(a_batch)));
    EXPECT_OK(infiniopDestroyRearrangeDescriptor(operator_of(a_rearrange)));
    EXPECT_OK(infiniopDestroyTensorDescriptor(tensor()));
    EXPECT_OK(infiniopDestroyHandle(handle()));
  }
  infiniopHandle_t handle() const { return static_cast<infiniopHandle_t>(of[a_handle]); }
  infiniopTensorDescriptor_t tensor() const {
    return static_cast<infiniopTensorDescriptor_t>(of[a_tensor]);
  }
  InfiniopDescriptor* operator_of(Kind kind) const {
    return static_cast<InfiniopDescriptor*>(of[kind]);
  }
};

// One argument of one function: what it wants, what it says of NULL, and the call with another pointer
// in its place.
struct Row {
  const char* name;
  std::set<Kind> wants;
  infiniStatus_t of_null;
  std::function<infiniStatus_t(void*)> call;
  const void* own = nullptr;     // a further object that it wants
  bool takes_operators = false;  // all of Tables::operators
};

struct Tables {
  Objects live;
  std::vector<Row> rows;
  float x[4] = {}, y[4] = {}, z[4] = {}, ms = 0;
  infiniDevice_t device;
  int id;
  size_t size = 0, numbers[2];
  ptrdiff_t strides[2];
  infiniDtype_t dtype;
  infinirtEventStatus_t status;
  void* out = nullptr;
  alignas(64) char workspace[4096];

  void add(const char* name, std::set<Kind> wants, infiniStatus_t of_null,
           std::function<infiniStatus_t(void*)> call) {
    rows.push_back({name, std::move(wants), of_null, std::move(call)});
  }
  Tables();
  void destroy();

  std::vector<void*> further, further_destroyed;  // of the kinds that have no name here
  std::set<const void*> operators;                // of them, elementwise and row operators

 private:
  // Of an operator that has the four functions that all have: `run` takes descriptor and stream.
  template <class Create, class Run>
  void add_operator(const char* const (&names)[4], Create create,
                    infiniStatus_t (*workspace)(InfiniopDescriptor*, size_t*), Run run,
                    infiniStatus_t (*destroy)(InfiniopDescriptor*));
  void add_operators();
  void add_pages();
  void add_between();
  void add_one_call();
  void add_runtime();
  void add_graphs();
  void add_elementwise();
  void add_row_operators();
  void add_operators_by_name();
  void add_collectives();
  void add_reshardings();
  void add_products();

  std::vector<std::function<infiniStatus_t()>> ends_;
};

}  // namespace infini::test
