// The tables: handles, tensor descriptors, rearrange, gemm, and the runtime.
#include "tests/capi/capi_handle_tables.h"

namespace infini::test {

Tables::Tables() {
  add_operators();
  add_pages();
  add_between();
  add_one_call();
  add_runtime();
  add_graphs();
  add_elementwise();
  add_row_operators();
  add_operators_by_name();
  add_collectives();
  add_reshardings();
  add_products();
}

void Tables::destroy() {
  for (auto& end : ends_) EXPECT_OK(end());
  live.destroy();
}

void Tables::add_operators() {
  const auto handle = [](void* p) { return static_cast<infiniopHandle_t>(p); };
  const auto tensor = [](void* p) { return static_cast<infiniopTensorDescriptor_t>(p); };
  const auto op = [](void* p) { return static_cast<InfiniopDescriptor*>(p); };
  const infiniopHandle_t h = live.handle();
  const infiniopTensorDescriptor_t t = live.tensor();
  const auto made = reinterpret_cast<InfiniopDescriptor**>(&out);
  const std::set<Kind> any_operator = {a_rearrange, a_batch, a_paged, a_between, a_gemm};
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

  const auto by_pattern = [=](infiniopHandle_t h, infiniopTensorDescriptor_t dst,
                              infiniopTensorDescriptor_t src) {
    return infiniopCreateRearrangeFromPatternDescriptor(h, made, dst, src, "... -> ...", nullptr,
                                                        0);
  };
  const char* const pattern_name = "infiniopCreateRearrangeFromPatternDescriptor";
  add(pattern_name, {a_handle}, null, [=](void* p) { return by_pattern(handle(p), t, t); });
  add(pattern_name, {a_tensor}, null, [=](void* p) { return by_pattern(h, tensor(p), t); });
  add(pattern_name, {a_tensor}, null, [=](void* p) { return by_pattern(h, t, tensor(p)); });
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
  const auto run_scaled = [=, this](void* p, void* stream) {
    const infiniopGemmScales_t scales = {sizeof scales, 1, 0};
    return infiniopGemmWithScales(op(p), nullptr, 0, z, x, y, &scales, stream);
  };
  add("infiniopGemmWithScales", {a_gemm}, null, [=](void* p) { return run_scaled(p, nullptr); });
  add("infiniopGemmWithScales", {a_stream}, ok,
      [=, this](void* p) { return run_scaled(live.of[a_gemm], p); });
  add("infiniopDestroyGemmDescriptor", {a_gemm}, ok,
      [=](void* p) { return infiniopDestroyGemmDescriptor(op(p)); });
}

void Tables::add_pages() {
  const auto create = [this](void* handle, void* dst, void* src) {
    return infiniopCreateRearrangePagedDescriptor(
        static_cast<infiniopHandle_t>(handle), reinterpret_cast<InfiniopDescriptor**>(&out),
        static_cast<infiniopTensorDescriptor_t>(dst), static_cast<infiniopTensorDescriptor_t>(src),
        nullptr);
  };
  const auto run = [this](void* p, void* stream) {
    void* to[] = {y};
    const void* from[] = {x};
    return infiniopRearrangePaged(static_cast<InfiniopDescriptor*>(p), 1, to, nullptr, from,
                                  nullptr, stream);
  };
  const auto status = [](void* p, void* stream) {
    return infiniopRearrangePagedStatus(static_cast<InfiniopDescriptor*>(p), stream);
  };
  const auto name = "infiniopCreateRearrangePagedDescriptor";
  add(name, {a_handle}, null,
      [=, this](void* p) { return create(p, live.of[a_tensor], live.of[a_tensor]); });
  add(name, {a_tensor}, null,
      [=, this](void* p) { return create(live.of[a_handle], p, live.of[a_tensor]); });
  add(name, {a_tensor}, null,
      [=, this](void* p) { return create(live.of[a_handle], live.of[a_tensor], p); });
  add("infiniopRearrangePaged", {a_paged}, null, [=](void* p) { return run(p, nullptr); });
  add("infiniopRearrangePaged", {a_stream}, ok,
      [=, this](void* p) { return run(live.of[a_paged], p); });
  add("infiniopRearrangePagedStatus", {a_paged}, null, [=](void* p) { return status(p, nullptr); });
  add("infiniopRearrangePagedStatus", {a_stream}, ok,
      [=, this](void* p) { return status(live.of[a_paged], p); });
  add("infiniopDestroyRearrangePagedDescriptor", {a_paged}, ok, [](void* p) {
    return infiniopDestroyRearrangePagedDescriptor(static_cast<InfiniopDescriptor*>(p));
  });
}

void Tables::add_between() {
  const auto create = [this](void* handle, void* dst, void* src) {
    return infiniopCreateRearrangeBetweenDescriptor(
        static_cast<infiniopHandle_t>(handle), reinterpret_cast<InfiniopDescriptor**>(&out),
        static_cast<infiniopTensorDescriptor_t>(dst), static_cast<infiniopTensorDescriptor_t>(src),
        INFINIRT_MEMCPY_D2H);
  };
  const auto run = [this](void* p, void* stream) {
    return infiniopRearrangeBetween(static_cast<InfiniopDescriptor*>(p), y, x, stream);
  };
  const auto name = "infiniopCreateRearrangeBetweenDescriptor";
  add(name, {a_handle}, null,
      [=, this](void* p) { return create(p, live.of[a_tensor], live.of[a_tensor]); });
  add(name, {a_tensor}, null,
      [=, this](void* p) { return create(live.of[a_handle], p, live.of[a_tensor]); });
  add(name, {a_tensor}, null,
      [=, this](void* p) { return create(live.of[a_handle], live.of[a_tensor], p); });
  add("infiniopRearrangeBetween", {a_between}, null, [=](void* p) { return run(p, nullptr); });
  add("infiniopRearrangeBetween", {a_stream}, ok,
      [=, this](void* p) { return run(live.of[a_between], p); });
  add("infiniopDestroyRearrangeBetweenDescriptor", {a_between}, ok, [](void* p) {
    return infiniopDestroyRearrangeBetweenDescriptor(static_cast<InfiniopDescriptor*>(p));
  });
}

void Tables::add_one_call() {
  static constexpr size_t shape[] = {2, 2};
  const auto copy = [this](void* handle, void* stream) {
    return infiniCopy(static_cast<infiniopHandle_t>(handle), y, nullptr, x, nullptr, 2, shape,
                      INFINI_DTYPE_F32, stream);
  };
  const auto transpose = [this](void* handle, void* stream) {
    return infiniTranspose(static_cast<infiniopHandle_t>(handle), y, x, 2, shape, nullptr,
                           INFINI_DTYPE_F32, stream);
  };
  const auto matmul = [this](void* handle, void* stream) {
    return infiniMatmul(static_cast<infiniopHandle_t>(handle), z, nullptr, x, nullptr, y, nullptr,
                        2, 2, 2, INFINI_DTYPE_F32, 1, 0, stream);
  };
  add("infiniCopy", {a_handle}, ok, [=](void* p) { return copy(p, nullptr); });
  add("infiniCopy", {a_stream}, ok, [=](void* p) { return copy(nullptr, p); });
  add("infiniTranspose", {a_handle}, ok, [=](void* p) { return transpose(p, nullptr); });
  add("infiniTranspose", {a_stream}, ok, [=](void* p) { return transpose(nullptr, p); });
  add("infiniMatmul", {a_handle}, ok, [=](void* p) { return matmul(p, nullptr); });
  add("infiniMatmul", {a_stream}, ok, [=](void* p) { return matmul(nullptr, p); });
  add("infiniExplain", {a_rearrange, a_batch, a_paged, a_between, a_gemm}, null, [=](void* p) {
    return infiniExplain(static_cast<InfiniopDescriptor*>(p), INFINI_EXPLAIN_TEXT, nullptr, 0,
                         nullptr);
  });
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

}  // namespace infini::test
