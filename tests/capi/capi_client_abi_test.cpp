// What clients of infiniop's operators and of infiniccl were compiled against, written down a second time in plain types:
// numbers, structs and signatures. What changes one of them does not compile here.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "infiniccl.h"
#include "infiniop.h"
#include "infinirt.h"

// The words with which clients declare functions of their own.
__INFINI_C __export int infini_test_declared_by_a_client(void);

namespace {

using Status = infiniStatus_t;
using Handle = InfiniopHandle*;
using Layout = InfiniopTensorDescriptor*;
using Operator = InfiniopDescriptor*;
using Comm = InfinicclComm*;
using Stream = void*;

template <class Function>
constexpr bool is(Function*) {
  return true;
}

static_assert(INFINIRT_RESOURCE_FIELD_NONE == 0 && INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY == 1 &&
              INFINIRT_RESOURCE_FIELD_COMPUTE_UTILIZATION == 2 &&
              INFINIRT_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION == 4 &&
              INFINIRT_RESOURCE_FIELD_KERNEL_TIME_RATIO == 8 &&
              INFINIRT_RESOURCE_FIELD_COMMUNICATION == 16);
static_assert(sizeof(infinirtResourceField_t) == sizeof(int));

// --- operators: what creates, what asks, what runs, what destroys ---

// The same three for every operator, and its handle is the common one.
template <class Descriptor>
constexpr bool has_rest(Status (*)(Descriptor, size_t*), Status (*)(Descriptor)) {
  return std::is_same_v<Descriptor, Operator>;
}
static_assert(has_rest(infiniopGetGemmWorkspaceSize, infiniopDestroyGemmDescriptor));
static_assert(has_rest(infiniopGetRMSNormWorkspaceSize, infiniopDestroyRMSNormDescriptor));
static_assert(has_rest(infiniopGetRoPEWorkspaceSize, infiniopDestroyRoPEDescriptor));
static_assert(has_rest(infiniopGetCausalSoftmaxWorkspaceSize,
                       infiniopDestroyCausalSoftmaxDescriptor));
static_assert(has_rest(infiniopGetSwiGLUWorkspaceSize, infiniopDestroySwiGLUDescriptor));
static_assert(has_rest(infiniopGetRandomSampleWorkspaceSize,
                       infiniopDestroyRandomSampleDescriptor));  // of a batch, too
static_assert(has_rest(infiniopGetAddWorkspaceSize, infiniopDestroyAddDescriptor));
static_assert(has_rest(infiniopGetSubWorkspaceSize, infiniopDestroySubDescriptor));
static_assert(has_rest(infiniopGetMulWorkspaceSize, infiniopDestroyMulDescriptor));
static_assert(has_rest(infiniopGetSiluWorkspaceSize, infiniopDestroySiluDescriptor));
static_assert(has_rest(infiniopGetGeluWorkspaceSize, infiniopDestroyGeluDescriptor));
static_assert(has_rest(infiniopGetReluWorkspaceSize, infiniopDestroyReluDescriptor));
static_assert(has_rest(infiniopGetSigmoidWorkspaceSize, infiniopDestroySigmoidDescriptor));
static_assert(has_rest(infiniopGetCastWorkspaceSize, infiniopDestroyCastDescriptor));
static_assert(has_rest(infiniopGetTopkrouterWorkspaceSize, infiniopDestroyTopkrouterDescriptor));
static_assert(has_rest(infiniopGetDequantizeAWQWorkspaceSize,
                       infiniopDestroyDequantizeAWQDescriptor));

using CreateOfTwo = Status(Handle, Operator*, Layout, Layout);
static_assert(is<CreateOfTwo>(infiniopCreateCausalSoftmaxDescriptor) &&
              is<CreateOfTwo>(infiniopCreateRandomSampleDescriptor) &&
              is<CreateOfTwo>(infiniopCreateRandomSampleBatchDescriptor) &&
              is<CreateOfTwo>(infiniopCreateSiluDescriptor) &&
              is<CreateOfTwo>(infiniopCreateGeluDescriptor) &&
              is<CreateOfTwo>(infiniopCreateReluDescriptor) &&
              is<CreateOfTwo>(infiniopCreateSigmoidDescriptor) &&
              is<CreateOfTwo>(infiniopCreateCastDescriptor) &&
              is<CreateOfTwo>(infiniopCreateTopkrouterDescriptor));
using CreateOfThree = Status(Handle, Operator*, Layout, Layout, Layout);
static_assert(is<CreateOfThree>(infiniopCreateSwiGLUDescriptor) &&
              is<CreateOfThree>(infiniopCreateAddDescriptor) &&
              is<CreateOfThree>(infiniopCreateSubDescriptor) &&
              is<CreateOfThree>(infiniopCreateMulDescriptor));
static_assert(is<Status(Handle, Operator*, Layout, Layout, Layout, Layout)>(
    infiniopCreateDequantizeAWQDescriptor));

using RunOfTwo = Status(Operator, void*, size_t, void*, const void*, Stream);
static_assert(is<RunOfTwo>(infiniopSilu) && is<RunOfTwo>(infiniopGelu) &&
              is<RunOfTwo>(infiniopRelu) && is<RunOfTwo>(infiniopSigmoid) &&
              is<RunOfTwo>(infiniopCast));
using RunOfThree = Status(Operator, void*, size_t, void*, const void*, const void*, Stream);
static_assert(is<RunOfThree>(infiniopSub) && is<RunOfThree>(infiniopMul));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, const void*, const void*,
                        const void*, Stream)>(infiniopRoPE));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, const float*, const float*,
                        const int*, const float*, int, Stream)>(infiniopRandomSampleBatch));
static_assert(is<Status(Operator, void*, size_t, void*, void*, const void*, const void*, float,
                        size_t, Stream)>(infiniopTopkrouter));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, const void*, const void*,
                        Stream)>(infiniopDequantizeAWQ));
static_assert(INFINIOP_ROPE_ALGO_GPT_J == 0 && INFINIOP_ROPE_ALGO_GPT_NEOX == 1 &&
              INFINIOP_ROPE_ALGO_COUNT == 2 && sizeof(infiniopRoPEAlgo_t) == sizeof(int));

// --- infiniccl ---

static_assert(INFINICCL_SUM == 0 && INFINICCL_PROD == 1 && INFINICCL_MAX == 2 &&
              INFINICCL_MIN == 3 && INFINICCL_AVG == 4 &&
              sizeof(infinicclReduceOp_t) == sizeof(int));
static_assert(INFINICCL_UNIQUE_ID_BYTES == 128 && sizeof(infinicclUniqueId_t) == 128 &&
              sizeof(infinicclUniqueId_t::internal) == 128);
static_assert(sizeof(infinicclComm_t) == sizeof(void*));

using Dtype = infiniDtype_t;
using Reduce = infinicclReduceOp_t;
static_assert(is<Status(infiniDevice_t, Comm*, int, const int*)>(infinicclCommInitAll));
static_assert(is<Status(infinicclUniqueId_t*)>(infinicclGetUniqueId));
static_assert(is<Status(Comm*, int, infinicclUniqueId_t, int)>(infinicclCommInitRank));
static_assert(is<Status(Comm)>(infinicclCommDestroy) && is<Status(Comm)>(infinicclGroupStart) &&
              is<Status(Comm)>(infinicclGroupEnd));
static_assert(
    is<Status(void*, void*, size_t, Dtype, Reduce, Comm, Stream)>(infinicclAllReduce) &&
    is<Status(void*, void*, size_t, Dtype, Reduce, Comm, Stream)>(infinicclReduceScatter));
static_assert(is<Status(const void*, void*, size_t, Dtype, int, Comm, Stream)>(infinicclBroadcast));
static_assert(is<Status(const void*, size_t, Dtype, int, Comm, Stream)>(infinicclSend) &&
              is<Status(void*, size_t, Dtype, int, Comm, Stream)>(infinicclRecv));
static_assert(is<Status(void*, void*, size_t, Dtype, Comm, Stream)>(infinicclAllGather));
static_assert(
    is<Status(void*, void*, const size_t*, int, Dtype, Comm, Stream)>(infinicclAllGatherV));
static_assert(is<Status(void*, void*, const size_t*, int, Dtype, Reduce, Comm, Stream)>(
    infinicclReduceScatterV));

// What a client only links against answers, leaves nothing behind and says which function it was.
TEST(ClientAbi, WhatIsOnlyLinkedSaysSo) {
  Handle handle = nullptr;
  ASSERT_EQ(infiniopCreateHandle(&handle), INFINI_STATUS_SUCCESS);
  auto* router = reinterpret_cast<Operator>(1);
  EXPECT_EQ(infiniopCreateTopkrouterDescriptor(handle, &router, nullptr, nullptr),
            INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(router, nullptr);
  EXPECT_STRNE(infiniGetLastErrorString(), "");
  auto* awq = reinterpret_cast<Operator>(1);
  EXPECT_EQ(infiniopCreateDequantizeAWQDescriptor(handle, &awq, nullptr, nullptr, nullptr, nullptr),
            INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(awq, nullptr);
  size_t size = 1;
  EXPECT_EQ(infiniopGetTopkrouterWorkspaceSize(nullptr, &size), INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(
      infiniopTopkrouter(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr, 1, 1, nullptr),
      INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(infiniopDequantizeAWQ(nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr, nullptr),
            INFINI_STATUS_NOT_IMPLEMENTED);
  EXPECT_EQ(infiniopDestroyHandle(handle), INFINI_STATUS_SUCCESS);
}

}  // namespace

// Seen from outside as clients' own exported functions are.
int infini_test_declared_by_a_client(void) { return 0; }
