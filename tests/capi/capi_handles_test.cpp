// Every function of the C API times every pointer that is no live object of its kind: NULL, destroyed, of
// another kind, never a handle. And every function that makes something, when it cannot.
//
// The tables must name every exported function that takes or makes a handle, so that a new one cannot be
// forgotten.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/capi/capi_handle_tables.h"

namespace infini::test {
namespace {

TEST(CapiHandles, WhatIsNoLiveObjectOfTheRightKindIsRefusedEverywhere) {
  Tables tables;
  alignas(64) char zeros[256] = {};
  for (const Row& row : tables.rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(row.of_null, row.call(nullptr)) << infiniGetLastErrorString();
    Objects destroyed;  // only now: others that a call makes must not have taken their places
    destroyed.destroy();
    for (int kind = 0; kind < kinds; ++kind)
      EXPECT_EQ(bad, row.call(destroyed.of[kind])) << "destroyed, kind " << kind;
    for (int kind = 0; kind < kinds; ++kind) {
      if (row.wants.count(static_cast<Kind>(kind)) == 0) {
        EXPECT_EQ(bad, row.call(tables.live.of[kind])) << "alive, kind " << kind;
      }
    }
    for (void* object : tables.further_destroyed) EXPECT_EQ(bad, row.call(object)) << "destroyed";
    const bool takes_any_operator = row.wants.size() > 1;
    for (void* object : tables.further) {
      if (row.takes_operators && tables.operators.count(object) != 0) continue;
      if (object != row.own && !takes_any_operator) {
        EXPECT_EQ(bad, row.call(object)) << infiniGetLastErrorString();
      }
    }
    for (const intptr_t address : {1, 2, 3, 8, 64, 4032, -1, -64})
      EXPECT_EQ(bad, row.call(reinterpret_cast<void*>(address))) << address;
    EXPECT_EQ(bad, row.call(zeros));
  }
  EXPECT_OK(infiniopRearrange(tables.live.operator_of(a_rearrange), tables.y, tables.x, nullptr));
  tables.destroy();  // nothing above destroyed one of these
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
      {"infinicclCommInitRank",
       [=](void** p) {
         return infinicclCommInitRank(reinterpret_cast<infinicclComm_t*>(p), 2, {}, 2);
       }},
      {"infinicclCommInitAll",
       [=](void** p) {
         const int id = 7;
         return infinicclCommInitAll(INFINI_DEVICE_CPU, reinterpret_cast<infinicclComm_t*>(p), 1,
                                     &id);
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
const std::set<std::string> without_handles = {"infiniDeviceFromName",
                                               "infiniDeviceName",
                                               "infiniDtypeFromName",
                                               "infiniDtypeName",
                                               "infiniDtypeSize",
                                               "infiniGetLastErrorString",
                                               "infiniGetNumThreads",
                                               "infiniSetExecutor",
                                               "infiniSetNumThreads",
                                               "infiniopOperatorAbout",
                                               "infiniopOperatorName",
                                               "infiniopOperatorOperands",
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
                                               "infinirtSetDevice",
                                               "infinicclGetUniqueId"};
// Refused, whatever they are given.
const std::set<std::string> not_implemented = {"infiniopCreateTopkrouterDescriptor",
                                               "infiniopGetTopkrouterWorkspaceSize",
                                               "infiniopTopkrouter",
                                               "infiniopDestroyTopkrouterDescriptor",
                                               "infiniopCreateDequantizeAWQDescriptor",
                                               "infiniopGetDequantizeAWQWorkspaceSize",
                                               "infiniopDequantizeAWQ",
                                               "infiniopDestroyDequantizeAWQDescriptor"};
const std::set<std::string> makers_only = {"infinicclCommInitAll",
                                           "infinicclCommInitRank",
                                           "infiniopCreateHandle",
                                           "infiniopCreateHandleForDevice",
                                           "infiniProductCreatePlan",
                                           "infiniReshardCreatePlan",
                                           "infiniReshardCreatePlanOf",
                                           "infiniopCreateTensorDescriptor",
                                           "infinirtEventCreate",
                                           "infinirtEventCreateWithFlags",
                                           "infinirtMalloc",
                                           "infinirtMallocHost",
                                           "infinirtStreamCreate"};

TEST(CapiHandles, EveryExportedFunctionIsInTheTables) {
  Tables tables;
  std::set<std::string> known = without_handles;
  known.insert(makers_only.begin(), makers_only.end());
  known.insert(not_implemented.begin(), not_implemented.end());
  for (const Row& row : tables.rows) known.insert(row.name);
  std::ifstream list(EXPORTED_SYMBOLS);
  int found = 0;
  for (std::string name; std::getline(list, name);) {
    if (name.empty() || name[0] == '#') continue;
    EXPECT_EQ(1u, known.count(name)) << name << " is missing in the tables of this file";
    ++found;
  }
  EXPECT_GT(found, 50);
  tables.destroy();
}

}  // namespace
}  // namespace infini::test
