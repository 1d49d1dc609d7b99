// The C ABI as clients were compiled against it: every number, every struct's places and every signature, written
// down a second time in plain types. What changes one of them does not compile here; exported_symbols.txt has the names.
#include <gtest/gtest.h>

#include <string>

#include <cstddef>
#include <cstdint>

#include "infini.h"
#include "infiniop.h"
#include "infinirt.h"

namespace {

using Status = infiniStatus_t;
using Kind = infiniDevice_t;
using Handle = InfiniopHandle*;
using Layout = InfiniopTensorDescriptor*;
using Operator = InfiniopDescriptor*;

template <class Function>
constexpr bool is(Function*) {
  return true;
}  // chooses among overloads by the type; addresses are no constants where sanitizers ask for them

static_assert(sizeof(Status) == sizeof(int) && sizeof(Kind) == sizeof(int) &&
              sizeof(infiniDtype_t) == sizeof(int));

static_assert(INFINI_STATUS_SUCCESS == 0 && INFINI_STATUS_INTERNAL_ERROR == 1 &&
              INFINI_STATUS_NOT_IMPLEMENTED == 2);
static_assert(INFINI_STATUS_BAD_PARAM == 3 && INFINI_STATUS_NULL_POINTER == 4);
static_assert(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED == 5 && INFINI_STATUS_DEVICE_NOT_FOUND == 6);
static_assert(INFINI_STATUS_DEVICE_NOT_INITIALIZED == 7 &&
              INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED == 8);
static_assert(INFINI_STATUS_BAD_TENSOR_DTYPE == 10 && INFINI_STATUS_BAD_TENSOR_SHAPE == 11);
static_assert(INFINI_STATUS_BAD_TENSOR_STRIDES == 12 &&
              INFINI_STATUS_INSUFFICIENT_WORKSPACE == 13 && INFINI_STATUS_OUT_OF_MEMORY == 14);

static_assert(INFINI_DEVICE_CPU == 0 && INFINI_DEVICE_NVIDIA == 1 && INFINI_DEVICE_CAMBRICON == 2);
static_assert(INFINI_DEVICE_ASCEND == 3 && INFINI_DEVICE_METAX == 4 && INFINI_DEVICE_MOORE == 5);
static_assert(INFINI_DEVICE_ILUVATAR == 6 && INFINI_DEVICE_KUNLUN == 7 && INFINI_DEVICE_HYGON == 8);
static_assert(INFINI_DEVICE_QY == 9 && INFINI_DEVICE_ALI == 10 && INFINI_DEVICE_TYPE_COUNT == 11);

static_assert(INFINI_DTYPE_INVALID == 0 && INFINI_DTYPE_BYTE == 1 && INFINI_DTYPE_BOOL == 2 &&
              INFINI_DTYPE_I8 == 3);
static_assert(INFINI_DTYPE_I16 == 4 && INFINI_DTYPE_I32 == 5 && INFINI_DTYPE_I64 == 6 &&
              INFINI_DTYPE_U8 == 7);
static_assert(INFINI_DTYPE_U16 == 8 && INFINI_DTYPE_U32 == 9 && INFINI_DTYPE_U64 == 10 &&
              INFINI_DTYPE_F8 == 11);
static_assert(INFINI_DTYPE_F16 == 12 && INFINI_DTYPE_F32 == 13 && INFINI_DTYPE_F64 == 14 &&
              INFINI_DTYPE_C16 == 15);
static_assert(INFINI_DTYPE_C32 == 16 && INFINI_DTYPE_C64 == 17 && INFINI_DTYPE_C128 == 18 &&
              INFINI_DTYPE_BF16 == 19);

static_assert(INFINIRT_MEMCPY_H2H == 0 && INFINIRT_MEMCPY_H2D == 1 && INFINIRT_MEMCPY_D2H == 2 &&
              INFINIRT_MEMCPY_D2D == 3);
static_assert(INFINIRT_EVENT_COMPLETE == 0 && INFINIRT_EVENT_NOT_READY == 1);
static_assert(INFINIRT_EVENT_DEFAULT == 0 && INFINIRT_EVENT_DISABLE_TIMING == 1 &&
              INFINIRT_EVENT_BLOCKING_SYNC == 2);
static_assert(INFINIRT_STREAM_CAPTURE_MODE_GLOBAL == 0 &&
              INFINIRT_STREAM_CAPTURE_MODE_THREAD_LOCAL == 1);
static_assert(INFINIRT_STREAM_CAPTURE_MODE_RELAXED == 2);
static_assert(INFINIRT_DEVICE_RESOURCE_FIELD_CAPACITY == 1 &&
              INFINIRT_DEVICE_RESOURCE_FIELD_COMPUTE_UTILIZATION == 2);
static_assert(INFINIRT_DEVICE_RESOURCE_FIELD_MEMORY_BANDWIDTH_UTILIZATION == 4);
static_assert(INFINIRT_DEVICE_RESOURCE_FIELD_KERNEL_TIME_RATIO == 8 &&
              INFINIRT_DEVICE_RESOURCE_FIELD_COMMUNICATION == 16);

using Snapshot = infinirtDeviceResourceSnapshot_t;
static_assert(offsetof(Snapshot, device_type) == 0 && offsetof(Snapshot, device_id) == 4);
static_assert(offsetof(Snapshot, valid_fields) == 8 && offsetof(Snapshot, estimated_fields) == 16);
static_assert(offsetof(Snapshot, free_bytes) == 24 && offsetof(Snapshot, total_bytes) == 32);
static_assert(offsetof(Snapshot, used_bytes) == 40 && offsetof(Snapshot, reserved_bytes) == 48);
static_assert(offsetof(Snapshot, compute_utilization) == 56 &&
              offsetof(Snapshot, memory_bandwidth_utilization) == 60);
static_assert(offsetof(Snapshot, kernel_time_ratio) == 64 &&
              offsetof(Snapshot, communication_time_ratio) == 68);
static_assert(offsetof(Snapshot, communication_bytes) == 72 && sizeof(Snapshot) == 80);
static_assert(offsetof(infiniopGemmOptions_t, size) == 0 &&
              offsetof(infiniopGemmOptions_t, allow_tf32) == 8);
static_assert(offsetof(infiniopGemmScales_t, size) == 0 &&
              offsetof(infiniopGemmScales_t, alpha) == 8 &&
              offsetof(infiniopGemmScales_t, beta) == 16 && sizeof(infiniopGemmScales_t) == 24);
static_assert(INFINIOP_CONVERT_SATURATE == 1 && INFINIOP_CONVERT_X_E5M2 == 2 &&
              INFINIOP_CONVERT_Y_E5M2 == 4);
static_assert(offsetof(infiniopConvertOptions_t, flags) == 8 &&
              offsetof(infiniopConvertOptions_t, scale) == 16 &&
              offsetof(infiniopConvertOptions_t, shift) == 24 &&
              sizeof(infiniopConvertOptions_t) == 32);

static_assert(is<const char*()>(infiniGetLastErrorString) &&
              is<const char*(Status)>(infiniStatusString));
static_assert(is<const char*()>(infiniVersionString));
static_assert(is<Status(int)>(infiniSetNumThreads) && is<Status(int*)>(infiniGetNumThreads));
static_assert(is<Status(const infiniExecutor_t*)>(infiniSetExecutor) &&
              offsetof(infiniExecutor_t, user) == sizeof(size_t) &&
              sizeof(infiniExecutor_t) == 3 * sizeof(void*));

static_assert(INFINI_EXPLAIN_TEXT == 0 && INFINI_EXPLAIN_JSON == 1 &&
              sizeof(infiniExplainFormat_t) == sizeof(int));
static_assert(is<const char*(infiniDtype_t)>(infiniDtypeName) &&
              is<size_t(infiniDtype_t)>(infiniDtypeSize) &&
              is<const char*(Kind)>(infiniDeviceName));
static_assert(is<Status(const char*, infiniDtype_t*)>(infiniDtypeFromName) &&
              is<Status(const char*, Kind*)>(infiniDeviceFromName));
static_assert(is<Status(Handle, void*, const ptrdiff_t*, const void*, const ptrdiff_t*, size_t,
                        const size_t*, infiniDtype_t, void*)>(infiniCopy));
static_assert(is<Status(Handle, void*, const void*, size_t, const size_t*, const size_t*,
                        infiniDtype_t, void*)>(infiniTranspose));
static_assert(is<Status(Handle, void*, const ptrdiff_t*, const void*, const ptrdiff_t*, const void*,
                        const ptrdiff_t*, size_t, size_t, size_t, infiniDtype_t, double, double,
                        void*)>(infiniMatmul));
static_assert(is<Status(const InfiniopDescriptor*, infiniExplainFormat_t, char*, size_t, size_t*)>(
    infiniExplain));

static_assert(is<Status()>(infinirtInit) && is<Status(int*)>(infinirtGetAllDeviceCount));
static_assert(is<Status(Kind, int*)>(infinirtGetDeviceCount) &&
              is<Status(Kind, int)>(infinirtSetDevice));
static_assert(is<Status(Kind*, int*)>(infinirtGetDevice) &&
              is<Status()>(infinirtDeviceSynchronize));
static_assert(is<Status(Kind, int, size_t*, size_t*)>(infinirtGetMemInfo));
static_assert(is<Status(Kind, int, Snapshot*)>(infinirtGetDeviceResourceSnapshot));
static_assert(is<Status(Kind, int, char*, size_t)>(infinirtDescribeDevice));
static_assert(is<Status(void**)>(infinirtStreamCreate) && is<Status(void*)>(infinirtStreamDestroy));
static_assert(is<Status(void*)>(infinirtStreamSynchronize) &&
              is<Status(void*, void*)>(infinirtStreamWaitEvent));
static_assert(is<Status(void**)>(infinirtEventCreate) &&
              is<Status(void**, uint32_t)>(infinirtEventCreateWithFlags));
static_assert(is<Status(void*, void*)>(infinirtEventRecord) &&
              is<Status(void*, infinirtEventStatus_t*)>(infinirtEventQuery));
static_assert(is<Status(void*)>(infinirtEventSynchronize) &&
              is<Status(void*)>(infinirtEventDestroy));
static_assert(is<Status(float*, void*, void*)>(infinirtEventElapsedTime));
static_assert(is<Status(void**, size_t)>(infinirtMalloc) &&
              is<Status(void**, size_t)>(infinirtMallocHost));
static_assert(is<Status(void*)>(infinirtFree) && is<Status(void*)>(infinirtFreeHost));
static_assert(is<Status(void**, size_t, void*)>(infinirtMallocAsync) &&
              is<Status(void*, void*)>(infinirtFreeAsync));
static_assert(is<Status(void*, const void*, size_t, infinirtMemcpyKind_t)>(infinirtMemcpy));
static_assert(
    is<Status(void*, const void*, size_t, infinirtMemcpyKind_t, void*)>(infinirtMemcpyAsync));
static_assert(is<Status(void*, int, size_t)>(infinirtMemset) &&
              is<Status(void*, int, size_t, void*)>(infinirtMemsetAsync));
static_assert(is<Status(void*, infinirtStreamCaptureMode_t)>(infinirtStreamBeginCapture));
static_assert(is<Status(void*, void**)>(infinirtStreamEndCapture) &&
              is<Status(void*)>(infinirtGraphDestroy));
static_assert(is<Status(void**, void*, void**, char*, size_t)>(infinirtGraphInstantiate));
static_assert(is<Status(void*)>(infinirtGraphExecDestroy));
static_assert(is<Status(void*, void*)>(infinirtGraphLaunch) &&
              is<Status(void*, void*)>(infinirtGraphLuanch));

static_assert(is<Status(Handle*)>(infiniopCreateHandle) &&
              is<Status(Handle*, Kind, int)>(infiniopCreateHandle));
static_assert(is<Status(Handle*, Kind, int)>(infiniopCreateHandleForDevice) &&
              is<Status(Handle)>(infiniopDestroyHandle));
static_assert(is<Status(Layout*, size_t, const size_t*, const ptrdiff_t*, infiniDtype_t)>(
    infiniopCreateTensorDescriptor));
static_assert(is<Status(Layout*, Kind, int, infiniDtype_t, size_t, const size_t*,
                        const ptrdiff_t*)>(infiniopCreateTensorDescriptor));
static_assert(is<Status(Layout)>(infiniopDestroyTensorDescriptor));
static_assert(is<Status(Layout, size_t*)>(infiniopGetTensorDescriptorRank) &&
              is<Status(Layout, infiniDtype_t*)>(infiniopGetTensorDescriptorDtype));
static_assert(is<Status(Layout, size_t*, size_t)>(infiniopGetTensorDescriptorShape) &&
              is<Status(Layout, ptrdiff_t*, size_t)>(infiniopGetTensorDescriptorStrides));
static_assert(is<Status(const InfiniopDescriptor*, Kind*)>(infiniopGetDescriptorDeviceType));
static_assert(is<Status(const InfiniopDescriptor*, int*)>(infiniopGetDescriptorDeviceId));
static_assert(is<Status(Handle, Operator*, Layout, Layout)>(infiniopCreateRearrangeDescriptor));
static_assert(is<Status(Handle, Operator*, Layout, Layout, const char*, const infiniopAxisSize_t*,
                        size_t)>(infiniopCreateRearrangeFromPatternDescriptor));
static_assert(sizeof(infiniopAxisSize_t) == 16 && offsetof(infiniopAxisSize_t, size) == 8);
static_assert(is<Status(Operator, void*, const void*, void*)>(infiniopRearrange));
static_assert(is<Status(Operator)>(infiniopDestroyRearrangeDescriptor));
static_assert(is<Status(Handle, Operator*, size_t, const Layout*, const Layout*)>(
    infiniopCreateRearrangeBatchDescriptor));
static_assert(
    is<Status(Operator, size_t, void* const*, const void* const*, void*)>(infiniopRearrangeBatch));
static_assert(is<Status(Operator)>(infiniopDestroyRearrangeBatchDescriptor));
static_assert(is<Status(Handle, Operator*, Layout, Layout, infinirtMemcpyKind_t)>(
    infiniopCreateRearrangeBetweenDescriptor));
static_assert(is<Status(Operator, void*, const void*, void*)>(infiniopRearrangeBetween));
static_assert(is<Status(Operator)>(infiniopDestroyRearrangeBetweenDescriptor));
static_assert(is<Status(Handle, Operator*, Layout, Layout, const infiniopRearrangePagedOptions_t*)>(
    infiniopCreateRearrangePagedDescriptor));
static_assert(sizeof(infiniopPagedSide_t) == 40 && offsetof(infiniopPagedSide_t, pieces) == 16);
static_assert(sizeof(infiniopRearrangePagedOptions_t) == 104 &&
              offsetof(infiniopRearrangePagedOptions_t, layers) == 16 &&
              offsetof(infiniopRearrangePagedOptions_t, src) == 64);
static_assert(is<Status(Operator, size_t, void* const*, const void*, const void* const*,
                        const void*, void*)>(infiniopRearrangePaged));
static_assert(is<Status(Operator, void*)>(infiniopRearrangePagedStatus));
static_assert(is<Status(Operator)>(infiniopDestroyRearrangePagedDescriptor));
static_assert(sizeof(infiniopOperatorOptions_t) == 16 &&
              offsetof(infiniopOperatorOptions_t, algo) == 12);
static_assert(sizeof(infiniopSampleOptions_t) == 16 &&
              offsetof(infiniopSampleOptions_t, temperature) == 12);
static_assert(is<const char*(size_t)>(infiniopOperatorName));
static_assert(is<const char*(const char*)>(infiniopOperatorAbout));
static_assert(is<size_t(const char*)>(infiniopOperatorOperands));
static_assert(is<Status(Handle, Operator*, const char*, const Layout*, size_t,
                        const infiniopOperatorOptions_t*)>(infiniopCreateOperatorDescriptor));
static_assert(is<Status(Operator, size_t*)>(infiniopGetOperatorWorkspaceSize));
static_assert(is<Status(Operator, void*, size_t, void* const*, size_t,
                        const infiniopSampleOptions_t*, void*)>(infiniopRunOperator));
static_assert(is<Status(Operator)>(infiniopDestroyOperatorDescriptor));
static_assert(
    is<Status(Handle, Operator*, Layout, Layout, Layout, float)>(infiniopCreateRMSNormDescriptor));
static_assert(
    is<Status(Operator, void*, size_t, void*, const void*, const void*, void*)>(infiniopRMSNorm));
static_assert(is<Status(Handle, Operator*, Layout, Layout, Layout, Layout, Layout,
                        infiniopRoPEAlgo_t)>(infiniopCreateRoPEDescriptor));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, float, float, int, float,
                        void*)>(infiniopRandomSample));
static_assert(
    is<Status(Operator, void*, size_t, void*, const void*, const void*, void*)>(infiniopSwiGLU));
static_assert(
    is<Status(Operator, void*, size_t, void*, const void*, void*)>(infiniopCausalSoftmax));
static_assert(
    is<Status(Operator, void*, size_t, void*, const void*, const void*, void*)>(infiniopAdd));
static_assert(is<Status(Handle, Operator*, Layout, Layout, Layout)>(infiniopCreateGemmDescriptor));
static_assert(is<Status(Handle, Operator*, Layout, Layout, Layout, const infiniopGemmOptions_t*)>(
    infiniopCreateGemmDescriptorWithOptions));
static_assert(is<Status(Operator, size_t*)>(infiniopGetGemmWorkspaceSize) &&
              is<Status(Operator)>(infiniopDestroyGemmDescriptor));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, const void*, float, float,
                        void*)>(infiniopGemm));
static_assert(is<Status(Operator, void*, size_t, void*, const void*, const void*,
                        const infiniopGemmScales_t*, void*)>(infiniopGemmWithScales));

// Clients in C read the first two words of handles and operator descriptors.
TEST(Abi, HandlesAndDescriptorsBeginWithTheirDevice) {
  struct Head {
    Kind device;
    int device_id;
  };
  Handle handle = nullptr;
  ASSERT_EQ(infiniopCreateHandle(&handle, INFINI_DEVICE_CPU, 0), INFINI_STATUS_SUCCESS);
  Layout layout = nullptr;
  const size_t shape[] = {2, 3};
  ASSERT_EQ(infiniopCreateTensorDescriptor(&layout, 2, shape, nullptr, INFINI_DTYPE_F32),
            INFINI_STATUS_SUCCESS);
  Operator rearrange = nullptr;
  ASSERT_EQ(infiniopCreateRearrangeDescriptor(handle, &rearrange, layout, layout),
            INFINI_STATUS_SUCCESS);
  for (const void* object :
       {static_cast<const void*>(handle), static_cast<const void*>(rearrange)}) {
    const auto* head = static_cast<const Head*>(object);
    EXPECT_EQ(head->device, INFINI_DEVICE_CPU);
    EXPECT_EQ(head->device_id, 0);
  }
  EXPECT_EQ(infiniopDestroyRearrangeDescriptor(rearrange), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyTensorDescriptor(layout), INFINI_STATUS_SUCCESS);
  EXPECT_EQ(infiniopDestroyHandle(handle), INFINI_STATUS_SUCCESS);
}

TEST(Abi, HeadersAndLibraryAreOfOneVersion) {
  EXPECT_EQ(std::to_string(INFINI_VERSION_MAJOR) + "." + std::to_string(INFINI_VERSION_MINOR) +
                "." + std::to_string(INFINI_VERSION_PATCH),
            infiniVersionString());
}

}  // namespace
