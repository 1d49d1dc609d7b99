// Every function of the C API times every pointer that is no live object of its kind: NULL, destroyed, of
// another kind, never a handle. And every function that makes something, when it cannot.
//
// The two tables must name every exported function that takes or makes a handle, so that a new one
// cannot be forgotten.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <set>

#include "tests/capi_support.h"

namespace infini::test {
namespace {

constexpr auto ok = INFINI_STATUS_SUCCESS;
constexpr auto bad = INFINI_STATUS_BAD_PARAM;
constexpr auto null = INFINI_STATUS_NULL_POINTER;
constexpr auto global_mode = INFINIRT_STREAM_CAPTURE_MODE_GLOBAL;

enum Kind {
  a_handle,
  a_tensor,
  a_rearrange,
  a_batch,
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

  void add(const char* name, std::set<Kind> wants, infiniStatus_t of_null,
           std::function<infiniStatus_t(void*)> call) {
    rows.push_back({name, std::move(wants), of_null, std::move(call)});
  }
  void add_operators();
  void add_runtime();
  void add_graphs();
};

void Tables::add_operators() {
  const auto handle = [](void* p) { return static_cast<infiniopHandle_t>(p); };
  const auto tensor = [](void* p) { return static_cast<infiniopTensorDescriptor_t>(p); };
  const auto op = [](void* p) { return static_cast<InfiniopDescriptor*>(p); };
  const infiniopHandle_t h = live.handle();
  const infiniopTensorDescriptor_t t = live.tensor();
  const auto made = reinterpret_cast<InfiniopDescriptor**>(&out);
  const std::set<Kind> any_operator = {a_rearrange, a_batch, a_gemm};
  add("infiniopDestroyHandle", {a_handle}, ok,
      [=](void* p) { return infiniopDestroyHandle(handle(p)); });
  add("infiniopDestroyTensorDescriptor", {a_tensor}, ok,
      [=](void* p) { return infiniopDestroyTensorDescriptor(tensor(p)); });
  add("infiniopGetTensorDescriptorRank", {a_tensor}, null,
      [=, this](void* p) { return infiniopGetTensorDescriptorRank(tensor(p), &size); });
  add("infiniopGetTensorDescriptorShape", {a_tensor}, null,
      [=, this](void* p) { return infiniopGetTensorDescriptorShape(tensor(p), numbers, 2); });
  add("infiniopGetTensorDescriptorStrides", {a_tensor}, null,
      [=, this](void* p) { return infiniopGetTensorDescriptorStrides(tensor(p), strides, 2); });
  add("infiniopGetTensorDescriptorDtype", {a_tensor}, null,
      [=, this](void* p) { return infiniopGetTensorDescriptorDtype(tensor(p), &dtype); });
  add("infiniopGetDescriptorDeviceType", any_operator, null,
      [=, this](void* p) { return infiniopGetDescriptorDeviceType(op(p), &device); });
  add("infiniopGetDescriptorDeviceId", any_operator, null,
      [=, this](void* p) { return infiniopGetDescriptorDeviceId(op(p), &id); });

  add("infiniopCreateRearrangeDescriptor", {a_handle}, null,
      [=](void* p) { return infiniopCreateRearrangeDescriptor(handle(p), made, t, t); });
  add("infiniopCreateRearrangeDescriptor", {a_tensor}, null,
      [=](void* p) { return infiniopCreateRearrangeDescriptor(h, made, tensor(p), t); });
  add("infiniopCreateRearrangeDescriptor", {a_tensor}, null,
      [=](void* p) { return infiniopCreateRearrangeDescriptor(h, made, t, tensor(p)); });
  add("infiniopRearrange", {a_rearrange}, null,
      [=, this](void* p) { return infiniopRearrange(op(p), y, x, nullptr); });
  add("infiniopRearrange", {a_stream}, ok,
      [=, this](void* p) { return infiniopRearrange(live.operator_of(a_rearrange), y, x, p); });
  add("infiniopDestroyRearrangeDescriptor", {a_rearrange}, ok,
      [=](void* p) { return infiniopDestroyRearrangeDescriptor(op(p)); });

  const auto batch = [=](void* of_handle, void* dst, void* src) {
    const infiniopTensorDescriptor_t to[] = {tensor(dst)}, from[] = {tensor(src)};
    return infiniopCreateRearrangeBatchDescriptor(handle(of_handle), made, 1, to, from);
  };
  const auto run_batch = [=, this](void* p, void* stream) {
    void* to[] = {y};
    const void* from[] = {x};
    return infiniopRearrangeBatch(op(p), 1, to, from, stream);
  };
  add("infiniopCreateRearrangeBatchDescriptor", {a_handle}, null,
      [=](void* p) { return batch(p, t, t); });
  add("infiniopCreateRearrangeBatchDescriptor", {a_tensor}, null,
      [=](void* p) { return batch(h, p, t); });
  add("infiniopCreateRearrangeBatchDescriptor", {a_tensor}, null,
      [=](void* p) { return batch(h, t, p); });
  add("infiniopRearrangeBatch", {a_batch}, null, [=](void* p) { return run_batch(p, nullptr); });
  add("infiniopRearrangeBatch", {a_stream}, ok,
      [=, this](void* p) { return run_batch(live.of[a_batch], p); });
  add("infiniopDestroyRearrangeBatchDescriptor", {a_batch}, ok,
      [=](void* p) { return infiniopDestroyRearrangeBatchDescriptor(op(p)); });

  const auto gemm = [=](void* of_handle, void* c, void* a, void* b) {
    return infiniopCreateGemmDescriptor(handle(of_handle), made, tensor(c), tensor(a), tensor(b));
  };
  const auto gemm_with = [=](void* of_handle, void* c, void* a, void* b) {
    return infiniopCreateGemmDescriptorWithOptions(handle(of_handle), made, tensor(c), tensor(a),
                                                   tensor(b), nullptr);
  };
  const auto run_gemm = [=, this](void* p, void* stream) {
    return infiniopGemm(op(p), nullptr, 0, z, x, y, 1, 0, stream);
  };
  add("infiniopCreateGemmDescriptor", {a_handle}, null, [=](void* p) { return gemm(p, t, t, t); });
  add("infiniopCreateGemmDescriptor", {a_tensor}, null, [=](void* p) { return gemm(h, p, t, t); });
  add("infiniopCreateGemmDescriptor", {a_tensor}, null, [=](void* p) { return gemm(h, t, p, t); });
  add("infiniopCreateGemmDescriptor", {a_tensor}, null, [=](void* p) { return gemm(h, t, t, p); });
  add("infiniopCreateGemmDescriptorWithOptions", {a_handle}, null,
      [=](void* p) { return gemm_with(p, t, t, t); });
  add("infiniopCreateGemmDescriptorWithOptions", {a_tensor}, null,
      [=](void* p) { return gemm_with(h, p, t, t); });
  add("infiniopCreateGemmDescriptorWithOptions", {a_tensor}, null,
      [=](void* p) { return gemm_with(h, t, p, t); });
  add("infiniopCreateGemmDescriptorWithOptions", {a_tensor}, null,
      [=](void* p) { return gemm_with(h, t, t, p); });
  add("infiniopGetGemmWorkspaceSize", {a_gemm}, null,
      [=, this](void* p) { return infiniopGetGemmWorkspaceSize(op(p), &size); });
  add("infiniopGemm", {a_gemm}, null, [=](void* p) { return run_gemm(p, nullptr); });
  add("infiniopGemm", {a_stream}, ok, [=, this](void* p) { return run_gemm(live.of[a_gemm], p); });
  add("infiniopDestroyGemmDescriptor", {a_gemm}, ok,
      [=](void* p) { return infiniopDestroyGemmDescriptor(op(p)); });
}

void Tables::add_runtime() {
  void *const stream = live.of[a_stream], *const event = live.of[an_event];
  add("infinirtStreamDestroy", {a_stream}, ok, infinirtStreamDestroy);
  add("infinirtStreamSynchronize", {a_stream}, ok, infinirtStreamSynchronize);
  add("infinirtStreamWaitEvent", {a_stream}, ok,
      [=](void* p) { return infinirtStreamWaitEvent(p, event); });
  add("infinirtStreamWaitEvent", {an_event}, null,
      [=](void* p) { return infinirtStreamWaitEvent(stream, p); });
  add("infinirtEventRecord", {an_event}, null,
      [=](void* p) { return infinirtEventRecord(p, stream); });
  add("infinirtEventRecord", {a_stream}, ok,
      [=](void* p) { return infinirtEventRecord(event, p); });
  add("infinirtEventQuery", {an_event}, null,
      [this](void* p) { return infinirtEventQuery(p, &status); });
  add("infinirtEventSynchronize", {an_event}, null, infinirtEventSynchronize);
  add("infinirtEventDestroy", {an_event}, ok, infinirtEventDestroy);
  add("infinirtEventElapsedTime", {an_event}, null,
      [=, this](void* p) { return infinirtEventElapsedTime(&ms, p, event); });
  add("infinirtEventElapsedTime", {an_event}, null,
      [=, this](void* p) { return infinirtEventElapsedTime(&ms, event, p); });
  add("infinirtFree", {}, ok, infinirtFree);
  add("infinirtFreeHost", {}, ok, infinirtFreeHost);
  add("infinirtFreeAsync", {}, ok, [=](void* p) { return infinirtFreeAsync(p, stream); });
  add("infinirtFreeAsync", {a_stream}, ok, [](void* p) {
    void* memory = nullptr;
    EXPECT_OK(infinirtMalloc(&memory, 8));
    const infiniStatus_t answer = infinirtFreeAsync(memory, p);
    if (answer != ok) {
      EXPECT_OK(infinirtFree(memory));
    }
    return answer;
  });
  add("infinirtMallocAsync", {a_stream}, ok, [](void* p) {
    void* memory = nullptr;
    const infiniStatus_t answer = infinirtMallocAsync(&memory, 8, p);
    EXPECT_EQ(answer == ok, memory != nullptr);
    EXPECT_OK(infinirtFree(memory));
    return answer;
  });
  add("infinirtMemcpyAsync", {a_stream}, ok,
      [this](void* p) { return infinirtMemcpyAsync(y, x, 4, INFINIRT_MEMCPY_D2D, p); });
  add("infinirtMemsetAsync", {a_stream}, ok,
      [this](void* p) { return infinirtMemsetAsync(y, 0, 4, p); });
}

void Tables::add_graphs() {
  void *const stream = live.of[a_stream], *const exec = live.of[an_exec];
  add("infinirtStreamBeginCapture", {a_stream}, bad,
      [](void* p) { return infinirtStreamBeginCapture(p, global_mode); });
  add("infinirtStreamEndCapture", {a_stream}, bad,
      [this](void* p) { return infinirtStreamEndCapture(p, &out); });
  add("infinirtGraphDestroy", {a_graph}, ok, infinirtGraphDestroy);
  add("infinirtGraphInstantiate", {a_graph}, null,
      [this](void* p) { return infinirtGraphInstantiate(&out, p, nullptr, nullptr, 0); });
  add("infinirtGraphExecDestroy", {an_exec}, ok, infinirtGraphExecDestroy);
  add("infinirtGraphLaunch", {an_exec}, null,
      [=](void* p) { return infinirtGraphLaunch(p, stream); });
  add("infinirtGraphLaunch", {a_stream}, ok, [=](void* p) { return infinirtGraphLaunch(exec, p); });
  add("infinirtGraphLuanch", {an_exec}, null,
      [=](void* p) { return infinirtGraphLuanch(p, stream); });
  add("infinirtGraphLuanch", {a_stream}, ok, [=](void* p) { return infinirtGraphLuanch(exec, p); });
}

TEST(CapiHandles, WhatIsNoLiveObjectOfTheRightKindIsRefusedEverywhere) {
  Tables tables;
  tables.add_operators();
  tables.add_runtime();
  tables.add_graphs();
  Objects destroyed;
  destroyed.destroy();
  alignas(64) char zeros[256] = {};
  for (const Row& row : tables.rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.of_null, row.call(nullptr)) << infiniGetLastErrorString();
    for (int kind = 0; kind < kinds; ++kind) {
      EXPECT_EQ(bad, row.call(destroyed.of[kind])) << "destroyed, kind " << kind;
      if (row.wants.count(static_cast<Kind>(kind)) == 0) {
        EXPECT_EQ(bad, row.call(tables.live.of[kind])) << "alive, kind " << kind;
      }
    }
    for (const intptr_t address : {1, 2, 3, 8, 64, 4032, -1, -64})
      EXPECT_EQ(bad, row.call(reinterpret_cast<void*>(address))) << address;
    EXPECT_EQ(bad, row.call(zeros));
  }
  EXPECT_OK(infiniopRearrange(tables.live.operator_of(a_rearrange), tables.y, tables.x, nullptr));
  tables.live.destroy();  // nothing above destroyed one of these
}

struct Maker {
  const char* name;
  std::function<infiniStatus_t(void**)> fails;
};

TEST(CapiHandles, WhatCannotBeMadeIsNull) {
  Objects objects;
  const size_t shape[] = {2, 2}, huge[] = {SIZE_MAX, SIZE_MAX};
  const auto tensor = [](void** p) { return reinterpret_cast<infiniopTensorDescriptor_t*>(p); };
  const auto handle = [](void** p) { return reinterpret_cast<infiniopHandle_t*>(p); };
  const auto op = [](void** p) { return reinterpret_cast<InfiniopDescriptor**>(p); };
  const infiniopHandle_t h = objects.handle();
  const infiniopTensorDescriptor_t t = objects.tensor();
  const Tensor other({3, 3, 3, 3});
  const auto dead = static_cast<infiniopHandle_t>(objects.of[an_event]);
  const auto no_stream = objects.of[an_event];
  const Maker makers[] = {
      {"infiniopCreateHandle", {}},  // cannot fail on the CPU
      {"infiniopCreateHandleForDevice",
       [=](void** p) { return infiniopCreateHandleForDevice(handle(p), INFINI_DEVICE_CPU, 7); }},
      {"infiniopCreateTensorDescriptor",
       [=](void** p) {
         return infiniopCreateTensorDescriptor(tensor(p), 2, huge, nullptr, INFINI_DTYPE_F32);
       }},
      {"infiniopCreateTensorDescriptor",
       [=](void** p) {
         return infiniopCreateTensorDescriptor(tensor(p), 2, shape, nullptr, INFINI_DTYPE_INVALID);
       }},
      {"infiniopCreateRearrangeDescriptor",
       [&](void** p) { return infiniopCreateRearrangeDescriptor(h, op(p), t, other.desc); }},
      {"infiniopCreateRearrangeBatchDescriptor",
       [=](void** p) { return infiniopCreateRearrangeBatchDescriptor(dead, op(p), 1, &t, &t); }},
      {"infiniopCreateGemmDescriptor",
       [&](void** p) { return infiniopCreateGemmDescriptor(h, op(p), t, t, other.desc); }},
      {"infiniopCreateGemmDescriptorWithOptions",
       [=](void** p) {
         const infiniopGemmOptions_t options = {};
         return infiniopCreateGemmDescriptorWithOptions(h, op(p), t, t, t, &options);
       }},
      {"infinirtStreamCreate", {}},
      {"infinirtEventCreate", {}},
      {"infinirtEventCreateWithFlags",
       [](void** p) { return infinirtEventCreateWithFlags(p, 77); }},
      {"infinirtMalloc", [](void** p) { return infinirtMalloc(p, SIZE_MAX / 2); }},
      {"infinirtMallocHost", [](void** p) { return infinirtMallocHost(p, SIZE_MAX / 2); }},
      {"infinirtMallocAsync", [=](void** p) { return infinirtMallocAsync(p, 8, no_stream); }},
      {"infinirtStreamEndCapture",
       [&](void** p) { return infinirtStreamEndCapture(objects.of[a_stream], p); }},
      {"infinirtGraphInstantiate",
       [=](void** p) { return infinirtGraphInstantiate(p, nullptr, nullptr, nullptr, 0); }},
  };
  for (const Maker& maker : makers) {
    SCOPED_TRACE(maker.name);
    if (!maker.fails) continue;
    void* made = &made;
    EXPECT_NE(ok, maker.fails(&made));
    EXPECT_EQ(nullptr, made);
    EXPECT_EQ(null, maker.fails(nullptr));
  }
  EXPECT_EQ(null, infiniopCreateHandle(nullptr));
  EXPECT_EQ(null, infinirtStreamCreate(nullptr));
  EXPECT_EQ(null, infinirtEventCreate(nullptr));
  objects.destroy();
}

// What neither takes nor makes an object that lives longer than the call.
const std::set<std::string> without_handles = {"infiniGetLastErrorString",
                                               "infiniGetNumThreads",
                                               "infiniSetNumThreads",
                                               "infiniStatusString",
                                               "infiniVersionString",
                                               "infinirtDescribeDevice",
                                               "infinirtDeviceSynchronize",
                                               "infinirtGetAllDeviceCount",
                                               "infinirtGetDevice",
                                               "infinirtGetDeviceCount",
                                               "infinirtGetDeviceResourceSnapshot",
                                               "infinirtGetMemInfo",
                                               "infinirtInit",
                                               "infinirtMemcpy",
                                               "infinirtMemset",
                                               "infinirtSetDevice"};
const std::set<std::string> makers_only = {
    "infiniopCreateHandle", "infiniopCreateHandleForDevice", "infiniopCreateTensorDescriptor",
    "infinirtEventCreate",  "infinirtEventCreateWithFlags",  "infinirtMalloc",
    "infinirtMallocHost",   "infinirtStreamCreate"};

TEST(CapiHandles, EveryExportedFunctionIsInTheTables) {
  Tables tables;
  tables.add_operators();
  tables.add_runtime();
  tables.add_graphs();
  std::set<std::string> known = without_handles;
  known.insert(makers_only.begin(), makers_only.end());
  for (const Row& row : tables.rows) known.insert(row.name);
  std::ifstream list(EXPORTED_SYMBOLS);
  int found = 0;
  for (std::string name; std::getline(list, name);) {
    if (name.empty() || name[0] == '#') continue;
    EXPECT_EQ(1u, known.count(name)) << name << " is missing in the tables of this file";
    ++found;
  }
  EXPECT_GT(found, 50);
  tables.live.destroy();
}

}  // namespace
}  // namespace infini::test
